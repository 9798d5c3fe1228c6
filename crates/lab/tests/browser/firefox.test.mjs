// The same page in Firefox: it trains, what is looked at can be scrubbed, and no error is logged.

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { start } from "./firefox.mjs";
import { finish, folder, lab } from "./lab.mjs";

after(finish);

const found = [process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => path && existsSync(path));

const text = (id) => `document.getElementById(${JSON.stringify(id)}).textContent`;

test("an induction head forms in Firefox", { skip: !found && "there is no Firefox" }, async (t) => {
  const profile = join(folder, "profile");
  mkdirSync(profile);
  const firefox = await start(found, profile);
  try {
    await firefox.open(`${pathToFileURL(lab)}#preset=main`);
    await firefox.until("document.body.dataset.ready");
    await firefox.evaluate('document.getElementById("train").click()');
    await firefox.until(`/bigram ?from step 1,420/.test(${text("story")})`);
    t.diagnostic(`Firefox ${firefox.version}: ${await firefox.evaluate(text("status"))}`);
    await firefox.evaluate('document.getElementById("stop").click()');
    await firefox.until(`/^Stopped at step/.test(${text("status")})`);

    await firefox.evaluate('document.getElementById("arcs").scrollIntoView()');
    const arcs = '(document.querySelector("#arcs svg")?.innerHTML ?? "")';
    await firefox.until(`${arcs} !== ""`);
    const last = await firefox.evaluate(arcs);
    await firefox.evaluate('{ const slider = document.getElementById("step"); slider.value = 3; slider.dispatchEvent(new Event("input")); }');
    await firefox.until(`${text("step-text")} === "step 60" && ${arcs} !== ${JSON.stringify(last)}`);
    assert.deepEqual(firefox.errors, [], "errors on the console");
    assert.deepEqual(firefox.asked, [], "addresses that the page asked for");
  } finally {
    await firefox.close();
  }
});
