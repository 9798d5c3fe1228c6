// The address is the state: a link restores what is seen, and what is seen is always in the address.

import { notice } from "lab/learning";
import { the } from "lab/page";
import { read, written } from "lab/state";

export class Link {
  #now;
  #runs;
  #recipe;
  #form;
  /** The version that results belong to. */
  #numerics;
  #writing = null;

  constructor({ now, runs, recipe, form, numerics }) {
    this.#now = now;
    this.#runs = runs;
    this.#recipe = recipe;
    this.#form = form;
    this.#numerics = numerics;
  }

  /** Keeps the address up to date from now on. */
  follow() {
    this.#now.addEventListener("change", () => this.#remember());
    this.#recipe.addEventListener("change", () => this.#remember());
    the("seeds").addEventListener("change", () => this.#remember());
    addEventListener("hashchange", () => this.restore(location.hash));
    this.#remember();
  }

  #remember() {
    // Browsers limit how often an address may change.
    this.#writing ??= setTimeout(() => this.write(), 400);
  }

  /** Writes what is seen into the address. */
  write() {
    clearTimeout(this.#writing);
    this.#writing = null;
    const { run, step, tokens, under } = this.#now;
    const trained = run && run.status !== "opened";
    const hash = written({
      // What is seen is a run; the form may show what the next one will be.
      source: trained ? run.group.runs[0].recipe.source : this.#recipe.source,
      seeds: trained ? run.group.runs.length : this.#form.seeds,
      step: run ? step : null,
      tokens: tokens.length > 0 ? tokens : null,
      under,
      open: run?.status === "opened" ? run.group.label : null,
      numerics: this.#numerics,
    });
    if (hash !== location.hash) history.replaceState(null, "", hash);
  }

  /** Restores what a link says, training again what it looks at. */
  async restore(hash) {
    const { state, remark } = read(hash);
    const remarks = remark ? [remark] : [];
    if (state.numerics !== null && state.numerics !== this.#numerics) {
      remarks.push(`This link was made with results version ${state.numerics}; this page computes version ${this.#numerics}, so curves may differ.`);
    }
    this.#form.seeds = state.seeds;
    const problem = await this.#form.use(state.source);
    if (problem) {
      remarks.push(`The recipe of this link cannot be trained here: ${problem.message}. This is the main preset instead.`);
      await this.#form.use({ base: "main", text: null, sets: [] });
    }
    if (remarks.length > 0) notice(remarks.join(" "));
    if (problem || state.step === null) return;
    if (state.tokens) this.#now.say(state.tokens);
    if (state.open !== null) this.#reopen(state);
    else if (this.#form.fits) await this.#repeat(state);
    else notice("The run of this link takes long, so it was not started: see below the button, and press Train if you want it here.");
  }

  /** Trains what a link looks at, and goes to its step as soon as it is there. */
  async #repeat({ seeds, step, under }) {
    await this.#form.onTrain(seeds);
    this.#now.change(under);
    const { run } = this.#now;
    const arrive = () => {
      const elsewhere = this.#now.run !== run || !this.#now.follows;
      const isThere = run.ended || run.snapshots.at(-1) >= step;
      if (!elsewhere && !isThere) return;
      this.#runs.removeEventListener("records", arrive);
      if (elsewhere) return;
      this.#now.goTo(step);
      // The run goes on; the link stays.
      this.#now.follows = false;
    };
    this.#runs.addEventListener("records", arrive);
  }

  /** Looks again at a run from elsewhere, if the page carries it. */
  #reopen({ open, step, under }) {
    const group = this.#runs.groups.find((group) => group.label === open && group.runs[0].status === "opened");
    if (!group) return notice(`This link looks at the run ${open}, which is not in this page: open its folder (below) to look at it.`);
    this.#now.look(group.runs[0]);
    this.#now.goTo(step);
    this.#now.change(under);
  }
}
