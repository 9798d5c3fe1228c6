// Break it: what can be changed in the model at a moment, what that does, and what training makes of it.

import { Died, Problem } from "lab/engine";
import { named } from "lab/fields";
import { element, say, the } from "lab/page";

const CLAMPS = [
  ["previous-token", "attend to the previous symbol"],
  ["uniform", "attend uniformly"],
  ["same-token", "attend to equal symbols"],
  ["induction", "attend to what followed them"],
];

export class Intervene {
  #now;
  #runs;
  #shape = "";
  #asked = 0;
  /** Called with a label and a change to train on with. */
  onBranch = (_label, _change) => {};

  /** @param {import("lab/now").Now} now @param {import("lab/runs").Runs} runs */
  constructor(now, runs) {
    this.#now = now;
    this.#runs = runs;
    now.addEventListener("change", () => this.show());
    the("undo-all").addEventListener("click", () => now.change([]));
    the("train-with").addEventListener("click", () => {
      const entries = now.under;
      this.onBranch(this.#inWords(entries), { kind: "intervene", entries });
    });
    the("change-rate").addEventListener("click", () => {
      const lr = Number(the("new-rate").value);
      if (!(lr >= 0) || the("new-rate").value.trim() === "") return say(the("intervene-problem"), "A learning rate is a number that is not negative, such as 0.01.");
      say(the("intervene-problem"), null);
      this.onBranch(`learning rate ${lr}`, { kind: "rate", lr });
    });
    the("change-prior").addEventListener("click", () => {
      const select = the("new-prior");
      this.onBranch(`prior: ${select.selectedOptions[0].textContent}`, { kind: "prior", prior: select.value });
    });
  }

  /** The changes that can be made to a part. */
  #actions({ at, pattern, written }) {
    const ablate = written ? [[`kind="ablate", at="${at}"`, "silence it"]] : [];
    const clamps = pattern ? CLAMPS.map(([target, words]) => [`kind="clamp", at="${at}", pattern="${target}"`, words]) : [];
    return [...ablate, ...clamps];
  }

  /** The parts of the model, as many as fit, each with its words. */
  #parts() {
    const parts = this.#now.run?.recipe.parts ?? [];
    const several = parts.some(({ pattern, index }) => pattern && index > 0);
    return parts.slice(0, 32).map((part) => ({ ...part, words: inWords(part, several) }));
  }

  /** Entries in words: "layer 1 silenced", "layer 2, head 3 made to attend uniformly". */
  #inWords(entries) {
    const parts = this.#parts();
    const words = (entry) => {
      const value = (key) => entry.match(new RegExp(`${key}="([^"]*)"`))?.[1] ?? "";
      const part = parts.find(({ at }) => at === value("at"));
      if (!part) return entry;
      const does = CLAMPS.find(([target]) => target === value("pattern"))?.[1] ?? value("pattern");
      const words = part.words.replace(/'s head$/, "");
      return value("kind") === "ablate" ? `${words} silenced` : `${words} made to ${does}`;
    };
    return entries.map(words).join(", ");
  }

  #toggle({ at }, entry) {
    say(the("intervene-problem"), null);
    const { under } = this.#now;
    const others = under.filter((other) => !other.includes(`"${at}"`));
    this.#now.change(under.includes(entry) ? others : [...others, entry]);
  }

  /** Asks what to do with a head that was clicked. */
  offer(layer, head) {
    const found = this.#parts().find((part) => part.pattern && part.layer === layer && part.index === head);
    if (!found) return;
    the("head-title").textContent = found.words;
    the("head-actions").replaceChildren(...this.#actions(found).map(([entry, words]) => {
      const button = element("button", { type: "button", "aria-pressed": String(this.#now.under.includes(entry)) }, words);
      button.addEventListener("click", () => {
        the("head-dialog").close();
        this.#toggle(found, entry);
      });
      return button;
    }));
    the("head-dialog").showModal();
  }

  /** Shows what can be changed, and what the present changes do. */
  show() {
    const parts = this.#parts();
    const shape = JSON.stringify(parts);
    if (shape !== this.#shape) {
      this.#shape = shape;
      the("parts").replaceChildren(...parts.map((part) => {
        const buttons = this.#actions(part).map(([entry, does]) => {
          const button = element("button", { type: "button", "data-entry": entry, "aria-label": `${part.words}: ${does}` }, does);
          button.addEventListener("click", () => this.#toggle(part, entry));
          return button;
        });
        return element("div", { class: "part", role: "group", "aria-label": part.words }, element("span", {}, part.words), element("div", { class: "row" }, ...buttons));
      }));
      if (parts.length === 0) the("parts").replaceChildren(element("p", { class: "hint" }, "Train a model first: its heads can then be silenced, or made to look where you want."));
    }
    for (const button of the("parts").querySelectorAll("[data-entry]")) {
      button.setAttribute("aria-pressed", String(this.#now.under.includes(button.dataset.entry)));
    }
    const { run } = this.#now;
    the("change-rate").disabled = !run;
    the("change-prior").disabled = !run?.recipe.values["task.prior"];
    the("now").hidden = this.#now.under.length === 0;
    the("under-text").textContent = this.#inWords(this.#now.under);
    if (this.#now.under.length > 0) this.#measure();
  }

  async #measure() {
    const asked = ++this.#asked;
    // While one scrubs, only where one stays is worth measuring.
    await new Promise((resolve) => setTimeout(resolve, 120));
    if (asked !== this.#asked || !this.#now.moment) return;
    try {
      const { answer } = await this.#runs.view.ask({ do: "effect", ...this.#now.moment });
      if (asked !== this.#asked) return;
      const { without, with: broken, difference, sequences } = answer;
      const change = Math.abs(difference.mean).toFixed(4);
      const sign = Number(change) === 0 ? "±" : difference.mean < 0 ? "−" : "+";
      the("effect").textContent = `Loss ${without.mean.toFixed(4)} → ${broken.mean.toFixed(4)} nats `
        + `(${sign}${change}, standard error ${difference.se.toFixed(4)}, on ${sequences} fresh sequences).`;
      the("train-with").disabled = false;
    } catch (error) {
      if (error instanceof Problem) {
        the("effect").textContent = error.message;
        the("train-with").disabled = true;
      } else if (!(error instanceof Died)) throw error;
    }
  }
}

/** A part in words: "layer 1", "layer 2, head 3", "layer 1's MLP". */
function inWords({ layer, name, index, pattern, written }, several) {
  const place = `layer ${layer + 1}`;
  if (!written) return place;
  if (pattern) return several ? `${place}, head ${index + 1}` : `${place}'s head`;
  const block = named(name).replace(/^[A-Z][a-z]/, (start) => start.toLowerCase());
  return `${place}'s ${block}${index ? ` ${index + 1}` : ""}`;
}
