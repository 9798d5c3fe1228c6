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
    clearTimeout(this.#writing);
    this.#writing = setTimeout(() => {
      const { run, step, tokens, under } = this.#now;
      const hash = written({
        source: this.#recipe.source,
        seeds: this.#form.seeds,
        step: run ? step : null,
        tokens: tokens.length > 0 ? tokens : null,
        under,
        open: run?.status === "opened" ? run.group.label : null,
        numerics: this.#numerics,
      });
      if (hash !== location.hash) history.replaceState(null, "", hash);
    }, 150);
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
    const arrive = () => {
      const { run } = this.#now;
      if (!run || (run.snapshots.at(-1) < step && !run.ended)) return;
      this.#runs.removeEventListener("records", arrive);
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
