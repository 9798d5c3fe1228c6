// The model at the chosen moment: attention, patterns, positions, weights.

import { Picture } from "lab/pictures";
import { element, the } from "lab/page";

export class Model {
  #now;
  #runs;
  #pictures;
  #maps = [];
  #shape = "";
  /** Called with the layer and the number of a head that was clicked. */
  onHead = (_layer, _head) => {};

  /** @param {import("lab/now").Now} now @param {import("lab/runs").Runs} runs */
  constructor(now, runs) {
    this.#now = now;
    this.#runs = runs;
    const at = () => now.moment;
    const room = () => Math.max(8, Math.min(SHOWN, Math.floor(the("arcs").clientWidth / CELL)));
    const seen = () => at() && now.tokens.length > 0 && { ...at(), tokens: now.tokens };
    this.#pictures = [
      new Picture(the("arcs"), runs, () => seen() && !now.run.recipe.minimal && { of: "arcs", ...seen(), tokens: now.tokens.slice(-room()) }, { name: "attention" }),
      new Picture(the("profile"), runs, () => at() && { of: "profile", ...at() }),
      new Picture(the("weights"), runs, () => at() && { of: "weights", ...at() }),
    ];
    the("show-scores").addEventListener("change", () => this.#maps.forEach((map) => map.redraw()));
    now.addEventListener("change", () => this.show());
  }

  /** Draws everything anew. */
  show() {
    this.#layOut();
    for (const picture of [...this.#pictures, ...this.#maps]) picture.redraw();
  }

  /** A map per head, as many as the model has. */
  #layOut() {
    const told = this.#now.run?.recipe;
    const heads = (told?.parts ?? []).filter(({ pattern }) => pattern);
    const shape = JSON.stringify(heads);
    if (shape !== this.#shape) {
      this.#shape = shape;
      const several = heads.some(({ index }) => index > 0);
      this.#maps = heads.slice(0, MAPS).map((head) => this.#map(head, several));
      the("maps").replaceChildren(...this.#maps.map((map) => map.figure.closest(".map")));
    }
    for (const map of this.#maps) {
      const name = map.figure.closest(".map").querySelector(".name");
      const changed = this.#now.under.some((entry) => entry.includes(`"${map.place}"`) || entry.includes(`"${map.place.replace(/\.heads.*/, "")}"`));
      name.classList.toggle("changed", changed);
      name.textContent = map.label + (changed ? " (modified)" : "");
    }
  }

  #map({ layer, index: head, at }, several) {
    const label = several ? `layer ${layer + 1}, head ${head + 1}` : `layer ${layer + 1}`;
    const figure = element("span", { class: "figure" });
    const button = element("button", { type: "button", class: "map" }, element("span", { class: "name" }, label), element("span", { class: "unseen" }, ": change it"), figure);
    button.addEventListener("click", () => this.onHead(layer, head));
    const subject = () => {
      const now = this.#now;
      if (!now.moment || now.tokens.length === 0) return null;
      return { of: "map", ...now.moment, tokens: now.tokens, layer, head, scores: the("show-scores").checked };
    };
    const picture = new Picture(figure, this.#runs, subject, { files: false });
    return Object.assign(picture, { label, place: at });
  }
}

/** The most symbols over which arcs can be told apart. */
const SHOWN = 48;
/** The least width of a symbol below arcs, in pixels. */
const CELL = 14;
/** The most heads that have a map. */
const MAPS = 24;
