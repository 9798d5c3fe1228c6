// Runs: those in training, one worker each, and those that are looked at.

import { Died, Engine, Problem } from "lab/engine";

/** How long a slice of training should take, in milliseconds: short enough to follow, long enough not to matter. */
const SLICE = 40;

let lastId = 0;
let lastGroup = 0;

/**
 * Runs that differ only in their seeds.
 * @typedef {{id: number, label: string, runs: Run[], pinned: boolean}} Group
 */

/** A run: its recipe, and what is known of it. */
export class Run {
  id = ++lastId;
  step = 0;
  /** Steps with weights. @type {number[]} */
  snapshots = [];
  course = { phases: [], transition: null, loss: [], steps: [] };
  /** `waiting`, `training`, `paused`, `stopped`, `complete`, `event`, `diverged`, `failed`, `opened`. */
  status = "waiting";
  remark = null;
  seconds = 0;
  /** Steps per second of the last slice. */
  speed = 0;
  engine = null;
  /** The beginning that a branch shares with another run. @type {{label: string, until: number, at: number} | null} */
  shares = null;
  /** Everything that the view was told, to tell it again should it die. */
  told = [];

  constructor(recipe, group) {
    this.recipe = recipe;
    this.group = group;
  }

  get ended() {
    return !["waiting", "training", "paused"].includes(this.status);
  }
}

/**
 * All runs of the page.
 * Events: `records` (a run has more), `status` (one began, paused or ended), `groups` (some came or went),
 * `problem` (with `detail`, a sentence), `rate` (with `detail`, multiplications per second).
 */
export class Runs extends EventTarget {
  /** The engine that keeps all records and draws. While a new one is told everything, questions wait. */
  view = {
    ask: async (...question) => {
      await this.#revived;
      return this.#drawing.ask(...question);
    },
  };
  #drawing;
  #revived = Promise.resolve();
  /** @type {Group[]} */
  groups = [];
  /** @type {Group | null} */
  current = null;
  paused = false;
  #busy = 0;
  #queue = [];

  constructor() {
    super();
    this.#drawing = new Engine();
    this.#drawing.onDeath = (why) => this.#revive(why);
  }

