// The experiment: presets, fields, the recipe as text. What the engine refuses stands beside its field.

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
  "model.kind": {
    transformer: 'model={kind="transformer"}',
    minimal: 'model={kind="minimal"}',
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
  #fields = [...document.querySelectorAll("#form [data-key]")];
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
    for (const field of this.#fields) {
      const edited = () => (this.#pending = this.#edited(field));
      field.addEventListener("change", edited);
      if (field.type === "range") field.addEventListener("input", edited);
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
    const text = this.#text(field);
    const kind = KINDS[key]?.[field.value];
    const entries = kind ? [kind] : [`${key}=${text}`];
    if (field.dataset.also) entries.push(`${field.dataset.also}=${text}`);
    // What belonged to the old kind goes with it.
    const problem = kind
      ? await this.#recipe.use({ ...this.#recipe.source, sets: [...this.#recipe.source.sets.filter((set) => !set.startsWith(key.replace(/\.kind$/, ""))), kind] })
      : await this.#recipe.set(entries);
    this.#complain(problem, field);
  }

  /** A field's value as TOML. */
  #text(field) {
    if (field.type === "checkbox") return String(field.checked);
    if (field.type === "range") {
      const value = field.hasAttribute("data-log") ? 10 ** Number(field.value) : Number(field.value);
      return decimal(Number(value.toPrecision(2)));
    }
    if (field.tagName === "SELECT") return JSON.stringify(field.value);
    const text = field.value.trim();
    if (field.dataset.key === "train.optimizer.lr" && /^\d+$/.test(text)) return `${text}.0`;
    return text === "" ? '""' : text;
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
    if (before?.dataset.key && before !== field) before.value = this.#recipe.value(before.dataset.key) ?? before.value;
    this.#refused = problem !== null;
    this.#allow();
    this.#wrong = null;
    if (!problem) return;
    const named = problem.field && this.#fields.find((other) => problem.field.startsWith(other.dataset.key) || other.dataset.key.startsWith(problem.field));
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
    for (const field of this.#fields) {
      const value = this.#recipe.value(field.dataset.key);
      const label = field.closest(".field");
      label.hidden = value === undefined && label.dataset.if !== undefined;
      if (value === undefined) continue;
      if (field === document.activeElement && field.type !== "range" && field.getAttribute("aria-invalid") === "true") continue;
      if (field.type === "checkbox") field.checked = value === "true";
      else if (field.type === "range") {
        const plain = Number(value);
        label.hidden ||= Number.isNaN(plain);
        if (field !== document.activeElement) field.value = String(field.hasAttribute("data-log") ? Math.log10(plain) : plain);
        label.querySelector("output").textContent = decimal(plain);
      } else if (field.tagName === "SELECT") {
        if (![...field.options].some((option) => option.value === value)) field.append(element("option", { value }, value));
        field.value = value;
      } else field.value = value;
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

/** A number as TOML writes it, with a point. */
function decimal(value) {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
