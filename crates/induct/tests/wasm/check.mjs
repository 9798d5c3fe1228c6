// Checks that the library gives the same bits as WebAssembly as it does natively at the portable level, and
// tells how large the module is and how long a step takes.
//
//     node check.mjs MODULE.wasm GOLDEN.txt

import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { gzipSync } from "node:zlib";

const [modulePath, goldenPath] = process.argv.slice(2);
const bytes = readFileSync(modulePath);
const module = new WebAssembly.Module(bytes);

// What a module imports is all that it can reach: no clock, file, environment or entropy.
const imports = WebAssembly.Module.imports(module).map(({ module, name }) => `${module}.${name}`);
if (imports.length > 0) fail(`the module needs ${imports.join(", ")} from outside`);

const engine = new WebAssembly.Instance(module).exports;

function text() {
  const view = new Uint8Array(engine.memory.buffer, engine.text(), engine.text_len());
  return new TextDecoder().decode(view);
}

function fail(message) {
  console.error(`check.mjs: ${message}`);
  process.exit(1);
}

/** Calls a function of the module; a panic ends the check with its message. */
function call(name, ...values) {
  try {
    return engine[name](...values);
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    fail(`${name}(${values.join(", ")}): ${error.message}: ${text()}`);
  }
}

call("start");
call("head");
let found = text();
for (let setting = 0; setting < call("settings"); setting++) {
  call("run", setting);
  found += text();
}
const [lines, golden] = [found, readFileSync(goldenPath, "utf8")].map((all) => all.trimEnd().split("\n"));
for (let line = 0; line < Math.max(lines.length, golden.length); line++) {
  if (lines[line] !== golden[line]) {
    fail(`results differ from ${goldenPath}:${line + 1}: ${lines[line]}, natively ${golden[line]}`);
  }
}
console.log(`${lines.length - 1} hashes of weights and records are those of native runs (${lines[0]})`);

// Stretches of steps: the median is little disturbed by whatever else the machine does.
const [stretches, steps] = [21, 25];
call("advance", 2 * steps);
const times = Array.from({ length: stretches }, () => {
  const before = performance.now();
  call("advance", steps);
  return (performance.now() - before) / steps;
});
times.sort((a, b) => a - b);
const [median, best] = [times[stretches >> 1], times[0]].map((ms) => ms.toFixed(3));
console.log(`main: ${median} ms per step (best ${best}) on one thread of Node ${process.version}`);

const kib = (size) => `${(size / 1024).toFixed(0)} KiB`;
console.log(`module: ${kib(bytes.length)}, ${kib(gzipSync(bytes, { level: 9 }).length)} with gzip -9`);
