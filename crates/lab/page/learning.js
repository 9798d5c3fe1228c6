// The curves of runs, what became of them, and which of them are shown.

import { element, the, whole } from "lab/page";
import { Picture } from "lab/pictures";

/** How a run stands, in a sentence. */
function inWords(run) {
  const steps = Number(run.recipe.values["train.steps"]);
  return {
    waiting: "Waiting for a free core.",
    training: run.snapshots.length === 0 ? "Sampling test sets…" : `Step ${whole(run.step)} of ${whole(steps)}, ${whole(run.speed ?? 0)} steps per second.`,
    paused: `Paused at step ${whole(run.step)}.`,
    stopped: `Stopped at step ${whole(run.step)}.`,
    complete: `${whole(steps)} steps in ${run.seconds.toFixed(1)} s.`,
    event: run.remark ?? "",
    diverged: `Diverged at step ${whole(run.step)}.`,
    failed: run.remark ?? "It failed.",
    opened: `${run.group.label}: ${whole(run.step)} steps, trained elsewhere.`,
  }[run.status];
}

/** Says something that went wrong, above the curves; nothing else on the page changes. */
export function notice(sentence) {
  const close = element("button", { type: "button", class: "quiet" }, "Close");
  close.addEventListener("click", () => (the("notice").hidden = true));
  the("notice").replaceChildren(element("p", {}, sentence), close);
  the("notice").hidden = false;
  the("notice").scrollIntoView({ block: "nearest" });
}

export class Learning {
  #now;
  #runs;
  #curves;
  #heads;
  #listed = "";

  /**
   * @param {import("lab/now").Now} now
   * @param {import("lab/runs").Runs} runs
   * @param {import("lab/scrubber").Scrubber} scrubber
   */
  constructor(now, runs, scrubber) {
    this.#now = now;
    this.#runs = runs;
    the("curves").dataset.empty = "Press Train, or a figure of the paper. With Fig. 1, the loss falls in steps within seconds: uniform, unigram, bigram.";
    this.#curves = new Picture(the("curves"), runs, () => this.#curvesOf(this.#shown()));
    this.#heads = new Picture(the("heads"), runs, () => this.#headsOf(now.run));
    scrubber.follow(this.#curves);
    scrubber.follow(this.#heads);
    the("pause").addEventListener("click", () => runs.pause(!runs.paused));
    the("stop").addEventListener("click", () => runs.stop());
    runs.addEventListener("status", () => this.#status());
    runs.addEventListener("groups", () => this.#all());
    runs.addEventListener("records", ({ detail: run }) => {
      this.#curves.redraw();
      if (run === now.run) this.#heads.redraw();
      this.#list();
      this.#status();
    });
    now.addEventListener("change", () => {
      this.#heads.redraw();
      this.#list();
      this.#status();
    });
  }

  #all() {
    this.#curves.redraw();
    this.#heads.redraw();
    this.#list();
    this.#status();
  }

  /** The groups that have something to show. */
  #shown() {
    const { groups, current } = this.#runs;
    const wanted = groups.filter((group) => group.pinned || group === current);
    return wanted.filter((group) => group.runs.some((run) => run.snapshots.length > 0));
  }

  #curvesOf(groups) {
    if (groups.length === 0) return null;
    const begun = (runs) => runs.filter((run) => run.snapshots.length > 0).map((run) => run.id);
    return {
      of: "curves",
      groups: groups.map(({ label, runs }) => ({ label, runs: begun(runs) })),
      // Groups overlaid have a panel per column: the loss, and the distance to the task's own strategy.
      measures: groups.length > 1 ? ["kl_truth", `kl_${groups[0].runs[0].recipe.goal}`] : [],
      live: true,
      marks: groups.flatMap(({ runs }) => runs.flatMap(({ shares }) => (shares ? [[shares.at, "branch"]] : []))),
    };
  }

  #headsOf(run) {
    if (!this.#now.moment) return null;
    const measures = run.recipe.minimal ? ["matching_gap", "odd_even"] : ["previous_token", "induction"];
    return { of: "curves", groups: [{ label: run.group.label, runs: [run.id] }], measures, live: true };
  }

  #status() {
    const { active, paused } = this.#runs;
    the("pause").hidden = the("stop").hidden = active.length === 0;
    the("pause").textContent = paused ? "Resume" : "Pause";
    const { run } = this.#now;
    const runs = run?.group.runs ?? [];
    const ended = runs.filter((run) => run.ended).length;
    if (!run) {
      the("status").textContent = "Ready.";
      the("looked-at").textContent = "the model";
      the("shares").textContent = "";
      the("story").replaceChildren();
      return;
    }
    const words = inWords(run);
    const others = runs.length > 1 ? ` ${ended} of ${runs.length} seeds are done.` : "";
    the("looked-at").textContent = `“${run.group.label}”` + (runs.length > 1 ? `, seed ${runs.indexOf(run) + 1} of ${runs.length}` : "");
    the("shares").textContent = run.shares ? `It shares its first ${whole(run.shares.until)} steps with “${run.shares.label}”.` : "";
    the("status").textContent = words + others;
    const phases = run.course.phases.map(({ strategy, onset }) => [
      element("span", { class: `phase ${strategy}` }, strategy), ` from step ${whole(onset)}`,
    ]);
    the("story").replaceChildren(...phases.flatMap((phase, index) => (index > 0 ? [" → ", ...phase] : phase)));
    this.#announce(run, words);
  }

  /** Tells those who listen what has happened: a new phase, or the end. Not every step. */
  #announce(run, words) {
    const phases = run.course.phases.map(({ strategy, onset }) => `${strategy} from step ${onset}`).join(", ");
    const text = run.ended ? `${words} ${phases}` : phases;
    if (the("announced").textContent !== text) the("announced").textContent = text;
  }

  /** Lists the groups that are shown, if anything about them has changed. */
  #list() {
    const groups = this.#shown();
    const listed = JSON.stringify(groups.map(({ id, label, runs, pinned }) => [id, label, runs.length, pinned, runs.indexOf(this.#now.run)]));
    if (listed === this.#listed) return;
    this.#listed = listed;
    the("runs").replaceChildren(...groups.map((group) => this.#entry(group)));
  }

  #entry(group) {
    const { label, runs, pinned } = group;
    const several = runs.length > 1;
    const look = element("button", { type: "button", title: several ? "Look at its next seed" : `Look at ${label}` }, label + (several ? ` · seed ${Math.max(0, runs.indexOf(this.#now.run)) + 1} of ${runs.length} ›` : ""));
    look.addEventListener("click", () => this.#now.look(runs[(runs.indexOf(this.#now.run) + 1) % runs.length]));
    const pin = element("button", { type: "button", "aria-pressed": String(pinned), "aria-label": `${pinned ? "pinned" : "pin"}: keep ${label} when the next run is trained` }, pinned ? "pinned" : "pin");
    pin.addEventListener("click", () => {
      group.pinned = !pinned;
      this.#all();
    });
    const drop = element("button", { type: "button", "aria-label": `Remove ${label}` }, "×");
    drop.addEventListener("click", () => this.#runs.remove(group));
    return element("li", { "aria-current": String(runs.includes(this.#now.run)) }, look, pin, drop);
  }
}
