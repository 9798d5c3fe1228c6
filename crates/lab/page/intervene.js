// Break it: what can be changed in the model at a moment, what that does, and what training makes of it.

import { Died, Problem } from "lab/engine";
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

  /** The changes that can be made at a place. */
  #actions(place, withAblation) {
    const ablate = withAblation ? [[`kind="ablate", at="${place}"`, "silence it"]] : [];
    const clamps = place.includes("mlp") ? [] : CLAMPS.map(([pattern, words]) => [`kind="clamp", at="${place}", pattern="${pattern}"`, words]);
    return [...ablate, ...clamps];
  }

  #places() {
    const told = this.#now.run?.recipe;
    if (!told) return [];
    const several = told.heads.some((count) => count > 1);
    const heads = told.heads.flatMap((count, layer) => Array.from({ length: count }, (_, head) => told.minimal
      ? { place: `layers.${layer}`, words: `layer ${layer + 1}`, ablate: false }
      : { place: `layers.${layer}.heads.${head}`, words: several ? `layer ${layer + 1}, head ${head + 1}` : `layer ${layer + 1}'s head`, ablate: true }));
    const mlps = told.mlp ? told.heads.map((_, layer) => ({ place: `layers.${layer}.mlp_out`, words: `layer ${layer + 1}'s MLP`, ablate: true })) : [];
    return [...heads, ...mlps].slice(0, 32);
  }

  #inWords(entries) {
    const several = this.#now.run?.recipe.heads.some((count) => count > 1) ?? false;
    return entries.map((entry) => inWords(entry, several)).join(", ");
  }

  #toggle(place, entry) {
    say(the("intervene-problem"), null);
    const { under } = this.#now;
    const others = under.filter((other) => !other.includes(`"${place}"`));
    this.#now.change(under.includes(entry) ? others : [...others, entry]);
  }

  /** Asks what to do with a head that was clicked. */
  offer(layer, head) {
    const found = this.#places().find(({ place }) => place === `layers.${layer}.heads.${head}` || place === `layers.${layer}`);
    if (!found) return;
    the("head-title").textContent = found.words;
    the("head-actions").replaceChildren(...this.#actions(found.place, found.ablate).map(([entry, words]) => {
      const button = element("button", { type: "button", "aria-pressed": String(this.#now.under.includes(entry)) }, words);
      button.addEventListener("click", () => {
        the("head-dialog").close();
        this.#toggle(found.place, entry);
      });
      return button;
    }));
    the("head-dialog").showModal();
  }

  /** Shows what can be changed, and what the present changes do. */
  show() {
    const places = this.#places();
    const shape = JSON.stringify(places);
    if (shape !== this.#shape) {
      this.#shape = shape;
      the("parts").replaceChildren(...places.map(({ place, words, ablate }) => {
        const buttons = this.#actions(place, ablate).map(([entry, does]) => {
          const button = element("button", { type: "button", "data-entry": entry, "aria-label": `${words}: ${does}` }, does);
          button.addEventListener("click", () => this.#toggle(place, entry));
          return button;
        });
        return element("div", { class: "part", role: "group", "aria-label": words }, element("span", {}, words), element("div", { class: "row" }, ...buttons));
      }));
      if (places.length === 0) the("parts").replaceChildren(element("p", { class: "hint" }, "Train a model first: its heads can then be silenced, or made to look where you want."));
    }
    for (const button of the("parts").querySelectorAll("[data-entry]")) {
      button.setAttribute("aria-pressed", String(this.#now.under.includes(button.dataset.entry)));
    }
    const can = this.#now.run !== null;
    for (const id of ["change-rate", "change-prior"]) the(id).disabled = !can;
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

/** An entry in words: "layer 1 silenced", "layer 2, head 3 made to look at the previous symbol". */
function inWords(entry, several) {
  const value = (key) => entry.match(new RegExp(`${key}="([^"]*)"`))?.[1] ?? "";
  const [, layer, part, head] = value("at").match(/^layers\.(\d+)(\.heads\.(\d+)|\.mlp_out)?$/) ?? [];
  if (layer === undefined) return entry;
  const place = `layer ${Number(layer) + 1}` + (part === ".mlp_out" ? "'s MLP" : several && head !== undefined ? `, head ${Number(head) + 1}` : "");
  const does = CLAMPS.find(([pattern]) => pattern === value("pattern"))?.[1] ?? value("pattern");
  return value("kind") === "ablate" ? `${place} silenced` : `${place} made to ${does}`;
}
