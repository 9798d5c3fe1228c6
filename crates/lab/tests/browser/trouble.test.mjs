// What goes wrong is said where it went wrong, and nothing else is lost.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { finish, open } from "./lab.mjs";

after(finish);

const KILLED = /the test ended this worker/;

/** Has an error happen in a worker of the page, as if its code was wrong. The first worker draws, later ones train. */
async function kill(tab, number) {
  tab.expect(KILLED);
  await tab.page.workers()[number].evaluate(() => void setTimeout(() => {
    throw new Error("the test ended this worker");
  }));
}

describe("the form", () => {
  let tab;
  before(async () => (tab = await open()));
  after(() => tab.close());

  test("explains a recipe that is none", async () => {
    await tab.page.locator("#recipe-details").evaluate((details) => (details.open = true));
    await tab.page.fill("#recipe-text", "this is = = not TOML\n<script>");
    await tab.page.click("#use-recipe");
    await tab.says("#recipe-problem", /not valid TOML/);
    assert.ok(await tab.page.locator("#recipe-problem").isVisible());
    await tab.page.fill("#recipe-text", "train.stepz = 5");
    await tab.page.click("#use-recipe");
    await tab.says("#recipe-problem", /stepz/);
  });

  test("takes a recipe that is right after one that was not", async () => {
    await tab.page.fill("#recipe-text", "train.steps = 500");
    await tab.page.click("#use-recipe");
    await tab.says("#command", /train\.steps=500/);
    assert.ok(await tab.page.locator("#problem").isHidden());
    assert.ok(await tab.page.locator("#train").isEnabled());
  });

  test("explains a wrong value beside its field", async () => {
    await tab.set("model.width", 15);
    await tab.set("model.heads", 2);
    const wrong = tab.page.locator('#form [aria-invalid="true"]');
    await tab.until("a field is marked", () => wrong.count(), (count) => count === 1);
    const said = tab.page.locator(`#${await wrong.getAttribute("aria-describedby")}`);
    assert.match(await said.textContent(), /heads|width/);
    assert.ok(await wrong.evaluate((field) => field.closest(".field").querySelector(".problem") !== null));
    assert.ok(await tab.page.locator("#train").isDisabled());
    await tab.set("model.width", 16);
    await tab.set("model.heads", 2);
    await tab.until("the mark is gone", () => wrong.count(), (count) => count === 0);
    assert.ok(await tab.page.locator("#train").isEnabled());
  });

  test("explains a field that was left empty", async () => {
    await tab.set("train.batch", "");
    const wrong = tab.page.locator('[data-key="train.batch"][aria-invalid="true"]');
    await tab.until("the field is marked", () => wrong.count(), (count) => count === 1);
    await tab.set("train.batch", 64);
    await tab.until("the mark is gone", () => wrong.count(), (count) => count === 0);
  });

  test("leaves what is too large for a tab to the command line", async () => {
    await tab.set("model.width", 4096);
    await tab.set("task.length", 2000);
    await tab.says("#cost", /Too large for a tab.*induct --level portable train main/);
    assert.ok(await tab.page.locator("#train").isDisabled());
    await tab.page.selectOption("#preset", "main");
    await tab.says("#command", /train main$/);
    assert.ok(await tab.page.locator("#train").isEnabled());
  });

  test("does not forget a wrong field when a run ends", async () => {
    await tab.setAndSee("train.steps", 600, /train\.steps=600/);
    await tab.page.click("#train");
    await tab.set("train.batch", "-5");
    const wrong = tab.page.locator('[data-key="train.batch"][aria-invalid="true"]');
    await tab.until("the field is marked", () => wrong.count(), (count) => count === 1);
    await tab.ended(600);
    await tab.page.waitForTimeout(100);
    assert.equal(await wrong.count(), 1);
    assert.ok(await tab.page.locator("#train").isDisabled());
    await tab.set("train.batch", 64);
    await tab.until("the mark is gone", () => wrong.count(), (count) => count === 0);
  });

  test("refuses HTML as a recipe's name, and shows it as text", async () => {
    await tab.page.fill("#recipe-text", 'name = "<img src=x onerror=document.title=1><b id=injected>"');
    await tab.page.click("#use-recipe");
    await tab.says("#recipe-problem", /<b id=injected>.*letters, digits/);
    assert.equal(await tab.page.locator("#injected, img").count(), 0);
    assert.equal(await tab.page.title(), "Induct lab");
  });
});

