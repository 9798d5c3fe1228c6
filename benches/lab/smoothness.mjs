// How smooth the page is here: the first paint, frames while a run streams and while one scrubs, steps per second.
// It prints, and requires nothing: these numbers belong to a machine.

import { finish, open } from "../../crates/lab/tests/browser/lab.mjs";

const tab = await open();
const { page } = tab;

/** Notes the time of every frame from now on; `frames` ends that. */
const watch = () => page.evaluate(() => {
  window.times = [];
  const note = (time) => {
    if (!window.times) return;
    window.times.push(time);
    requestAnimationFrame(note);
  };
  requestAnimationFrame(note);
});

/** The intervals between frames since `watch`, in words. */
async function frames() {
  const times = await page.evaluate(() => {
    const { times } = window;
    window.times = null;
    return times;
  });
  const intervals = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
  const quantile = (share) => intervals[Math.min(intervals.length - 1, Math.floor(share * intervals.length))];
  const [median, slow] = [quantile(0.5), quantile(0.95)];
  return `${(1000 / median).toFixed(0)} frames per second (median ${median.toFixed(1)} ms, 95th percentile ${slow.toFixed(1)} ms, longest ${intervals.at(-1).toFixed(0)} ms)`;
}

const paints = await page.evaluate(() => performance.getEntriesByType("paint").map(({ name, startTime }) => [name, startTime]));
const ready = await page.evaluate(() => performance.now());
for (const [name, time] of paints) console.log(`${name}: ${time.toFixed(0)} ms`);
console.log(`ready for a click: within ${ready.toFixed(0)} ms`);

await page.locator("#curves").scrollIntoViewIfNeeded();
await watch();
const clicked = Date.now();
await page.click("#train");
await tab.says("#story", /bigram ?from/);
console.log(`from the click to the bigram phase: ${((Date.now() - clicked) / 1000).toFixed(1)} s`);
await tab.ended(4000);
console.log(`while a run streams: ${await frames()}`);
const status = await tab.text("#status");
console.log(`${status} ${(4000 / Number(status.match(/in ([\d.]+) s/)[1])).toFixed(0)} steps per second`);

for (const id of ["learning", "inside"]) {
  await page.evaluate((id) => document.getElementById(id).scrollIntoView(), id);
  await page.waitForTimeout(300);
  const slider = await page.locator("#step").boundingBox();
  const middle = slider.y + slider.height / 2;
  await page.mouse.move(slider.x + slider.width - 8, middle);
  await page.mouse.down();
  await watch();
  for (let share = 1; share >= 0; share -= 1 / 200) await page.mouse.move(slider.x + 8 + share * (slider.width - 16), middle);
  await page.mouse.up();
  console.log(`while one scrubs over all steps, looking at “${id}”: ${await frames()}`);
}
await tab.close();
await finish();
