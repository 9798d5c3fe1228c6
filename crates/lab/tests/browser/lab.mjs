// The page in a browser, as a user opens it: from its file, with nobody to ask on the network.
//
// Environment: LAB, the page; INDUCT, the native command; CHROMIUM, the browser if it is not where Debian puts it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const given = (name) => {
  const path = process.env[name];
  if (!path || !existsSync(path)) throw new Error(`${name} is to be the path of a file, as ./check lab gives it; it is ${path}`);
  return resolve(path);
};
/** The page that is tested. */
export const lab = given("LAB");
/** The native command. */
export const induct = given("INDUCT");

/** The longest that anything may take, in milliseconds: machines differ. */
const PATIENCE = 120_000;

/** An empty folder. */
export const folder = mkdtempSync(join(tmpdir(), "induct-lab-"));
let browser = null;

/** Puts everything away: to be called at the end. */
export async function finish() {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
}

/** The browser, started when it is first needed. */
async function started() {
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  browser ??= await chromium.launch({ executablePath, args });
  return browser;
}

/**
 * Opens the page in a new tab and waits until it is ready.
 * @param {{hash?: string, file?: string, width?: number, height?: number, scheme?: "light" | "dark"}} options
 */
export async function open({ hash = "#preset=main", file = lab, width = 1280, height = 900, scheme = "light" } = {}) {
  const context = await (await started()).newContext({ viewport: { width, height }, colorScheme: scheme });
  context.setDefaultTimeout(PATIENCE);
  const tab = new Tab(await context.newPage(), context);
  await tab.listen();
  await tab.page.goto(pathToFileURL(file) + hash);
  await tab.page.waitForSelector("body[data-ready]");
  return tab;
}

/** Text with single spaces. */
const plain = (text) => (text ?? "").replace(/\s+/g, " ").trim();

/** A tab with the page. */
export class Tab {
  /** Addresses that the page asked for, apart from itself and what it carries. @type {string[]} */
  asked = [];
  /** Errors on its console. @type {string[]} */
  errors = [];
  #expected = [];

  constructor(page, context) {
    this.page = page;
    this.context = context;
  }

  /** Keeps account of requests and errors, and lets no request through. */
  async listen() {
    await this.context.route((url) => !["file:", "data:", "blob:"].includes(url.protocol), (route) => {
      this.asked.push(route.request().url());
      return route.abort();
    });
    this.page.on("websocket", (socket) => this.asked.push(socket.url()));
    this.page.on("console", (message) => message.type() === "error" && this.errors.push(message.text()));
    this.page.on("pageerror", (error) => this.errors.push(String(error.stack ?? error)));
    this.page.on("crash", () => this.errors.push("the tab crashed"));
  }

  /** Errors that match are what a test wants to see. */
  expect(pattern) {
    this.#expected.push(pattern);
  }

  /** Closes it. It must have asked for no address, and logged no error. */
  async close() {
    await this.context.close();
    const errors = this.errors.filter((error) => !this.#expected.some((pattern) => pattern.test(error)));
    assert.deepEqual(errors, [], "errors on the console");
    assert.deepEqual(this.asked, [], "addresses that the page asked for");
  }

  /** The text of an element, or of none. */
  async text(selector) {
    return plain(await this.page.textContent(selector));
  }

  /** Waits until the text of an element matches. */
  async says(selector, pattern) {
    try {
      await this.page.waitForFunction(
        ([selector, source, flags]) => new RegExp(source, flags).test((document.querySelector(selector)?.textContent ?? "").replace(/\s+/g, " ").trim()),
        [selector, pattern.source, pattern.flags], { timeout: PATIENCE });
    } catch {
      assert.match(await this.text(selector), pattern, `${selector}, after a while`);
    }
  }

  /** Waits until something that can be read is as it should be. */
  async until(what, read, good) {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const value = await read();
      if (good(value)) return value;
      assert.ok(Date.now() < end, `${what}, after a while: ${JSON.stringify(value)?.slice(0, 500)}`);
      await this.page.waitForTimeout(30);
    }
  }

