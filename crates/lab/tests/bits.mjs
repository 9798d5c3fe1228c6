// Checks that the page's engine gives the same bits as the library does natively at the portable level: short runs of
// every setting, as crates/induct/tests/numerics.rs trains them.
//
//     node bits.mjs ENGINE.wasm GOLDEN.txt

import { readFileSync } from "node:fs";

const [enginePath, goldenPath] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(enginePath));

// What a module imports is all that it can reach: no clock, file, environment or entropy.
const imports = WebAssembly.Module.imports(module).map(({ module, name }) => `${module}.${name}`);
if (imports.length > 0) fail(`the module needs ${imports.join(", ")} from outside`);

const engine = new WebAssembly.Instance(module).exports;
engine.start();

const text = (pointer, length) => new TextDecoder().decode(new Uint8Array(engine.memory.buffer, pointer, length));

function fail(message) {
  console.error(`bits.mjs: ${message}`);
  process.exit(1);
}

/** Asks the engine: its answer, and the bytes attached to it. */
function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const at = engine.room(bytes.length);
  new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
  try {
    engine.answer();
  } catch (error) {
    fail(`${JSON.stringify(request)}: ${error.message}: ${text(engine.last_words(), engine.last_words_len())}`);
  }
  const { answer, problem } = JSON.parse(text(engine.text(), engine.text_len()));
  if (problem) fail(`${JSON.stringify(request)}: ${problem.sentence}`);
  const attached = Array.from({ length: engine.attachments() }, (_, index) =>
    new Uint8Array(engine.memory.buffer.slice(engine.attached(index), engine.attached(index) + engine.attached_len(index))));
  return { answer, attached };
}

/** Records and last weights of a short run. */
function shortRun(setting, steps) {
  const sets = [
    `train.steps=${steps}`,
    `record.every=${Math.max(Math.floor(steps / 2), 1)}`,
    "record.snapshots=1",
    "record.test_sequences=136",
  ];
  const { answer: recipe } = ask({ do: "recipe", source: { base: setting, sets } });
  ask({ do: "begin", recipe: recipe.toml });
  const records = [];
  let weights;
  for (let ended = false; !ended; ) {
    const { answer, attached } = ask({ do: "advance", steps });
    records.push(attached[0]);
    weights = attached.length > 1 ? attached.at(-1) : weights;
    ended = answer.ended != null;
  }
  return { records: Buffer.concat(records), weights };
}

/** FNV-1a, 64 bits. */
function hash(bytes) {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

const [head, ...lines] = readFileSync(goldenPath, "utf8").trimEnd().split("\n");
const { answer: catalogue } = ask({ do: "catalogue" });
if (head !== `numerics ${catalogue.numerics} portable`) fail(`${goldenPath} is of other numerics: ${head}`);
for (const line of lines) {
  const [setting, steps] = line.split(" ");
  const { records, weights } = shortRun(setting, Number(steps));
  const found = `${setting} ${steps} ${hash(records)} ${hash(weights)}`;
  if (found !== line) fail(`results differ: ${found}, natively ${line}`);
}
console.log(`${lines.length} settings give the bits of native runs (${head})`);