test("a link to what is too large for a tab trains nothing", async () => {
  const tab = await open({ hash: "#preset=main&set=model.width%3D4096&set=task.length%3D2000&step=20" });
  await tab.says("#cost", /Too large for a tab/);
  await tab.page.waitForTimeout(300);
  assert.ok(await tab.page.locator("#train").isDisabled());
  assert.equal(await tab.text("#status"), "Ready.");
  await tab.close();
});

test("a run that diverges says so, and keeps what it recorded", async () => {
  const tab = await open();
  await tab.set("train.optimizer.kind", "sgd");
  await tab.says("#command", /sgd/);
  await tab.setAndSee("train.optimizer.lr", "1e30", /lr = 10{30}\.0/);
  await tab.page.click("#train");
  await tab.says("#status", /^Diverged at step/);
  await tab.says("#notice", /diverged/);
  await tab.until("the curves are drawn", () => tab.page.locator("#curves svg").count(), (count) => count === 1);
  assert.ok((await tab.download("[data-take=metrics]")).bytes.length > 0);
  assert.ok(await tab.page.locator("#train").isEnabled());
  await tab.close();
});

test("the end of a worker ends only the run that it trains", async () => {
  const tab = await open();
  await tab.page.click("#train");
  await tab.says("#story", /unigram/);
  await kill(tab, 1);
  await tab.says("#notice", /ended at step \d+ because its worker died.*train again/);
  assert.match(await tab.text("#notice"), KILLED);
  assert.match(await tab.text("#story"), /unigram/);
  assert.equal(await tab.page.locator("#curves svg").count(), 1);
  await tab.scrub(2);
  await tab.until("older moments can be looked at", () => tab.step(), (step) => step === 40);
  assert.ok((await tab.download("[data-take=metrics]")).bytes.length > 1000);
  await tab.trainFor(60);
  await tab.close();
});

test("the end of a worker while paused does not hold up the next run", async () => {
  const tab = await open();
  for (let round = 0; round < 3; round++) {
    await tab.page.click("#train");
    await tab.says("#story", /unigram/);
    await tab.page.click("#pause");
    await tab.says("#status", /^Paused/);
    await kill(tab, 1);
    await tab.says("#notice", /its worker died/);
    await tab.page.locator("#notice button").click();
  }
  await tab.trainFor(60);
  await tab.close();
});

test("the worker that draws is replaced, and nothing is lost", async () => {
  const tab = await open();
  await tab.trainFor(100);
  await tab.scrub(3);
  await tab.until("the step is shown", () => tab.step(), (step) => step === 60);
  const [metrics, answers] = [await tab.download("[data-take=metrics]"), await tab.answers()];
  await kill(tab, 0);
  await tab.says("#notice", /draws has died.*nothing is lost/);
  assert.equal(await tab.step(), 60);
  assert.ok((await tab.download("[data-take=metrics]")).bytes.equals(metrics.bytes));
  await tab.scrub(1);
  await tab.changes("the answers", () => tab.answers(), answers);
  await tab.scrub(3);
  await tab.until("the answers are as they were", () => tab.answers(), (now) => now === answers);
  await tab.trainFor(60);
  await tab.close();
});

test("training goes on while the worker that draws is replaced", async () => {
  const tab = await open();
  await tab.setAndSee("train.steps", 1000, /train\.steps=1000/);
  await tab.page.click("#train");
  await tab.says("#story", /unigram/);
  await kill(tab, 0);
  await tab.says("#notice", /draws has died.*nothing is lost/);
  await tab.ended(1000);
  assert.match(await tab.text("#notice"), /nothing is lost/, "no second complaint");
  const { bytes } = await tab.download("[data-take=metrics]");
  const steps = bytes.toString().trim().split("\n").filter((line) => /^\d/.test(line)).map((line) => Number(line.split(",")[0]));
  assert.deepEqual(steps, [...new Set(steps)].sort((a, b) => a - b), "every record once, in order");
  assert.equal(steps.at(-1), 1000);
  await tab.close();
});
