// The experiment: presets, fields, the recipe as text. What the engine refuses stands beside its field.

import { Blocks } from "lab/blocks";
import { fieldOf, kindField, showValue, valueOf } from "lab/fields";
import { copy, duration, element, memory, say, the, whole } from "lab/page";

/** What else a kind needs, where it has no default. */
const KINDS = {
  "task.prior.kind": {
    dirichlet: 'task.prior={kind="dirichlet", alpha=1.0}',
    iid: 'task.prior={kind="iid", alpha=1.0}',
    "doubly-stochastic": 'task.prior={kind="doubly-stochastic"}',
    interpolated: 'task.prior={kind="interpolated", p=0.5}',
    symmetric: 'task.prior={kind="symmetric", epsilon=0.4}',
    pool: 'task.prior={kind="pool", size=64, of={kind="dirichlet"}}',
  },
  "train.optimizer.kind": {
    adamw: 'train.optimizer={kind="adamw"}',
    sgd: 'train.optimizer={kind="sgd", lr=2e-3}',
  },
};

/** Multiplications per second, until a run has shown how many there are here. */
const RATE = 4e9;
/** What a tab can take: above it, only the command line is offered. */
const MOST_BYTES = 1.5e9;
/** Longer than this is asked about. */
const LONG = 600;

export class Form {
  #recipe;
  /** @type {Blocks | null} */
  #blocks = null;
  /** The kinds that the engine describes, by the path of what has them. @type {Map<string, import("lab/fields").Kind[]>} */
  #kinds = new Map();
  /** The keys that a list of blocks stands in place of. */
  #replaced = [];
  #wrong = null;
  #insists = false;
  #pending = Promise.resolve();
  #tooLarge = false;
  #tooLong = false;
  #refused = false;
  /** Multiplications per second. */
  rate = RATE;
  /** Called with the number of seeds to train. */
  onTrain = (_seeds) => {};
  /** Called when the picture of chains is out of date. */
  onTask = () => {};

  constructor(recipe) {
    this.#recipe = recipe;
    recipe.addEventListener("change", () => this.#show());
    for (const kind of ["change", "input"]) {
      the("form").addEventListener(kind, (event) => {
        const target = /** @type {any} */ (event.target);
        if (target.dataset.key && (kind === "change" || target.type === "range")) this.#pending = this.#edited(target);
      });
    }
    the("preset").addEventListener("change", () => this.use({ base: the("preset").value, text: null, sets: [] }));
    for (const button of document.querySelectorAll("[data-preset]")) {
      button.addEventListener("click", async () => {
        this.seeds = Number(button.dataset.seeds ?? 1);
        if (!(await this.use({ base: button.dataset.preset, text: null, sets: [] }))) this.#train();
      });
    }
    the("use-recipe").addEventListener("click", () => this.use({ base: "", text: the("recipe-text").value, sets: [] }, the("recipe-text")));
    the("copy-recipe").addEventListener("click", (event) => copy(the("recipe-text").value, event.target));
    the("copy-command").addEventListener("click", (event) => copy(the("command").textContent, event.target));
    the("seeds").addEventListener("change", () => {
      // The field shows what is taken.
      this.seeds = this.seeds;
      if (this.#recipe.told) this.#price();
    });
    the("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      // A field that was left by pressing Enter is still being checked.
      await this.#pending;
      if (!the("train").disabled) this.#train();
    });
  }

  get #fields() {
    return [...document.querySelectorAll("#form [data-key]")];
  }

