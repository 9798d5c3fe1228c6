// The recipe that the next run trains, as the engine understands it.

import { Problem } from "lab/engine";

/**
 * Holds a recipe. Every change goes through the engine, which checks it: what it refuses is not taken.
 * Events: `change`, after every change.
 */
export class Recipe extends EventTarget {
  #view;
  #asked = 0;
  source = { base: "main", text: null, sets: [] };
  /** What the engine says of it; null until it has answered. */
  told = null;

  constructor(view) {
    super();
    this.#view = view;
  }

  /**
   * Takes a recipe, if the engine does.
   * @returns {Promise<Problem | null>} what is wrong with it
   */
  async use(source) {
    const asked = ++this.#asked;
    try {
      const { answer } = await this.#view.ask({ do: "recipe", source });
      // A later change has been made meanwhile.
      if (asked !== this.#asked) return null;
      this.told = answer;
      this.source = answer.source;
      this.dispatchEvent(new Event("change"));
      return null;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  /** Sets keys, each with its value as TOML, and gives up what was set of them and of others. */
  set(entries, unset = []) {
    const keyOf = (entry) => entry.slice(0, entry.indexOf("="));
    const keys = [...entries.map(keyOf), ...unset];
    const others = this.source.sets.filter((set) => !keys.some((key) => keyOf(set) === key || set.startsWith(`${key}.`)));
    return this.use({ ...this.source, sets: [...others, ...entries] });
  }

  /** The value of a key as plain text; undefined if the recipe does not have it. */
  value(key) {
    const text = this.told?.values[key];
    return text?.startsWith('"') ? JSON.parse(text) : text;
  }

  /** The same recipe with another seed. */
  async withSeed(offset) {
    if (offset === 0) return this.told;
    const sets = ["init", "data"].map((seed) => `seeds.${seed}=${Number(this.value(`seeds.${seed}`)) + offset}`);
    const { answer } = await this.#view.ask({ do: "recipe", source: { base: "", text: this.told.toml, sets } });
    return answer;
  }
}
