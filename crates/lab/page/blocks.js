// The list of a model's blocks: what they are, in which order, and their settings.

import { fieldOf, kindField, valueOf } from "lab/fields";
import { element } from "lab/page";

const PATH = "model.blocks";
const IN_BLOCK = /\[(\d+)\]\.(.+)$/;

/** A block: its settings as TOML by key, `kind` among them. @typedef {Record<string, string>} Block */

export class Blocks {
  #kinds;
  /** @type {Block[]} */
  #blocks = [];
  #shape = "";
  #focus = null;
  #list = element("ol", { class: "blocks" });
  #tools;
  element;
  /** Called with the blocks that are wanted; with null, the recipe is to say how many layers there are instead. */
  onChange = (_blocks) => {};

  /** @param {import("lab/fields").Kind[]} kinds */
  constructor(kinds) {
    this.#kinds = kinds;
    this.#tools = element("div", { class: "row" });
    this.element = element("div", { class: "wide", role: "group", "aria-label": "Blocks" }, this.#list, this.#tools);
  }

  /** Makes the fields of a model's blocks, if its recipe lists them. */
  show(blocks, isListed) {
    this.#blocks = blocks;
    const shape = JSON.stringify([isListed, blocks.map(({ kind }) => kind)]);
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.#focus ??= this.element.querySelector(":focus")?.dataset.place;
      this.#list.replaceChildren(...(isListed ? blocks.map((block, index) => this.#item(block, index)) : []));
      this.#tools.replaceChildren(...(isListed ? this.#listTools() : [this.#button("list", "List its blocks", () => this.#change(this.#blocks, "kind 0"))]));
    }
    if (this.#focus) (this.element.querySelector(`[data-place="${this.#focus}"]:not(:disabled)`) ?? this.#tools.querySelector("button")).focus();
    this.#focus = null;
  }

  /** The blocks with the value of a field of one of them. Another kind has other settings. */
  with(field) {
    const [, index, key] = field.dataset.key.match(IN_BLOCK);
    const { [key]: _, ...others } = key === "kind" ? {} : this.#blocks[index];
    const value = valueOf(field);
    return this.#blocks.with(Number(index), value === "" ? others : { ...others, [key]: value });
  }

  /** Asks for other blocks, and to go on at a place of the list. */
  #change(blocks, focus) {
    this.#focus = focus;
    return this.onChange(blocks);
  }

  #button(place, label, deed, words = label) {
    const button = element("button", { type: "button", class: "quiet", "data-place": place, "aria-label": words }, label);
    button.addEventListener("click", deed);
    return button;
  }

  #item({ kind }, index) {
    const name = `Block ${index + 1}`;
    const field = kindField(this.#kinds, `${PATH}[${index}].kind`, name);
    field.querySelector("select").dataset.place = `kind ${index}`;
    const settings = this.#kinds.find((own) => JSON.stringify(own.kind) === kind)?.settings ?? [];
    const move = (way, to) => {
      const button = this.#button(`${way} ${index}`, way === "up" ? "↑" : "↓", () => {
        const moved = this.#blocks.with(index, this.#blocks[to]).with(to, this.#blocks[index]);
        this.#change(moved, `${way} ${to}`);
      }, `${name}: move ${way}`);
      button.disabled = to < 0 || to >= this.#blocks.length;
      return button;
    };
    const remove = this.#button(`remove ${index}`, "×", () => this.#change(this.#blocks.toSpliced(index, 1), `remove ${Math.max(0, index - 1)}`), `${name}: remove`);
    remove.disabled = this.#blocks.length === 1;
    const fields = settings.map((setting) => fieldOf(setting, `${PATH}[${index}].${setting.key}`));
    return element("li", {}, element("div", { role: "group", "aria-label": name },
      element("div", { class: "row" }, field, move("up", index - 1), move("down", index + 1), remove),
      element("div", { class: "fields" }, ...fields)));
  }

  #listTools() {
    const last = this.#blocks.length;
    const add = () => this.#change([...this.#blocks, { kind: this.#blocks.at(-1)?.kind ?? JSON.stringify(this.#kinds[0].kind) }], `kind ${last}`);
    return [
      this.#button("add", "Add a block", add),
      this.#button("short", "Back to layers and heads", () => this.#change(null, "list")),
    ];
  }
}
