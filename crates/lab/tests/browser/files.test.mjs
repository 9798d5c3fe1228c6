// Runs from elsewhere: a folder that the command line wrote, and a page that carries one.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { finish, folder, induct, lab, natively, open, sameBytes, written } from "./lab.mjs";

after(finish);

before(() => natively("--level", "portable", "train", "main", "--set", "train.steps=200", "--out", "native"));

/** The folder of the native run under another name, with a change. */
function copied(name, change) {
  cpSync(join(folder, "native"), join(folder, name), { recursive: true });
  change(join(folder, name));
  return join(folder, name);
}

/** Requires that the native run is on the page, whole. */
async function isThere(tab) {
  await tab.says("#status", /native: 200 steps, trained elsewhere/);
  await tab.says("#story", /unigram/);
  await tab.until("the curves are drawn", () => tab.page.locator("#curves svg").count(), (count) => count === 1);
  await tab.page.locator("#inside").scrollIntoViewIfNeeded();
  await tab.changes("the answers", () => tab.answers(), "");
  await tab.scrub(4);
  await tab.until("the step is shown", () => tab.step(), (step) => step === 80);
  sameBytes((await tab.download("[data-take=metrics]")).bytes, written("native", "metrics.csv"), "metrics.csv");
  const { name, bytes } = await tab.download("[data-take=snapshot]");
  sameBytes(bytes, written("native", "snapshots", name), name);
}

test("the folder of a native run opens, and can be trained on from", async () => {
  const tab = await open();
  await tab.page.setInputFiles("#open-folder", join(folder, "native"));
  await isThere(tab);
  await tab.page.fill("#new-rate", "0.01");
  await tab.page.click("#change-rate");
  await tab.branchEnded(80, 200);
  await tab.close();
});

test("a folder opens beside a run of the page", async () => {
  const tab = await open();
  await tab.trainFor(100);
  await tab.page.click("#runs li button[aria-pressed]");
  await tab.page.setInputFiles("#open-folder", join(folder, "native"));
  await tab.says("#status", /native: 200 steps/);
  assert.equal(await tab.page.locator("#runs li").count(), 2);
  await tab.close();
});

test("HTML in a folder's name stays text", async () => {
  const tab = await open();
  await tab.page.setInputFiles("#open-folder", copied("<b id=injected>", () => {}));
  await tab.says("#status", /^<b id=injected>: 200 steps/);
  await tab.says("#runs", /<b id=injected>/);
  assert.equal(await tab.page.locator("#injected").count(), 0);
  await tab.close();
});

test("a damaged folder is refused by the name of the file, and nothing else changes", async () => {
  const tab = await open();
  await tab.trainFor(60);
  const status = await tab.text("#status");
  for (const [name, file, change] of [
    ["torn", /step-000040\.safetensors/, (path) => writeFileSync(join(path, "snapshots", "step-000040.safetensors"), "torn")],
    ["mixed-up", /metrics\.csv/, (path) => writeFileSync(join(path, "metrics.csv"), "step,loss\n0,what\n")],
    ["no-recipe", /recipe\.toml/, (path) => rmSync(join(path, "recipe.toml"))],
    ["other-recipe", /recipe\.toml/, (path) => writeFileSync(join(path, "recipe.toml"), "= <b id=injected>")],
  ]) {
    await tab.page.setInputFiles("#open-folder", copied(name, change));
    await tab.says("#notice", new RegExp(`^${name} cannot be opened`));
    assert.match(await tab.text("#notice"), file);
    assert.equal(await tab.text("#status"), status);
    assert.equal(await tab.page.locator("#runs li").count(), 1);
    assert.equal(await tab.page.locator("#injected").count(), 0);
  }
  await tab.close();
});

test("a folder that is no run is refused", async () => {
  const tab = await open();
  await tab.page.setInputFiles("#open-folder", copied("nothing", (path) => {
    rmSync(path, { recursive: true });
    cpSync(import.meta.dirname, path, { recursive: true, filter: (file) => !file.includes("node_modules") });
  }));
  await tab.says("#notice", /^nothing cannot be opened/);
  await tab.close();
});

const canCarry = spawnSync(induct, ["lab", "--help"]).status === 0;
test("a page carries a run", { skip: !canCarry && "this induct has no command lab" }, async () => {
  natively("lab", "native", "--page", lab, "--out", "with.html");
  const tab = await open({ file: join(folder, "with.html"), hash: "" });
  await isThere(tab);
  await tab.close();
});