  /** Makes the fields of what the engine describes. */
  describe({ model, block, source, replaced }) {
    this.#replaced = replaced.map((key) => `model.${key}`);
    this.#blocks = new Blocks(block);
    this.#blocks.onChange = (blocks) => (this.#pending = this.#list(blocks).then((problem) => this.#complain(problem, null)));
    the("model-fields").append(...this.#kinded("model", model, "Kind"));
    the("source-fields").append(...this.#kinded("task.source", source, "Source"));
  }

  /** The fields of all kinds of something. Those of its own kind are shown. */
  #kinded(path, kinds, label) {
    this.#kinds.set(path, kinds);
    const field = (setting, kind) => {
      const key = `${path}.${setting.key}`;
      const made = key === "model.blocks" ? this.#blocks.element : fieldOf(setting, key);
      made.dataset.of = JSON.stringify([path, kind]);
      return made;
    };
    return [kindField(kinds, `${path}.kind`, label), ...kinds.flatMap(({ kind, settings }) => settings.map((setting) => field(setting, kind)))];
  }

  /** Shows the fields of the kinds that the recipe has. */
  #showKinds() {
    const isListed = this.#recipe.value("model.blocks") !== undefined;
    for (const [path, kinds] of this.#kinds) {
      const kind = this.#recipe.value(`${path}.kind`) ?? kinds[0].kind;
      for (const made of document.querySelectorAll("#form [data-of]")) {
        const [of, its] = JSON.parse(made.dataset.of);
        const isReplaced = isListed && this.#replaced.includes(made.querySelector("[data-key]")?.dataset.key);
        if (of === path) made.hidden = its !== kind || isReplaced;
      }
      showValue(document.querySelector(`[data-key="${path}.kind"]`), JSON.stringify(kind));
    }
    this.#blocks.show(this.#recipe.told.blocks, isListed);
  }

