// A tour of five stops, each of which does something on the page.

import { the } from "lab/page";

/** Where the page remembers that the tour was seen. */
const SEEN = "induct-lab-tour";

/** @typedef {{at: string, title: string, text: string, does: (isHere: () => boolean) => void | Promise<void>}} Stop */

export class Tour {
  #stops;
  #at = 0;

  /** @param {Stop[]} stops */
  constructor(stops) {
    this.#stops = stops;
    the("start-tour").addEventListener("click", () => this.start());
    the("tour-next").addEventListener("click", () => this.#go(this.#at + 1));
    the("tour-skip").addEventListener("click", () => this.#end());
    document.addEventListener("keydown", (event) => event.key === "Escape" && !the("tour").hidden && !document.querySelector("dialog[open]") && this.#end());
  }

  /** Starts by itself on the first visit. */
  greet() {
    try {
      if (localStorage.getItem(SEEN)) return;
    } catch {
      // A browser that remembers nothing would show it every time: rather never.
      return;
    }
    this.start({ focus: false });
  }

  start({ focus = true } = {}) {
    this.#go(0, focus);
  }

  async #go(to, focus = true) {
    this.#unmark();
    if (to >= this.#stops.length) return this.#end();
    this.#at = to;
    const { at, title, text, does } = this.#stops[to];
    the("tour").hidden = false;
    the("tour-count").textContent = `${to + 1} of ${this.#stops.length}`;
    the("tour-title").textContent = title;
    the("tour-text").textContent = text;
    the("tour-next").textContent = to + 1 < this.#stops.length ? "Next" : "Done";
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    the(at).classList.add("highlight");
    if (focus) the(at).scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
    if (focus) the("tour-next").focus({ preventScroll: true });
    // Some stops wait for a run to end; whoever goes on meanwhile is elsewhere.
    await does(() => this.#at === to && !the("tour").hidden);
  }

  #unmark() {
    document.querySelectorAll(".highlight").forEach((old) => old.classList.remove("highlight"));
  }

  #end() {
    this.#unmark();
    the("tour").hidden = true;
    try {
      localStorage.setItem(SEEN, "yes");
    } catch {
      // Then it is shown again.
    }
  }
}
