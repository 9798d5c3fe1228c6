// The page: what is looked at, and everything that looks at it.

import { Problem } from "lab/engine";
import { Form } from "lab/form";
import { Intervene, inWords } from "lab/intervene";
import { Model } from "lab/model";
import { element, say, the, whole } from "lab/page";
import { Picture } from "lab/pictures";
import { Recipe } from "lab/recipe";
import { Runs } from "lab/runs";
import { Scrubber } from "lab/scrubber";
import { read, written } from "lab/state";
import { Take } from "lab/take";
import { Talk } from "lab/talk";
import { Tour } from "lab/tour";

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
    this.run = run;
    this.follows = run !== null && !run.ended;
    this.step = run?.snapshots.at(-1) ?? 0;
    this.#tell();
  }

  goTo(step) {
    this.step = step;
    this.follows = this.run !== null && !this.run.ended && step === this.run.snapshots.at(-1);
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

const now = new Now();
const runs = new Runs();
// The view may be replaced, should its worker die.
const recipe = new Recipe({ ask: (...request) => runs.view.ask(...request) });
const form = new Form(recipe);
const scrubber = new Scrubber(now);
const model = new Model(now, runs);
const talk = new Talk(now, runs);
const intervene = new Intervene(now, runs);
const take = new Take(now, runs);
/** The version that results belong to. */
let numerics = null;

// ---- Pictures over training

the("curves").dataset.empty = "Press Train. In a few seconds, the loss falls from plateau to plateau.";
const shown = () => runs.groups.filter((group) => group.pinned || group === runs.current).filter((group) => group.runs.some((run) => run.snapshots.length > 0));
const goal = (run) => ["", "uni", "bi", "tri"][Number(run.recipe.values["task.ngram"])] ?? `${run.recipe.values["task.ngram"]}-`;
const curves = new Picture(the("curves"), runs, () => {
  const groups = shown();
  if (groups.length === 0) return null;
  // Groups overlaid have a panel per column: the loss, and the distance to the task's own strategy.
  const measures = groups.length > 1 ? ["kl_truth", `kl_${goal(groups[0].runs[0])}gram`] : [];
  return {
    of: "curves",
    groups: groups.map(({ label, runs }) => ({ label, runs: runs.filter((run) => run.snapshots.length > 0).map((run) => run.id) })),
    measures,
    live: true,
  };
});
const heads = new Picture(the("heads"), runs, () => {
  if (!now.moment) return null;
  const measures = now.run.recipe.minimal ? ["matching_gap", "odd_even"] : ["previous_token", "induction"];
  return { of: "curves", groups: [{ label: now.run.group.label, runs: [now.run.id] }], measures, live: true };
});
const chains = new Picture(the("chains"), runs, () => recipe.told && { of: "chains", recipe: recipe.told.toml });
scrubber.follow(curves);
scrubber.follow(heads);

// ---- Status

const strategies = (phases) => phases.map(({ strategy, onset }) => [
  element("span", { class: `phase ${strategy}` }, strategy), ` from step ${whole(onset)}`,
]);

function status() {
  const group = runs.current;
  const active = group?.runs.filter((run) => !run.ended) ?? [];
  the("pause").hidden = the("stop").hidden = active.length === 0;
  the("pause").textContent = runs.paused ? "Go on" : "Pause";
  const run = now.run;
  if (!run) return (the("status").textContent = "Ready.");
  const steps = Number(run.recipe.values["train.steps"]);
  const words = {
    waiting: "Waiting for a free core.",
    training: run.snapshots.length === 0 ? "Drawing test sets…" : `Step ${whole(run.step)} of ${whole(steps)}, ${whole(run.speed ?? 0)} steps per second.`,
    paused: `Paused at step ${whole(run.step)}.`,
    stopped: `Stopped at step ${whole(run.step)}.`,
    complete: `${whole(steps)} steps in ${run.seconds.toFixed(1)} s.`,
    event: run.remark ?? "",
    diverged: `Diverged at step ${whole(run.step)}.`,
    failed: run.remark ?? "It failed.",
    opened: `${run.group.label}: ${whole(run.step)} steps, trained elsewhere.`,
  }[run.status];
  const others = group && group.runs.length > 1 ? ` ${group.runs.filter((run) => run.ended).length} of ${group.runs.length} seeds are done.` : "";
  the("status").textContent = words + others;
  const story = strategies(run.course.phases).flatMap((phase, index) => (index > 0 ? [" → ", ...phase] : phase));
  the("story").replaceChildren(...story);
  announce(run, words);
}

/** Tells those who listen what has happened: a new phase, or the end. Not every step. */
function announce(run, words) {
  const phases = run.course.phases.map(({ strategy, onset }) => `${strategy} from step ${onset}`).join(", ");
  const text = run.ended ? `${words} ${phases}` : phases;
  if (the("announced").textContent !== text) the("announced").textContent = text;
}

function list() {
  the("runs").replaceChildren(...shown().map((group) => {
    const look = element("button", { type: "button", title: `Look at ${group.label}` }, group.label + (group.runs.length > 1 ? ` (${group.runs.length} seeds)` : ""));
    look.addEventListener("click", () => {
      const next = (group.runs.indexOf(now.run) + 1) % group.runs.length;
      now.look(group.runs[next]);
      list();
    });
    const pin = element("button", { type: "button", "aria-pressed": String(group.pinned), "aria-label": `Keep ${group.label} when the next run is trained` }, group.pinned ? "pinned" : "pin");
    pin.addEventListener("click", () => {
      group.pinned = !group.pinned;
      list();
    });
    const drop = element("button", { type: "button", "aria-label": `Remove ${group.label}` }, "×");
    drop.addEventListener("click", () => runs.remove(group));
    return element("li", { "aria-current": String(now.run?.group === group) }, look, pin, drop);
  }));
}

/** Says something that went wrong, above the curves; nothing else on the page changes. */
function notice(sentence) {
  const paragraph = element("p", {}, sentence);
  const close = element("button", { type: "button", class: "quiet" }, "Close");
  close.addEventListener("click", () => (the("notice").hidden = true));
  the("notice").replaceChildren(paragraph, close);
  the("notice").hidden = false;
}

// ---- What happens when

/** A few sequences of the task, in colours. */
async function samples() {
  const { toml } = recipe.told;
  const drawn = await Promise.all([0, 1, 2, 3, 4].map((number) => runs.view.ask({ do: "sequence", recipe: toml, number }))).catch(() => []);
  if (toml !== recipe.told.toml) return;
  the("samples").replaceChildren(...drawn.map(({ answer }) => element("div", {}, ...answer.slice(0, 32).map((symbol) => element("i", { class: `s${symbol % 6}` })))));
}
form.onTask = () => {
  chains.redraw();
  samples();
  remember();
};
form.onTrain = async (seeds) => {
  const recipes = await Promise.all(Array.from({ length: seeds }, (_, seed) => recipe.withSeed(seed)));
  const { source } = recipe;
  const differs = source.sets.filter((set) => set.length < 40 && !set.startsWith("name="));
  const label = [source.text ? recipe.value("name") : source.base, ...differs].join(", ");
  now.change([]);
  const group = runs.train(label, recipes);
  now.look(group.runs[0]);
};
the("pause").addEventListener("click", () => runs.pause(!runs.paused));
the("stop").addEventListener("click", () => runs.stop());
model.onHead = (layer, head) => intervene.offer(layer, head);
intervene.onBranch = async (label, change) => {
  const parent = now.run;
  if (!parent) return;
  const { step } = now;
  try {
    const { answer: toml } = await runs.view.ask({ do: "change", recipe: parent.recipe.toml, step, change });
    const { answer: told } = await runs.view.ask({ do: "recipe", source: { base: recipe.source.base, text: toml } });
    now.change([]);
    const group = runs.branch(`${label} from step ${whole(step)}`, parent, told, step);
    now.look(group.runs[0]);
    // What is trained is what the form shows, and what a link repeats.
    await form.use(told.source);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(the("intervene-problem"), error.message);
  }
};
take.onProblem = notice;
take.onOpen = (group) => {
  now.look(group.runs[0]);
  fitting();
};
runs.addEventListener("problem", ({ detail }) => notice(detail));
runs.addEventListener("rate", ({ detail }) => form.learned(detail));
runs.addEventListener("status", status);
runs.addEventListener("groups", () => {
  if (now.run && !runs.groups.some((group) => group.runs.includes(now.run))) now.look(runs.current?.runs[0] ?? null);
  list();
  curves.redraw();
  heads.redraw();
  status();
});
let listed = 0;
runs.addEventListener("records", ({ detail: run }) => {
  curves.redraw();
  if (run === now.run) {
    fitting();
    now.grow();
    heads.redraw();
  }
  if (shown().length !== listed) {
    listed = shown().length;
    list();
  }
  status();
});
let looked = null;
now.addEventListener("change", () => {
  if (looked !== now.run) list();
  looked = now.run;
  status();
  heads.redraw();
  remember();
});

/** Whether a sequence does not fit the run that is looked at. */
const wrong = (tokens) => {
  const values = now.run?.recipe.values;
  return values && (tokens.some((symbol) => symbol >= Number(values["task.states"])) || tokens.length > Number(values["task.length"]));
};

/** Takes a sequence that the model can read, unless there is one. */
function fitting() {
  if (now.tokens.length === 0 || wrong(now.tokens)) talk.another(0);
}

// ---- The address is the state

let remembering = null;
let ready = false;
function remember() {
  if (!ready) return;
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const hash = written({
      source: recipe.source, seeds: form.seeds, step: now.run ? now.step : null,
      tokens: now.tokens.length > 0 ? now.tokens : null, under: now.under,
      open: now.run?.status === "opened" ? now.run.group.label : null, numerics,
    });
    if (hash !== location.hash) history.replaceState(null, "", hash);
  }, 150);
}
the("seeds").addEventListener("change", remember);

