// The stops of the tour, and what each of them does on the page.

import { the } from "lab/page";

/** The main preset's training, while it is being prepared or runs: stops that are passed quickly share it. */
let training = null;

/** The main preset, trained to its end. */
const trained = (page) => (training ??= train(page).finally(() => (training = null)));

async function train({ now, form, runs }) {
  if (now.run?.group.label === "main" && now.run.status === "complete") return;
  if (now.run?.group.label !== "main" || now.run.ended) {
    await form.use({ base: "main", text: null, sets: [] });
    await form.onTrain(1);
  }
  if (runs.paused) runs.pause(false);
  while (!now.run?.ended) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** The step with weights that is nearest to a step. */
const nearest = (run, step) => run.snapshots.reduce((best, at) => (Math.abs(at - step) < Math.abs(best - step) ? at : best), 0);

/**
 * @param {{now: import("lab/now").Now, form: import("lab/form").Form, runs: import("lab/runs").Runs}} page
 * @returns {import("lab/tour").Stop[]}
 */
export const stops = (page) => [
  {
    at: "experiment", title: "The task",
    text: "Every sequence comes from a Markov chain of its own: the page shows a few. A model can predict well only if it finds out, within the sequence, which chain it sees.",
    does: () => {
      the("form").querySelector("details").open = true;
    },
  },
  {
    at: "learning", title: "The plateau",
    text: "The model is training now, here in your browser. It soon counts symbols (the unigram strategy), and then seems to learn nothing for a long time.",
    does: async (isHere) => {
      await trained(page);
      if (!isHere()) return;
      const { transition } = page.now.run.course;
      page.now.goTo(nearest(page.now.run, (transition ?? page.now.run.step) / 2));
    },
  },
  {
    at: "learning", title: "The drop",
    text: "Then, within a few hundred steps, the loss falls to the bigram strategy: an induction head has formed. Drag the scrubber, or use the arrow keys, to look at any moment.",
    does: async (isHere) => {
      await trained(page);
      if (!isHere()) return;
      page.now.goTo(nearest(page.now.run, page.now.run.course.transition ?? page.now.run.step));
    },
  },
  {
    at: "inside", title: "Two layers",
    text: "Layer 1 looks back by one symbol (arcs above). Layer 2 looks at the symbols that followed the current one (arcs below), and copies them. Change the sequence and see.",
    does: async (isHere) => {
      await trained(page);
      if (!isHere()) return;
      page.now.goTo(page.now.run.snapshots.at(-1));
    },
  },
  {
    at: "intervene", title: "Break it yourself",
    text: "Layer 1's head is silenced now: see the loss and the arcs. “Train on from here with this” shows whether training can do without it.",
    does: async (isHere) => {
      await trained(page);
      if (!isHere()) return;
      page.now.change(['kind="ablate", at="layers.0.heads.0"']);
    },
  },
];
