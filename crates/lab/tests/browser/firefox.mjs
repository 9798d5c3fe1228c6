// A tab of Firefox, driven by WebDriver BiDi: the little of it that a smoke test needs.
// (Playwright asks for commands at the start that Firefox does not have in its extended support release.)

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import WebSocket from "ws";

/** Starts Firefox with a profile of its own. @returns {Promise<Firefox>} */
export async function start(executable, profile) {
  const child = spawn(executable, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  for await (const line of createInterface({ input: child.stderr })) {
    const address = line.match(/WebDriver BiDi listening on (ws:\S+)/)?.[1];
    if (!address) continue;
    // Firefox would wait for someone to read the rest.
    child.stderr.resume();
    const socket = new WebSocket(`${address}/session`);
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const firefox = new Firefox(child, socket);
    await firefox.begin();
    return firefox;
  }
  throw new Error("Firefox ended before it listened");
}

class Firefox {
  /** Errors on the console. @type {string[]} */
  errors = [];
  /** Addresses that were asked for, apart from what is on the disk or in the page. @type {string[]} */
  asked = [];
  version = "";
  #child;
  #socket;
  #tab;
  #next = 0;
  #waiting = new Map();

  constructor(child, socket) {
    this.#child = child;
    this.#socket = socket;
    socket.on("message", (data) => this.#receive(JSON.parse(data)));
  }

  #receive({ type, id, result, message, method, params }) {
    if (type === "event" && method === "log.entryAdded" && params.level === "error") this.errors.push(params.text);
    if (type === "event" && method === "network.beforeRequestSent") {
      const { url } = params.request;
      if (!/^(file|data|blob|about):/.test(url)) this.asked.push(url);
    }
    if (type !== "success" && type !== "error") return;
    const { resolve, reject } = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (type === "success") resolve(result);
    else reject(new Error(message));
  }

  #send(method, params = {}) {
    const id = this.#next++;
    this.#socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  async begin() {
    const { capabilities } = await this.#send("session.new", { capabilities: {} });
    this.version = capabilities.browserVersion;
    const { contexts } = await this.#send("browsingContext.getTree");
    this.#tab = contexts[0].context;
    await this.#send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"], contexts: [this.#tab] });
  }

  open(url) {
    return this.#send("browsingContext.navigate", { context: this.#tab, url: String(url), wait: "complete" });
  }

  /** The value of an expression in the page: a number, a text or a truth value. */
  async evaluate(expression) {
    const answer = await this.#send("script.evaluate", { expression, target: { context: this.#tab }, awaitPromise: true });
    if (answer.type === "exception") throw new Error(answer.exceptionDetails.text);
    return answer.result.value;
  }

  /** Waits until an expression is true. */
  async until(expression, milliseconds = 60_000) {
    const end = Date.now() + milliseconds;
    while (!(await this.evaluate(`Boolean(${expression})`))) {
      if (Date.now() > end) throw new Error(`after a while, this still does not hold: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async close() {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    await this.#send("browser.close").catch(() => this.#child.kill());
    await ended;
  }
}
