// A click on Train: phases form before one's eyes, seeds are drawn together, runs over each other.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { finish, natively, open, sameBytes, written } from "./lab.mjs";

after(finish);

describe("the main preset, by one click", () => {
  let tab;
  before(async () => (tab = await open()));
  after(() => tab.close());

  test("forms an induction head in front of the user", async (t) => {
    const clicked = Date.now();
    await tab.page.click("#train");
    await tab.says("#story", /bigram ?from step/);
    t.diagnostic(`from the click to the bigram phase: ${((Date.now() - clicked) / 1000).toFixed(1)} s`);
    await tab.ended(4000);
    t.diagnostic(await tab.text("#status"));
    // As README.md says of the same run natively.
    assert.match(await tab.text("#story"), /^uniform ?from step 0 → unigram ?from step 80 → bigram ?from step 1,420$/);
  });

  test("shades its phases and marks the transition", async () => {
    const drawn = await tab.page.locator("#curves svg").evaluate((svg) => ({
      shades: [...svg.querySelectorAll("rect[fill-opacity]")].map((shade) => shade.getAttribute("class")),
      texts: [...svg.querySelectorAll("text")].map((text) => text.textContent),
    }));
    for (const phase of ["f-grey", "f-amber", "f-blue"]) assert.ok(drawn.shades.includes(phase), `${phase} in ${drawn.shades}`);
    assert.ok(drawn.texts.includes("bigram from step 1420"), `${drawn.texts}`);
  });

  test("is the run that the command line trains, to the byte", async () => {
    natively("--level", "portable", "train", "main", "--out", "whole");
    sameBytes((await tab.download("[data-take=metrics]")).bytes, written("whole", "metrics.csv"), "metrics.csv");
    const { name, bytes } = await tab.download("[data-take=snapshot]");
    assert.equal(name, "step-004000.safetensors");
    sameBytes(bytes, written("whole", "snapshots", name), name);
  });

  test("is kept when it is pinned, and a second run is drawn over it", async () => {
    await tab.page.click("#runs li button[aria-pressed]");
    await tab.setAndSee("seeds.init", 1, /seeds\.init=1/);
    await tab.trainFor(200);
    assert.equal(await tab.page.locator("#runs li").count(), 2);
    const labels = await tab.until("both runs are named in the curves",
      () => tab.page.locator("#curves svg text").allTextContents(), (texts) => texts.includes("main") && texts.some((text) => text.includes("seeds.init=1")));
    assert.ok(!labels.includes("bigram from step 1420"), "a mark of one run would be taken for both");
  });
});

test("three seeds are three thin lines, and all of them finish", async () => {
  const tab = await open();
  await tab.page.locator("#seeds").evaluate((field) => (field.closest("details").open = true));
  await tab.page.fill("#seeds", "3");
  await tab.trainFor(100);
  await tab.says("#status", /3 of 3 seeds are done/);
  await tab.says("#runs", /seed 1 of 3/);
  const lines = () => tab.page.locator("#curves svg").evaluate((svg) => {
    const [width] = [svg.viewBox.baseVal.width / 2];
    const paths = [...svg.querySelectorAll("path[stroke-linejoin]")].filter((path) => path.getBBox().x < width);
    return paths.map((path) => Number(path.getAttribute("stroke-width"))).sort();
  });
  await tab.until("three thin lines and the bold median", lines, (widths) => widths.filter((width) => width < 2).length === 3 && widths.some((width) => width >= 2));
  await tab.close();
});

test("Enter in a field trains what the field says", async () => {
  const tab = await open();
  await tab.set("train.steps", 400);
  await tab.page.locator('[data-key="train.steps"]').fill("60");
  await tab.page.locator('[data-key="train.steps"]').press("Enter");
  await tab.ended(60);
  await tab.close();
});

test("a run can go on from its last step, and is longer then", async () => {
  const tab = await open();
  await tab.trainFor(100);
  await tab.page.click('[data-entry=\'kind="ablate", at="layers.0.heads.0"\']');
  await tab.says("#effect", /512 fresh sequences/);
  await tab.page.click("#train-with");
  await tab.branchEnded(100, 600);
  await tab.says("#shares", /shares its first 80 steps with “main, train.steps=100”/);
  assert.match(await tab.text("#command"), /train\.steps=600/);
  await tab.close();
});

test("another run has a sequence and interventions that fit it", async () => {
  const tab = await open({ hash: "#preset=three-states" });
  await tab.trainFor(40);
  await tab.page.click("#runs button[aria-pressed]");
  await tab.page.selectOption("#preset", "minimal");
  await tab.says("#command", /train minimal/);
  await tab.trainFor(40);
  const look = (name) => tab.page.locator("#runs li button").filter({ hasText: name }).first().click();
  await look("three-states");
  await tab.says("#looked-at", /three-states/);
  await tab.page.click("#another");
  await tab.page.click('[data-entry=\'kind="ablate", at="layers.0.heads.0"\']');
  await tab.says("#under-text", /layer 1 silenced/);
  await look("minimal");
  await tab.says("#looked-at", /minimal/);
  await tab.until("answers, and no problem", () => tab.page.locator("#answers .problem, #maps .says").count(), (count) => count === 0);
  assert.equal(await tab.text("#under-text"), "");
  await tab.close();
});

test("pausing waits, stopping ends, and what was recorded stays", async () => {
  const tab = await open();
  await tab.page.click("#train");
  await tab.says("#story", /unigram/);
  await tab.page.click("#pause");
  await tab.says("#status", /^Paused at step/);
  const paused = await tab.text("#status");
  await tab.page.waitForTimeout(300);
  assert.equal(await tab.text("#status"), paused);
  await tab.page.click("#pause");
  await tab.says("#status", /^Step .* steps per second/);
  await tab.page.click("#stop");
  await tab.says("#status", /^Stopped at step/);
  assert.match(await tab.text("#story"), /unigram/);
  assert.ok(await tab.page.locator("#pause").isHidden());
  await tab.close();
});

test("a figure of the paper is trained by one click", async () => {
  const tab = await open();
  await tab.page.click('[data-preset="three-states"]');
  await tab.says("#status", /^Step [\d,]+ of/);
  assert.match(await tab.text("#command"), /train three-states$/);
  assert.equal(await tab.page.inputValue("#preset"), "three-states");
  await tab.page.click("#stop");
  await tab.close();
});

test("the tour greets on the first visit, and shows everything by itself", async () => {
  const tab = await open({ hash: "" });
  const tour = tab.page.locator("#tour");
  assert.ok(await tour.isVisible());
  await tab.trainFor(200);
  for (const title of ["The plateau", "The drop", "Two layers", "Break it yourself"]) {
    await tab.page.click("#tour-next");
    await tab.says("#tour-title", new RegExp(title));
  }
  await tab.says("#effect", /512 fresh sequences/);
  await tab.page.click("#tour-next");
  assert.ok(await tour.isHidden());
  await tab.page.reload();
  await tab.page.waitForSelector("body[data-ready]");
  assert.ok(await tour.isHidden(), "it greets only once");
  await tab.close();
});
