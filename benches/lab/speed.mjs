// How fast the main preset trains: natively, at the portable level, in Node and in a Chromium tab, and beside them
// TensorFlow.js in Node, in turns.
//
//     npm ci && node speed.mjs INDUCT ENGINE.wasm LAB.html [ROUNDS]
//
// Prints a table in Markdown: steps per second, median over rounds. Induct's are of a whole run of 4,000 steps with its 201
// records, TensorFlow.js's of steps alone. Before that, it checks that TensorFlow.js computes Induct's loss.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { firstLoss, stepTimes } from "./tfjs_peer.mjs";

const [induct, enginePath, labPath, rounds = "5"] = process.argv.slice(2);
if (!labPath) {
  console.error("speed.mjs: give INDUCT ENGINE.wasm LAB.html [ROUNDS]");
  process.exit(2);
}
const STEPS = 4000;

/** Seconds of a native run. */
function native(...options) {
  const folder = mkdtempSync(join(tmpdir(), "induct-speed-"));
  const out = join(folder, "run");
  execFileSync(induct, [...options, "train", "main", "--threads", "1", "--out", out], { stdio: "ignore" });
  const { seconds } = JSON.parse(readFileSync(join(out, "summary.json"), "utf8"));
  rmSync(folder, { recursive: true });
  return seconds;
}

/** Induct's initial weights, its first batch, and its loss on it. */
function beginning() {
  const folder = mkdtempSync(join(tmpdir(), "induct-speed-"));
  const out = join(folder, "run");
  execFileSync(induct, ["train", "main", "--set", "train.steps=1", "--set", "record.every=1", "--out", out], { stdio: "ignore" });
  const file = readFileSync(join(out, "snapshots/step-000000.safetensors"));
  const header = Number(file.readBigUInt64LE(0));
  const { __metadata__, ...tensors } = JSON.parse(file.subarray(8, 8 + header).toString());
  const values = ([from, to]) => new Float32Array(file.buffer.slice(file.byteOffset + 8 + header + from, file.byteOffset + 8 + header + to));
  const weights = Object.entries(tensors).map(([name, { shape, data_offsets }]) => ({ name, shape, values: values(data_offsets) }));
  const [columns, , row] = readFileSync(join(out, "metrics.csv"), "utf8").split("\n").map((line) => line.split(","));
  rmSync(folder, { recursive: true });
  const { tokens } = JSON.parse(execFileSync(induct, ["sample", "main", "--step", "0", "--json"]).toString());
  return { weights, tokens, loss: Number(row[columns.indexOf("train_loss")]) };
}

const { weights, tokens, loss } = beginning();
const theirs = firstLoss(weights, tokens);
if (!(Math.abs(theirs - loss) < 1e-5)) {
  console.error(`speed.mjs: TensorFlow.js computes another loss: ${theirs}, Induct ${loss}`);
  process.exit(1);
}

const module = new WebAssembly.Module(readFileSync(enginePath));
/** Seconds of a run of the engine in Node. */
function node() {
  const engine = new WebAssembly.Instance(module).exports;
  engine.start();
  const ask = (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const at = engine.room(bytes.length);
    new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
    engine.answer();
    return JSON.parse(new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.text(), engine.text_len()))).answer;
  };
  const { toml } = ask({ do: "recipe", source: { base: "main" } });
  const started = performance.now();
  ask({ do: "begin", recipe: toml });
  while (!ask({ do: "advance", steps: 40 }).ended);
  return (performance.now() - started) / 1000;
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
/** Seconds of a run in a tab, and from the click to the bigram phase, while the page draws all of it. */
async function tab() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${pathToFileURL(resolve(labPath))}#preset=main`);
  await page.waitForSelector("body[data-ready]");
  const started = performance.now();
  await page.click("#train");
  await page.waitForFunction(() => document.getElementById("story").textContent.includes("bigram"), null, { timeout: 120_000 });
  const transition = (performance.now() - started) / 1000;
  await page.waitForFunction(() => /steps in/.test(document.getElementById("status").textContent), null, { timeout: 120_000 });
  const seconds = Number((await page.textContent("#status")).match(/steps in ([\d.]+) s/)[1]);
  await page.close();
  return { seconds, transition };
}

const median = (values) => values.slice().sort((a, b) => a - b)[values.length >> 1];
const times = { native: [], portable: [], node: [], tab: [], transition: [], tfjs: [] };
for (let round = 0; round < Number(rounds); round++) {
  times.native.push(native());
  times.portable.push(native("--level", "portable"));
  times.node.push(node());
  const { seconds, transition } = await tab();
  times.tab.push(seconds);
  times.transition.push(transition);
  times.tfjs.push((STEPS * median(stepTimes(weights, 10))) / 1000);
}
await browser.close();

const row = (name, values) => {
  const rate = (seconds) => Number((STEPS / seconds).toPrecision(3)).toLocaleString("en");
  const spread = `${rate(Math.max(...values))}–${rate(Math.min(...values))}`;
  return `| ${name} | ${rate(median(values))} | ${spread} | ${(median(values) / median(times.native)).toFixed(2)} |`;
};
console.log(`${cpus()[0].model}, ${rounds} rounds, one thread each\n`);
console.log("| where | steps per second | range | time, native = 1 |\n|---|---:|---:|---:|");
console.log(row("native, best instructions", times.native));
console.log(row("native, portable level", times.portable));
console.log(row(`Node ${process.version}`, times.node));
console.log(row(`Chromium ${browser.version()}, the page drawing`, times.tab));
console.log(row(`TensorFlow.js 4.22, WebAssembly, Node ${process.version}`, times.tfjs));
console.log(`\nFrom the click to the bigram phase: ${median(times.transition).toFixed(1)} s (${Math.min(...times.transition).toFixed(1)}–${Math.max(...times.transition).toFixed(1)}).`);
