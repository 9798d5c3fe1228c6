// What is looked at.

/**
 * What is looked at: a run, a step of it, a sequence, and what is changed in the model.
 * Events: `change`.
 */
export class Now extends EventTarget {
  /** @type {import("lab/runs").Run | null} */
  run = null;
  step = 0;
  /** Whether the step follows a run in training. */
  follows = true;
  /** @type {number[]} */
  tokens = [];
  /** @type {string[]} */
  under = [];
  #told = false;

  /** What the engine needs to know of it; null if there is nothing to look at. */
  get moment() {
    if (!this.run || this.run.snapshots.length === 0) return null;
    return { run: this.run.id, step: this.step, under: this.under };
  }

  look(run) {
    // What was changed in one model need not exist in another.
    const shape = (run) => run && JSON.stringify(run.recipe.parts);
    if (shape(run) !== shape(this.run)) this.under = [];
    this.run = run;
    this.follows = run !== null && !run.ended;
    this.step = run?.snapshots.at(-1) ?? 0;
    this.#tell();
  }

  /** Goes to the last step with weights that is not later. */
  goTo(step) {
    const steps = this.run?.snapshots ?? [];
    this.step = steps.findLast((at) => at <= step) ?? steps[0] ?? 0;
    this.follows = this.run !== null && !this.run.ended && this.step === steps.at(-1);
    this.#tell();
  }

  /** A run has more to show. */
  grow() {
    if (this.follows) this.step = this.run?.snapshots.at(-1) ?? 0;
    this.#tell();
  }

  say(tokens) {
    this.tokens = tokens;
    this.#tell();
  }

  change(under) {
    this.under = under;
    this.#tell();
  }

  /** Tells everyone, once per frame. */
  #tell() {
    if (this.#told) return;
    this.#told = true;
    requestAnimationFrame(() => {
      this.#told = false;
      this.dispatchEvent(new Event("change"));
    });
  }
}
