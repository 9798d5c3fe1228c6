// A link restores everything that was looked at, and says what it cannot restore.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { finish, open } from "./lab.mjs";

after(finish);

/** What a user would compare. */
async function looks(tab) {
  return {
    step: await tab.step(),
    sequence: await tab.text("#sequence"),
    under: await tab.text("#under-text"),
    effect: await tab.text("#effect"),
    command: await tab.text("#command"),
    seeds: await tab.page.inputValue("#seeds"),
    states: await tab.page.inputValue('[data-key="task.states"]'),
    answers: await tab.answers(),
  };
}

test("a link leads to the same recipe, seeds, step, sequence and interventions", async () => {
  const tab = await open();
  await tab.setAndSee("task.states", 3, /task\.states=3/);
  await tab.setAndSee("seeds.init", 5, /seeds\.init=5/);
  await tab.page.fill("#seeds", "2");
  await tab.trainFor(100);
  await tab.page.locator("#inside").scrollIntoViewIfNeeded();
  await tab.scrub(3);
  await tab.until("the step is shown", () => tab.step(), (step) => step === 60);
  await tab.page.click('#symbols button:text-is("2")');
  await tab.page.click('#symbols button:text-is("0")');
  await tab.page.click('[data-entry="kind=\\"clamp\\", at=\\"layers.0.heads.0\\", pattern=\\"previous-token\\""]');
  await tab.says("#effect", /512 fresh sequences/);
  const hash = await tab.address();
  const whole = await looks(tab);
  await tab.close();

  const other = await open({ hash });
  await other.until("everything is there again", () => looks(other), (found) => JSON.stringify(found) === JSON.stringify(whole));
  assert.equal(whole.step, 60);
  assert.ok(await other.page.locator("#notice").isHidden());
  assert.equal(await other.address(), hash, "a link that was followed is the link that is copied");
  await other.close();
});

test("a link to a recipe that was changed in mid-run repeats it", async () => {
  const tab = await open();
  await tab.trainFor(100);
  await tab.scrub(2);
  await tab.until("the step is shown", () => tab.step(), (step) => step === 40);
  await tab.page.fill("#new-rate", "0.01");
  await tab.page.click("#change-rate");
  await tab.branchEnded(40, 100);
  const metrics = await tab.download("[data-take=metrics]");
  const hash = await tab.address();
  await tab.close();

  const other = await open({ hash });
  await other.ended(100);
  assert.ok((await other.download("[data-take=metrics]")).bytes.equals(metrics.bytes));
  await other.close();
});

test("a link that is followed within the page is restored, too", async () => {
  const tab = await open();
  await tab.page.evaluate(() => (location.hash = "#preset=main&set=train.steps%3D60&step=40"));
  await tab.ended(60);
  await tab.until("the step is shown", () => tab.step(), (step) => step === 40);
  await tab.close();
});

test("a link of another version is taken, with a remark", async () => {
  const tab = await open({ hash: "#preset=main&set=train.batch%3D32&v=999" });
  await tab.says("#notice", /version 999.*may differ/);
  assert.match(await tab.text("#command"), /train\.batch=32/);
  await tab.close();
});

test("nonsense in a link is named, and the main preset is there", async () => {
  for (const [hash, remark] of [
    ["#what=ever&x=y", /does not know: what, x/],
    ["#preset=no-such-preset", /no preset.*no-such-preset.*main preset instead/],
    ["#recipe=%5B%5B%5B", /cannot be trained.*main preset instead/],
    ["#preset=main&set=train.steps%3Dnine", /cannot be trained.*main preset instead/],
    [`#${"%F0%9F%92%A9".repeat(9000)}`, /too long/],
  ]) {
    const tab = await open({ hash });
    await tab.says("#notice", remark);
    await tab.says("#command", /^induct --level portable train main$/);
    assert.ok(await tab.page.locator("#train").isEnabled());
    await tab.close();
  }
});

test("numbers out of range in a link do no harm", async () => {
  const tab = await open({ hash: "#preset=main&set=train.steps%3D40&step=99999&tokens=9.9.250&seeds=0&under=kind%3D%22nothing%22" });
  await tab.ended(40);
  await tab.until("the last step is shown", () => tab.step(), (step) => step === 40);
  await tab.until("a sequence of the task is shown", () => tab.text("#sequence"), (text) => /^[01]+$/.test(text));
  await tab.says("#effect", /nothing/);
  await tab.page.click("#undo-all");
  await tab.changes("the answers", () => tab.answers(), "");
  await tab.close();
});

test("HTML in a link stays text", async () => {
  const html = '<img src="x" onerror="document.title=1"><b id="injected">';
  const hash = `#${new URLSearchParams([["preset", html], ["set", `name=${JSON.stringify(html)}`], ["under", html], [html, html], ["step", "20"]])}`;
  const tab = await open({ hash });
  await tab.says("#notice", /<b id="injected">/);
  assert.equal(await tab.page.locator("#injected, img").count(), 0);
  assert.equal(await tab.page.title(), "Induct lab");
  await tab.close();
});