  /** Takes a list of blocks, or the short form in its place. */
  #list(blocks) {
    const inner = (block) => Object.entries(block).map(([key, value]) => `${key} = ${value}`).join(", ");
    return blocks === null
      ? this.#recipe.set(["model.blocks=[]"], this.#replaced)
      : this.#recipe.set([`model.blocks=[${blocks.map((block) => `{ ${inner(block)} }`).join(", ")}]`, ...this.#unset()]);
  }

  /** The defaults of what a list of blocks stands in place of, where the recipe has other values. */
  #unset() {
    const fields = this.#replaced.map((key) => document.querySelector(`[data-key="${key}"]`));
    return fields.flatMap(({ dataset: { key, default: byDefault } }) => ([undefined, byDefault].includes(this.#recipe.told.values[key]) ? [] : [`${key}=${byDefault}`]));
  }

  /** Fills in the presets. */
  offer(settings) {
    const groups = new Map();
    for (const { name, about, origin } of settings) {
      const label = origin === "recommended" ? "Recommended" : origin === "printed" ? "As printed in the paper" : "As released by its authors";
      if (!groups.has(label)) groups.set(label, element("optgroup", { label }));
      groups.get(label).append(element("option", { value: name, title: about }, name));
    }
    the("preset").replaceChildren(...groups.values());
    this.#about = new Map(settings.map(({ name, about }) => [name, about]));
  }
  #about = new Map();

  get seeds() {
    return Math.min(16, Math.max(1, Math.round(Number(the("seeds").value)) || 1));
  }

  set seeds(count) {
    the("seeds").value = String(count);
  }

  /** Takes a recipe; a problem is shown at `field`, or at the field that it names. */
  async use(source, field = null) {
    const problem = await this.#recipe.use(source);
    this.#complain(problem, field);
    return problem;
  }

  async #edited(field) {
    const key = field.dataset.key;
    if (key.startsWith("model.blocks[")) return this.#complain(await this.#list(this.#blocks.with(field)), field);
    const text = valueOf(field);
    const path = key.replace(/\.kind$/, "");
    if (path !== key) {
      const kind = KINDS[key]?.[field.value] ?? `${path}={kind=${text}}`;
      // Other sources than chains have no prior.
      return this.#complain(await this.#recipe.set([kind], path === "task.source" ? ["task.prior", "task.start"] : []), field);
    }
    const keys = [key, field.dataset.also].filter(Boolean);
    this.#complain(text === "" ? await this.#recipe.set([], keys) : await this.#recipe.set(keys.map((key) => `${key}=${text}`)), field);
  }

  /** Offers to train what can be trained. */
  #allow() {
    the("train").disabled = !this.#recipe.told || this.#refused || this.#tooLarge;
  }

  #complain(problem, field) {
    this.#wrong?.removeAttribute("aria-invalid");
    this.#wrong?.removeAttribute("aria-describedby");
    document.querySelectorAll("#form .field .problem").forEach((old) => old.remove());
    say(the("problem"), null);
    say(the("recipe-problem"), null);
    // A value that was refused before is not the recipe's.
    const before = this.#wrong;
    if (before?.dataset.key && before !== field) showValue(before, this.#recipe.told.values[before.dataset.key] ?? before.dataset.default ?? "");
    this.#refused = problem !== null;
    this.#allow();
    this.#wrong = null;
    if (!problem) return;
    const named = problem.field && (this.#fields.find((other) => other.dataset.key === problem.field)
      ?? this.#fields.find((other) => problem.field.startsWith(other.dataset.key) || other.dataset.key.startsWith(problem.field)));
    const at = field?.id === "recipe-text" ? field : field ?? named;
    const label = (named && named !== field ? named : at)?.closest(".field");
    if (at?.id === "recipe-text") return say(the("recipe-problem"), problem.message);
    if (!label) return say(the("problem"), problem.message);
    this.#wrong = label.querySelector("input, select");
    this.#wrong.setAttribute("aria-invalid", "true");
    this.#wrong.setAttribute("aria-describedby", "field-problem");
    label.append(element("span", { class: "problem", id: "field-problem", role: "alert" }, problem.message));
    const details = label.closest("details");
    if (details) details.open = true;
  }

  /** Fills the fields from the recipe. */
  #show() {
    const { told, source } = this.#recipe;
    const listed = [...the("preset").options].some((option) => option.value === source.base);
    if (!source.text && !listed) the("preset").append(element("option", { value: source.base }, source.base));
    the("preset").value = source.text ? "" : source.base;
    the("about").textContent = source.text
      ? "A recipe of your own."
      : (this.#about.get(source.base) ?? "") + (source.sets.length > 0 ? " (changed)" : "");
    this.#showKinds();
    for (const field of this.#fields) {
      const value = told.values[field.dataset.key] ?? field.dataset.default;
      const label = field.closest(".field");
      if (label.dataset.if !== undefined) label.hidden = value === undefined || (field.type === "range" && Number.isNaN(Number(value)));
      if (value === undefined) continue;
      if (field === document.activeElement && field.type !== "range" && field.getAttribute("aria-invalid") === "true") continue;
      showValue(field, value);
    }
    if (document.activeElement !== the("recipe-text")) the("recipe-text").value = told.toml;
    the("command").textContent = told.command;
    this.#insists = false;
    this.#price();
    this.onTask();
  }

  /** How long a run takes here, and whether it fits. */
  #price() {
    const { cost, parameters, command } = this.#recipe.told;
    const turns = Math.ceil(this.seeds / Math.max(1, navigator.hardwareConcurrency || 2));
    const seconds = (turns * cost.multiplications) / this.rate;
    const seeds = this.seeds > 1 ? `${this.seeds} seeds, ` : "";
    const about = `${seeds}${whole(parameters)} parameters, about ${duration(seconds)} here`;
    this.#tooLarge = cost.bytes > MOST_BYTES;
    this.#tooLong = seconds > LONG;
    this.#allow();
    the("train").textContent = this.#tooLong && this.#insists ? "Train here anyway" : "Train";
    the("cost").textContent = this.#tooLarge
      ? `Too large for a tab: it would take ${memory(cost.bytes)} of memory and about ${duration(seconds)}. Natively: ${command}`
      : this.#tooLong
        ? `${about} and ${memory(cost.bytes)}: natively it is many times faster. ${command}`
        : `${about}.`;
  }

  /** Whether the recipe can be trained here without asking. */
  get fits() {
    return !this.#tooLarge && !this.#tooLong;
  }

  /** Takes note of how fast the engine is here. */
  learned(rate) {
    this.rate = rate;
    if (this.#recipe.told) this.#price();
  }

  #train() {
    if (this.#tooLarge) return;
    if (this.#tooLong && !this.#insists) {
      this.#insists = true;
      return this.#price();
    }
    this.#insists = false;
    this.onTrain(this.seeds);
    this.#price();
  }
}