  /** Gives a new view everything that the old one knew. */
  #revive(why) {
    const drawing = (this.#drawing = new Engine());
    const told = this.groups.flatMap((group) => group.runs).flatMap((run) => run.told);
    this.#revived = (async () => {
      try {
        for (const { request, attachments } of told) await drawing.ask(request, attachments.map((bytes) => bytes.slice(0)));
        drawing.onDeath = (why) => this.#revive(why);
        this.#problem(`The part of the page that draws has died (${why}). It was started again; nothing is lost.`);
      } catch (error) {
        this.#problem(`The part of the page that draws has died (${why}), and again (${error.message}): reload the page.`);
      }
    })();
    this.#revived.then(() => this.dispatchEvent(new Event("groups")));
  }

  #problem(sentence) {
    this.dispatchEvent(new CustomEvent("problem", { detail: sentence }));
  }

  /** Tells the view something about a run, and remembers it. */
  async #tell(run, request, attachments = []) {
    await this.#revived;
    run.told.push({ request, attachments: attachments.map((bytes) => bytes.slice(0)) });
    try {
      return (await this.#drawing.ask(request, attachments)).answer;
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      // The new view has been told this, too.
      const course = async () => (await this.view.ask({ do: "course", run: run.id })).answer;
      if (request.do === "fork") return { course: await course(), snapshots: run.snapshots };
      return request.do === "extend" ? course() : null;
    }
  }

  #add(label) {
    const group = { id: ++lastGroup, label, runs: [], pinned: false };
    const taken = (name) => this.groups.some((other) => other.pinned && other.label === name);
    for (let number = 2; taken(group.label); number++) group.label = `${label} (${number})`;
    for (const old of this.groups.filter((old) => !old.pinned)) this.remove(old);
    this.groups.push(group);
    this.current = group;
    return group;
  }

  /** Trains recipes that differ only in their seeds, each as the engine told it. */
  train(label, recipes) {
    this.paused = false;
    const group = this.#add(label);
    for (const told of recipes) group.runs.push(new Run(told, group));
    this.dispatchEvent(new Event("groups"));
    for (const run of group.runs) this.#enqueue(run, () => this.#begin(run));
    return group;
  }

  /** Trains another recipe that shares the beginning of a run, up to a step. */
  branch(label, parent, told, step) {
    this.paused = false;
    // What was there is drawn beside the branch.
    for (const shown of [parent.group, this.current]) if (shown) shown.pinned = true;
    for (const run of parent.group.runs) if (!run.ended) run.status = "stopped";
    this.dispatchEvent(new Event("resume"));
    const group = this.#add(label);
    const run = new Run(told, group);
    group.runs.push(run);
    this.dispatchEvent(new Event("groups"));
    this.#enqueue(run, async () => {
      if (!parent.engine || parent.recipe.toml === told.toml) return this.#begin(run);
      // The parent's worker goes on with the branch; the parent is done.
      run.engine = parent.engine;
      parent.engine = null;
      run.engine.onDeath = (why) => this.#died(run, why);
      const { answer } = await run.engine.ask({ do: "branch", recipe: told.toml, step });
      if (answer.from === 0) return this.#tell(run, { do: "add", run: run.id, recipe: told.toml, levels: answer.levels });
      const fork = await this.#tell(run, { do: "fork", run: run.id, of: parent.id, recipe: told.toml, step: answer.from });
      [run.course, run.snapshots] = [fork.course, fork.snapshots];
      run.step = answer.from;
      run.shares = { label: parent.group.label, until: answer.from, at: step };
      // A view that is told anew has to know the parent first.
      run.told.unshift(...parent.told.map((told) => ({ ...told })));
    });
    return group;
  }

  async #begin(run) {
    run.engine = new Engine();
    run.engine.onDeath = (why) => this.#died(run, why);
    const { answer } = await run.engine.ask({ do: "begin", recipe: run.recipe.toml });
    await this.#tell(run, { do: "add", run: run.id, recipe: run.recipe.toml, levels: answer.levels });
  }

  #died(run, why) {
    run.engine = null;
    if (run.ended) return;
    run.status = "failed";
    run.remark = `Its worker died: ${why}`;
    this.#problem(`A run ended at step ${run.step} because its worker died (${why}). What it recorded is still here; train again to repeat it.`);
    this.dispatchEvent(new Event("status"));
  }

  #enqueue(run, begin) {
    this.#queue.push({ run, begin });
    this.#work();
  }

  #work() {
    const most = Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2));
    while (this.#busy < most && this.#queue.length > 0) {
      const { run, begin } = this.#queue.shift();
      if (run.ended) continue;
      this.#busy++;
      this.#drive(run, begin).finally(() => {
        this.#busy--;
        this.#work();
      });
    }
  }

  async #drive(run, begin) {
    try {
      run.status = "training";
      await begin();
      this.dispatchEvent(new Event("status"));
      await this.#slices(run);
    } catch (error) {
      if (error instanceof Died) return;
      if (!(error instanceof Problem)) throw error;
      run.status = "failed";
      run.remark = error.message;
      this.#problem(error.message);
    }
    this.dispatchEvent(new Event("status"));
  }

  async #slices(run) {
    let [steps, first] = [1, true];
    while (!run.ended) {
      while (this.paused && !run.ended) {
        run.status = "paused";
        await new Promise((resolve) => this.addEventListener("resume", resolve, { once: true }));
        if (!run.ended) run.status = "training";
      }
      if (run.ended) return;
      const started = performance.now();
      const { answer, attachments } = await run.engine.ask({ do: "advance", steps });
      const took = performance.now() - started;
      run.seconds += took / 1000;
      const done = answer.step - run.step;
      // The first slice also measures the untrained model.
      if (!first && took > 5) steps = Math.max(1, Math.round(steps * Math.min(4, Math.max(0.25, SLICE / took))));
      else steps = Math.min(1000, steps * 4);
      first = false;
      run.step = answer.step;
      run.speed = done / (took / 1000);
      run.snapshots.push(...answer.snapshots);
      const told = this.#tell(run, { do: "extend", run: run.id, snapshots: answer.snapshots }, attachments).then((course) => {
        run.course = course;
        this.dispatchEvent(new CustomEvent("records", { detail: run }));
      });
      // The next slice is trained meanwhile, unless this was the last.
      if (answer.ended && !run.ended) {
        await told;
        await this.#end(run, answer.ended);
      } else told.catch((error) => this.#viewLost(error));
    }
  }

  #viewLost(error) {
    if (!(error instanceof Died)) this.#problem(error.message);
  }

  async #end(run, { how, sentence }) {
    run.status = how;
    run.remark = sentence;
    const { multiplications } = run.recipe.cost;
    const steps = Number(run.recipe.values["train.steps"]);
    // A branch has trained only a part of its steps.
    if (run.step === steps && !run.shares && run.seconds > 0.2) {
      this.dispatchEvent(new CustomEvent("rate", { detail: multiplications / run.seconds }));
    }
    const { answer } = await run.engine.ask({ do: "outcome", seconds: run.seconds });
    if (answer) await this.#tell(run, { do: "end", run: run.id, outcome: answer });
    if (how === "diverged") this.#problem(`This run diverged: ${sentence}. What it recorded is still here.`);
    this.dispatchEvent(new CustomEvent("records", { detail: run }));
  }

  /** The runs that are not over. */
  get active() {
    return this.groups.flatMap((group) => group.runs).filter((run) => !run.ended);
  }

  /** Waits with all runs, or goes on. */
  pause(wait) {
    this.paused = wait;
    if (!wait) this.dispatchEvent(new Event("resume"));
    this.dispatchEvent(new Event("status"));
  }

  /** Ends runs where they are: all of them, or those of a group. */
  stop(group = null) {
    for (const run of this.active) if (!group || run.group === group) run.status = "stopped";
    if (this.active.length === 0) this.paused = false;
    this.dispatchEvent(new Event("resume"));
    this.dispatchEvent(new Event("status"));
  }

  /** Takes a group away. */
  remove(group) {
    this.stop(group);
    for (const run of group.runs) {
      run.engine?.end();
      run.engine = null;
      this.view.ask({ do: "remove", run: run.id }).catch(() => {});
    }
    this.groups = this.groups.filter((other) => other !== group);
    if (this.current === group) this.current = this.groups.at(-1) ?? null;
    this.dispatchEvent(new Event("groups"));
  }

  /** Opens a run from its files. @param {{name: string, files: [string, ArrayBuffer][]}} bundle */
  async open({ name, files }) {
    const group = { id: ++lastGroup, label: name, runs: [], pinned: true };
    const run = new Run(null, group);
    const names = files.map(([name]) => name);
    const about = await this.#tell(run, { do: "open", run: run.id, name, files: names }, files.map(([, bytes]) => bytes));
    const { answer } = await this.view.ask({ do: "recipe", source: { text: about.recipe } });
    Object.assign(run, { recipe: answer, snapshots: about.snapshots, step: about.records.at(-1) ?? 0, status: "opened" });
    run.course = (await this.view.ask({ do: "course", run: run.id })).answer;
    group.runs.push(run);
    this.groups.push(group);
    this.current = group;
    this.dispatchEvent(new Event("groups"));
    return group;
  }
}