  /** Waits until something is no longer what it was, and reads it. */
  changes(what, read, before) {
    return this.until(`${what} changes`, read, (value) => value !== before);
  }

  /** Fills a field of the form, as if it was typed and left. */
  async set(key, value) {
    const field = this.page.locator(`[data-key="${key}"]`);
    await field.evaluate((field) => (field.closest("details").open = true));
    if (await field.evaluate((field) => field.tagName === "SELECT")) await field.selectOption(value);
    else {
      await field.fill(String(value));
      await field.blur();
    }
  }

  /** Fills a field, and waits until the recipe has it. */
  async setAndSee(key, value, command) {
    await this.set(key, value);
    await this.says("#command", command);
  }

  /** Has the main preset trained for some steps, to the end. */
  async trainFor(steps) {
    await this.setAndSee("train.steps", steps, new RegExp(`train\\.steps=${steps}\\b`));
    await this.page.click("#train");
    await this.ended(steps);
  }

  /** Waits for the end of a run. */
  ended(steps) {
    return this.says("#status", new RegExp(`^${steps.toLocaleString("en")} steps in \\d`));
  }

  /** Waits for the end of a run that goes on from another one's step. */
  async branchEnded(step, steps) {
    await this.says('#runs li[aria-current="true"] button', new RegExp(`from step ${step.toLocaleString("en")}$`));
    await this.ended(steps);
  }

  /** The step that is shown. */
  async step() {
    return Number((await this.text("#step-text")).replace(/\D/g, ""));
  }

  /** Goes to the snapshot with a number. */
  async scrub(number) {
    await this.page.locator("#step").fill(String(number));
  }

  /** A name for what the attention figure shows; empty if there is none. */
  async arcs() {
    const drawn = await this.page.evaluate(() => document.querySelector("#arcs svg")?.innerHTML ?? "");
    return drawn && createHash("sha256").update(drawn).digest("hex");
  }

  /** What the model expects next, in digits as they are drawn. */
  answers() {
    return this.page.evaluate(() => [...document.querySelectorAll("#answers tr.model .bar span")].map((span) => span.style.width).join(" "));
  }

  /** Clicks, and reads what is downloaded. @returns {Promise<{name: string, bytes: Buffer}>} */
  async download(selector) {
    const [download] = await Promise.all([this.page.waitForEvent("download"), this.page.locator(selector).click()]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
  }

  /** The part of the page's address that is its state, once it has been written. */
  async address() {
    await this.page.waitForTimeout(700);
    return this.page.url().replace(/^[^#]*/, "");
  }
}

/** Runs the native command in the tests' folder. */
export function natively(...words) {
  return execFileSync(induct, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs a command line that the page shows, as a shell reads it. */
export function commanded(line, out) {
  assert.match(line, /^induct --level portable train /);
  const env = { ...process.env, INDUCT: induct };
  execFileSync("sh", ["-c", `${line.replace(/^induct/, '"$INDUCT"')} --out ${out}`], { cwd: folder, env, stdio: "pipe" });
}

/** The bytes of a file that the native command wrote. */
export const written = (...path) => readFileSync(join(folder, ...path));

/** Requires the same bytes, and says where the first difference is: whole files would fill the screen. */
export function sameBytes(found, wanted, what) {
  if (found.equals(wanted)) return;
  const differs = found.findIndex((byte, index) => byte !== wanted[index]);
  const at = differs < 0 ? found.length : differs;
  const around = (bytes) => JSON.stringify(bytes.subarray(Math.max(0, at - 40), at + 40).toString("latin1"));
  assert.fail(`${what}: byte ${at} of ${found.length} and ${wanted.length} differs, ${around(found)} and natively ${around(wanted)}`);
}
