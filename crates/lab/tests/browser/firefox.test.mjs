// The same page in Firefox, driven by WebDriver BiDi: it trains, and logs no error.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { firefox } from "playwright-core";
import { finish, lab, Tab } from "./lab.mjs";

after(finish);

const found = [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => path && existsSync(path));

test("an induction head forms in Firefox", { skip: !found && "there is no Firefox" }, async (t) => {
  // Firefox as it is sold, not the patched one that Playwright ships.
  const browser = await firefox.launch({ executablePath: found, channel: "moz-firefox" });
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const tab = new Tab(await context.newPage(), context);
    await tab.listen();
    await tab.page.goto(`${pathToFileURL(lab)}#preset=main`);
    await tab.page.waitForSelector("body[data-ready]");
    await tab.page.click("#train");
    await tab.says("#story", /bigram ?from step 1,420/);
    await tab.ended(4000);
    t.diagnostic(`Firefox ${browser.version()}: ${await tab.text("#status")}`);
    await tab.page.locator("#inside").scrollIntoViewIfNeeded();
    const arcs = await tab.changes("the attention figure", () => tab.arcs(), "");
    await tab.scrub(3);
    await tab.changes("the attention figure", () => tab.arcs(), arcs);
    assert.equal(await tab.step(), 60);
    await tab.close();
  } finally {
    await browser.close();
  }
});
