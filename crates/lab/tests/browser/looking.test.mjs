// One moment of a run, looked at from all sides: the scrubber, the sequence, and what breaks when a head is silenced.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { finish, open } from "./lab.mjs";

after(finish);

const STEPS = 600;
/** The steps between snapshots of the main preset, while it is young. */
const EVERY = 20;
const LAST = STEPS / EVERY;
const SILENCE = '[data-entry="kind=\\"ablate\\", at=\\"layers.0.heads.0\\""]';

let tab;
before(async () => {
  tab = await open();
  await tab.trainFor(STEPS);
  await tab.page.locator("#inside").scrollIntoViewIfNeeded();
});
after(() => tab.close());

/** Everything that shows the moment. */
const seen = async () => ({ step: await tab.step(), arcs: await tab.arcs(), answers: await tab.answers() });

/** Requires that a deed leads to a step, and that everything follows. */
async function leadsTo(step, deed) {
  const old = await seen();
  await deed();
  await tab.until("the step is shown", () => tab.step(), (at) => at === step);
  await tab.changes("the attention figure", () => tab.arcs(), old.arcs);
  await tab.changes("the model's answer", () => tab.answers(), old.answers);
  await tab.says("#inside-title", new RegExp(`step ${step}$`));
}

/** Waits until figure and answers have stopped changing. The figure is drawn only where it is seen. */
async function settled() {
  await tab.page.locator("#arcs").scrollIntoViewIfNeeded();
  let last = null;
  return tab.until("the page comes to rest", async () => {
    const next = JSON.stringify(await seen());
    const same = next === last;
    last = next;
    await tab.page.waitForTimeout(150);
    return same && next;
  }, Boolean).then(JSON.parse);
}

describe("scrubbing", () => {
  test("by the slider", () => leadsTo(5 * EVERY, () => tab.scrub(5)));

  test("by the keyboard", async () => {
    await tab.page.focus("#step");
    await leadsTo(6 * EVERY, () => tab.page.keyboard.press("ArrowRight"));
    await leadsTo(5 * EVERY, () => tab.page.keyboard.press("ArrowLeft"));
    await leadsTo(15 * EVERY, () => tab.page.keyboard.press("Shift+ArrowRight"));
    await leadsTo(0, () => tab.page.keyboard.press("Home"));
    await leadsTo(STEPS, () => tab.page.keyboard.press("End"));
    await tab.page.locator("#step").blur();
    await leadsTo(STEPS - EVERY, () => tab.page.keyboard.press("ArrowLeft"));
  });

  test("by a click in the curves", async () => {
    await tab.scrub(LAST);
    await settled();
    const svg = tab.page.locator("#curves svg");
    await svg.scrollIntoViewIfNeeded();
    const { left, right, middle } = await svg.evaluate((svg) => {
      // The horizontal axis, from its first to its last number.
      const box = svg.getBoundingClientRect();
      const unit = box.width / svg.viewBox.baseVal.width;
      const shades = [...svg.querySelectorAll("rect[fill-opacity]")];
      const first = shades[0].getBoundingClientRect();
      const ticks = [...svg.querySelectorAll("text[text-anchor=middle]")].filter((tick) => /^[\d,]+$/.test(tick.textContent));
      const at = (tick) => box.left + Number(tick.getAttribute("x")) * unit;
      const [zero, next] = ticks;
      const perStep = (at(next) - at(zero)) / (Number(next.textContent.replace(",", "")) - Number(zero.textContent));
      return { left: at(zero), right: at(zero) + 600 * perStep, middle: (first.top + first.bottom) / 2 };
    });
    const old = await seen();
    await tab.page.mouse.click(left + (right - left) / 2, middle);
    await tab.until("the step is shown", () => tab.step(), (step) => Math.abs(step - STEPS / 2) <= EVERY);
    await tab.page.locator("#inside").scrollIntoViewIfNeeded();
    await tab.changes("the attention figure", () => tab.arcs(), old.arcs);
    await tab.changes("the model's answer", () => tab.answers(), old.answers);
  });

  test("by playing, until it is paused", async () => {
    await tab.scrub(3);
    await tab.until("the step is shown", () => tab.step(), (step) => step === 3 * EVERY);
    await tab.page.click("#play");
    await tab.until("it plays on", () => tab.step(), (step) => step > 5 * EVERY);
    await tab.page.click("#play");
    const paused = await tab.step();
    await tab.page.waitForTimeout(400);
    assert.equal(await tab.step(), paused);
    assert.match(await tab.page.getAttribute("#play", "aria-label"), /^Play/);
  });
});

