// Draws docs/lab.png: the page in the second drop of the main preset.
//
//     node screenshot.mjs LAB.html OUT.png

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [lab, out] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 1150 } });
await page.goto(`${pathToFileURL(resolve(lab))}#preset=main&step=1500&tokens=0.1.1.0.0.1.0.1.1.1.0.0.1.1.0.1.0.0.0.1.0.1.1.0`);
await page.waitForFunction(() => /steps in/.test(document.getElementById("status").textContent), null, { timeout: 120_000 });
await page.waitForTimeout(1000);
await page.screenshot({ path: out });
await browser.close();