/** Restores what a link says, training again what it looks at. */
async function restore(hash) {
  const { state, remark } = read(hash);
  const remarks = remark ? [remark] : [];
  if (state.numerics !== null && state.numerics !== numerics) {
    remarks.push(`This link was made with results version ${state.numerics}; this page computes version ${numerics}, so curves may differ.`);
  }
  form.seeds = state.seeds;
  let problem = await recipe.use(state.source);
  if (problem) {
    remarks.push(`The recipe of this link cannot be trained here: ${problem.message}. This is the main preset instead.`);
    await form.use({ base: "main", text: null, sets: [] });
  }
  the("train").disabled = false;
  if (remarks.length > 0) notice(remarks.join(" "));
  if (problem || state.step === null) return;
  if (state.tokens) now.say(state.tokens);
  if (state.open !== null) return reopen(state);
  await form.onTrain(state.seeds);
  now.change(state.under);
  // The step is there as soon as it is trained.
  const arrive = () => {
    if (!now.run) return;
    if (now.run.snapshots.at(-1) >= state.step || now.run.ended) {
      runs.removeEventListener("records", arrive);
      now.goTo(state.step);
      // The run goes on; the link stays.
      now.follows = false;
    }
  };
  runs.addEventListener("records", arrive);
}
/** Looks again at a run from elsewhere, if the page carries it. */
function reopen({ open, step, under }) {
  const group = runs.groups.find((group) => group.label === open && group.runs[0].status === "opened");
  if (!group) return notice(`This link looks at the run ${open}, which is not in this page: open its folder (below) to look at it.`);
  now.look(group.runs[0]);
  now.goTo(step);
  now.change(under);
}
addEventListener("hashchange", () => restore(location.hash));
// In a page without a server, a link to a part of it would be taken for its state.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  the("learning").focus();
});