describe("the sequence", () => {
  const length = () => tab.page.locator("#sequence button").count();

  test("grows with every number key, and so does the answer change", async () => {
    await tab.scrub(LAST);
    await settled();
    const before = await length();
    await tab.page.locator("#sequence button").last().focus();
    for (const [index, key] of ["0", "0", "1", "0"].entries()) {
      const answers = await tab.answers();
      await tab.page.keyboard.press(key);
      await tab.until("the symbol is there", length, (count) => count === before + index + 1);
      assert.equal(await tab.page.locator("#sequence button").last().textContent(), key);
      await tab.changes("the model's answer", () => tab.answers(), answers);
    }
  });

  test("keeps the focus on its last symbol, and Backspace removes it", async () => {
    const before = await length();
    await tab.page.keyboard.press("Backspace");
    await tab.until("a symbol is gone", length, (count) => count === before - 1);
    await tab.page.keyboard.press("Backspace");
    await tab.until("another is gone, by the keyboard alone", length, (count) => count === before - 2);
  });

  test("explains a symbol that there is not", async () => {
    const before = await length();
    await tab.page.locator("#sequence button").last().focus();
    await tab.page.keyboard.press("7");
    await tab.says("#talk-problem", /symbols 0 to 1/);
    assert.equal(await length(), before);
    await tab.page.keyboard.press("1");
    await tab.until("a right one takes the explanation away", () => tab.page.locator("#talk-problem").isHidden(), Boolean);
  });

  test("changes where it is clicked", async () => {
    const answers = await tab.answers();
    const cell = tab.page.locator("#sequence button").first();
    const symbol = await cell.textContent();
    await cell.click();
    await tab.changes("the symbol", () => cell.textContent(), symbol);
    await tab.changes("the model's answer", () => tab.answers(), answers);
  });
});

describe("a silenced head", () => {
  test("changes the loss, the arcs and the answers; undoing restores them exactly", async () => {
    await tab.scrub(LAST);
    const whole = await settled();
    await tab.page.click(SILENCE);
    await tab.says("#effect", /Loss [\d.]+ → [\d.]+ nats \([+−][\d.]+, standard error [\d.]+, on 512 fresh sequences\)/);
    await tab.says("#maps", /\(modified\)/);
    const broken = await settled();
    assert.notEqual(broken.arcs, whole.arcs);
    assert.notEqual(broken.answers, whole.answers);
    await tab.page.click("#undo-all");
    await tab.until("the effect is gone", () => tab.page.locator("#now").isHidden(), Boolean);
    assert.deepEqual(await settled(), whole);
  });

  test("can be chosen in its picture", async () => {
    await tab.page.locator("#maps button.map").first().click();
    const dialog = tab.page.locator("#head-dialog");
    await dialog.getByRole("button", { name: "silence it" }).click();
    await tab.until("the dialog closes", () => dialog.isHidden(), Boolean);
    assert.equal(await tab.page.getAttribute(SILENCE, "aria-pressed"), "true");
    await tab.page.click(SILENCE);
    await tab.until("pressed again, it is as before", () => tab.page.getAttribute(SILENCE, "aria-pressed"), (pressed) => pressed === "false");
  });
});
