// For everyone: with assistive technology, on small and large screens, in light and dark.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { finish, open } from "./lab.mjs";

after(finish);

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SILENCE = '[data-entry="kind=\\"ablate\\", at=\\"layers.0.heads.0\\""]';

/** A folder for pictures of the page. */
const { SCREENSHOTS } = process.env;
/** Where people look at it. */
const SCREENS = [["desktop", 1280, 900], ["phone", 390, 844]];
const SCHEMES = ["light", "dark"];

let tab;
before(async () => {
  tab = await open();
  await tab.page.evaluate(axe);
});
after(() => tab.close());

/** Does something on every screen, in light and dark. */
async function everywhere(deed) {
  for (const [screen, width, height] of SCREENS) {
    for (const scheme of SCHEMES) {
      await tab.page.setViewportSize({ width, height });
      // Colours in the middle of a transition are nobody's choice.
      await tab.page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await deed(`${screen}, ${scheme}`, screen, scheme);
    }
  }
}

/** What axe finds that keeps people from using the page. */
async function barriers() {
  const { violations } = await tab.page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join(" | ")}`);
}

/** Draws everything: pictures are drawn only where they are seen. */
async function drawAll() {
  for (const id of ["experiment", "learning", "arcs", "maps", "heads", "weights", "intervene", "take"]) {
    await tab.page.evaluate((id) => document.getElementById(id).scrollIntoView({ block: "center" }), id);
    await tab.page.waitForTimeout(80);
  }
  await tab.page.evaluate(() => scrollTo(0, 0));
  await tab.page.waitForTimeout(80);
}

/** How far the page is wider than the screen, and what sticks out. */
const overhang = () => tab.page.evaluate(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  return [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
    .map((element) => `${element.localName}#${element.id}.${element.getAttribute("class")}`).slice(0, 8);
});

async function fits() {
  for (const width of [390, 768, 1280, 1920]) {
    await tab.page.setViewportSize({ width, height: 900 });
    await drawAll();
    assert.deepEqual(await overhang(), [], `at ${width} pixels`);
  }
}

describe("before training", () => {
  test("there are no barriers", () => everywhere(async (where) => assert.deepEqual(await barriers(), [], where)));
  test("nothing is wider than the screen", fits);
});

describe("after training", () => {
  before(async () => {
    await tab.trainFor(200);
    await tab.page.locator("details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
  });

  test("it can be looked at", { skip: !SCREENSHOTS && "SCREENSHOTS is no folder" }, async () => {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await everywhere(async (where, screen, scheme) => {
      // A screen as high as the page, on which nothing covers anything.
      const { width } = tab.page.viewportSize();
      const height = await tab.page.evaluate(() => document.documentElement.scrollHeight);
      await tab.page.setViewportSize({ width, height });
      await drawAll();
      const picture = await tab.page.screenshot({ path: join(SCREENSHOTS, `${screen}-${scheme}.png`), fullPage: true });
      assert.ok(picture.length > 10_000, where);
    });
  });

  test("there are no barriers", () => everywhere(async (where) => {
    await drawAll();
    assert.deepEqual(await barriers(), [], where);
  }));

  test("there are none while something is broken", async () => {
    await tab.page.click(SILENCE);
    await tab.says("#effect", /512 fresh sequences/);
    await tab.set("train.batch", "");
    await tab.page.waitForSelector('[aria-invalid="true"]');
    await everywhere(async (where) => assert.deepEqual(await barriers(), [], where));
    await tab.page.click("#undo-all");
    await tab.set("train.batch", "64");
  });

  test("there are none in a list of blocks, and it fits", async () => {
    await tab.page.click('[data-place="list"]');
    await tab.page.waitForSelector(".blocks li");
    await everywhere(async (where) => assert.deepEqual(await barriers(), [], where));
    await fits();
    await tab.page.click('[data-place="short"]');
  });

  test("there are none in the dialog", async () => {
    await tab.page.locator("#maps button.map").first().click();
    await tab.page.waitForSelector("#head-dialog[open]");
    await everywhere(async (where) => assert.deepEqual(await barriers(), [], where));
    await tab.page.keyboard.press("Escape");
    await tab.until("Escape closes it", () => tab.page.locator("#head-dialog").isHidden(), Boolean);
  });

  test("there are none in the tour", async () => {
    await tab.page.click("#start-tour");
    await everywhere(async (where) => assert.deepEqual(await barriers(), [], where));
    await tab.page.click("#tour-skip");
  });

  test("nothing is wider than the screen", fits);
});