// ---- The tour

const until = (condition) => new Promise((resolve) => {
  const look = () => (condition() ? resolve() : setTimeout(look, 50));
  look();
});
const trained = async () => {
  if (now.run?.status !== "complete") {
    if (!now.run || now.run.ended) {
      await form.use({ base: "main", text: null, sets: [] });
      await form.onTrain(1);
    }
    await until(() => now.run?.ended);
  }
};
const tour = new Tour([
  {
    at: "experiment", title: "The task",
    text: "Every sequence comes from a Markov chain of its own: the page shows a few. A model can predict well only if it finds out, within the sequence, which chain it sees.",
    does: () => {
      document.querySelector("#form details").open = true;
    },
  },
  {
    at: "learning", title: "The plateau",
    text: "The model is training now, here in your browser. It soon counts symbols (the unigram strategy), and then seems to learn nothing for a long time.",
    does: async () => {
      await trained();
      const { transition } = now.run.course;
      now.goTo(nearest(now.run, (transition ?? now.run.step) / 2));
    },
  },
  {
    at: "learning", title: "The drop",
    text: "Then, within a few hundred steps, the loss falls to the bigram strategy: an induction head has formed. Drag the scrubber, or use the arrow keys, to look at any moment.",
    does: async () => {
      await trained();
      now.goTo(nearest(now.run, now.run.course.transition ?? now.run.step));
    },
  },
  {
    at: "inside", title: "Two layers",
    text: "Layer 1 looks back by one symbol (arcs above). Layer 2 looks at the symbols that followed the current one (arcs below), and copies them. Change the sequence and see.",
    does: async () => {
      await trained();
      now.goTo(now.run.snapshots.at(-1));
    },
  },
  {
    at: "intervene", title: "Break it yourself",
    text: "Layer 1's head is silenced now: see the loss and the arcs. “Train on from here with this” shows whether training can do without it.",
    does: async () => {
      await trained();
      now.change(['kind="ablate", at="layers.0.heads.0"']);
    },
  },
]);
const nearest = (run, step) => run.snapshots.reduce((best, at) => (Math.abs(at - step) < Math.abs(best - step) ? at : best), 0);

// ---- The start

addEventListener("unhandledrejection", ({ reason }) => notice(`Something went wrong on this page: ${reason?.message ?? reason}`));

// On a phone, the way from the button to the curves is short.
if (matchMedia("(max-width: 900px)").matches) document.querySelector("#form details").open = false;

const { answer: catalogue } = await runs.view.ask({ do: "catalogue" });
numerics = catalogue.numerics;
form.offer(catalogue.settings);
const link = location.hash;
const carried = await take.carried();
await restore(link);
ready = true;
remember();
document.body.dataset.ready = "yes";
if (link.length < 2 && carried === 0) tour.greet();
export { inWords, now, runs };
