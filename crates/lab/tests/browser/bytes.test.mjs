// What the page computes is what the command line computes, to the byte.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { commanded, finish, folder, natively, open, sameBytes, written } from "./lab.mjs";

after(finish);

const STEPS = 400;

describe("a run of 400 steps, beside the same run natively", () => {
  let tab;
  before(async () => {
    natively("--level", "portable", "train", "main", "--set", `train.steps=${STEPS}`, "--out", "short");
    tab = await open();
    await tab.trainFor(STEPS);
  });
  after(() => tab.close());

  for (const file of ["metrics", "recipe"]) {
    test(`has the same ${file}`, async () => {
      const { name, bytes } = await tab.download(`[data-take=${file}]`);
      sameBytes(bytes, written("short", name), name);
    });
  }

  test("has the same weights, at the end and on the way", async () => {
    for (const [number, step] of [[STEPS / 20, "000400"], [3, "000060"]]) {
      await tab.scrub(number);
      await tab.until("the step is shown", () => tab.step(), (at) => at === Number(step));
      const { name, bytes } = await tab.download("[data-take=snapshot]");
      assert.equal(name, `step-${step}.safetensors`);
      sameBytes(bytes, written("short", "snapshots", name), name);
    }
  });

  test("has the same curves as a file", async () => {
    natively("plot", "short", "--out", "curves.svg");
    const { name, bytes } = await tab.download("#curves .files button:has-text('SVG')");
    assert.equal(name, "curves.svg");
    sameBytes(bytes, written("curves.svg"), name);
  });

  test("can be taken away whole, and the command line reads it", async () => {
    const { name, bytes } = await tab.download("[data-take=run]");
    assert.equal(name, "main.tar");
    mkdirSync(join(folder, "taken"));
    writeFileSync(join(folder, "taken", name), bytes);
    execFileSync("tar", ["-xf", name], { cwd: join(folder, "taken") });
    assert.match(natively("show", "taken/main"), /unigram/);
    natively("plot", "taken/main", "--out", "taken.svg");
    sameBytes(written("taken.svg"), written("curves.svg"), "the plot of what was taken");
    sameBytes(written("taken", "main", "metrics.csv"), written("short", "metrics.csv"), "metrics.csv");
  });

  test("is repeated by the command line that the page shows", async () => {
    commanded(await tab.text("#command"), "repeated");
    sameBytes(written("repeated", "metrics.csv"), written("short", "metrics.csv"), "metrics.csv");
  });
});

describe("what is changed in the middle of a run is in its recipe", () => {
  let tab;
  before(async () => (tab = await open()));
  after(() => tab.close());

  /** Trains the command line of the page natively, and compares what was recorded. */
  async function sameNatively(out) {
    const recipe = await tab.download("[data-take=recipe]");
    // The command names the recipe's file where it is no preset with overrides.
    writeFileSync(join(folder, "recipe.toml"), recipe.bytes);
    const metrics = await tab.download("[data-take=metrics]");
    commanded(await tab.text("#command"), out);
    sameBytes(metrics.bytes, written(out, "metrics.csv"), `metrics.csv of ${out}`);
    return recipe.bytes.toString();
  }

  test("another learning rate after a pause", async () => {
    await tab.setAndSee("train.steps", 1000, /train\.steps=1000/);
    await tab.page.click("#train");
    await tab.says("#story", /unigram/);
    await tab.page.click("#pause");
    await tab.says("#status", /^Paused at step/);
    await tab.page.fill("#new-rate", "0.001");
    await tab.page.click("#change-rate");
    await tab.ended(1000);
    assert.match(await sameNatively("rate"), /kind = "rate"/);
  });

  test("a second pause and change go on from the first", async () => {
    await tab.scrub(5);
    await tab.page.fill("#new-rate", "0.01");
    await tab.page.click("#change-rate");
    await tab.says("#status", /^Step /);
    await tab.page.click("#pause");
    await tab.says("#status", /^Paused at step/);
    await tab.page.fill("#new-rate", "0.02");
    await tab.page.click("#change-rate");
    await tab.ended(1000);
    await sameNatively("rates");
  });

  test("a head silenced from a step that was scrubbed to", async () => {
    await tab.trainFor(300);
    await tab.scrub(7);
    await tab.until("the step is shown", () => tab.step(), (step) => step === 140);
    await tab.page.click('[data-entry="kind=\\"ablate\\", at=\\"layers.0.heads.0\\""]');
    await tab.says("#effect", /→/);
    await tab.page.click("#train-with");
    await tab.branchEnded(140, 300);
    assert.match(await sameNatively("silenced"), /from = 140/);
  });

  test("another prior from a step on", async () => {
    await tab.scrub(9);
    await tab.until("the step is shown", () => tab.step(), (step) => step === 180);
    await tab.page.selectOption("#new-prior", { label: "doubly stochastic" });
    await tab.page.click("#change-prior");
    await tab.branchEnded(180, 300);
    assert.match(await sameNatively("prior"), /curriculum/);
  });
});
