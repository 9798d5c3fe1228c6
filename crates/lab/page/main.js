// The page: its parts, and what one tells another.

import { Died, Problem } from "lab/engine";
import { Form } from "lab/form";
import { Intervene } from "lab/intervene";
import { Learning, notice } from "lab/learning";
import { Link } from "lab/link";
import { Model } from "lab/model";
import { Now } from "lab/now";
import { element, say, the, whole } from "lab/page";
import { Picture } from "lab/pictures";
import { Recipe } from "lab/recipe";
import { Runs } from "lab/runs";
import { Scrubber } from "lab/scrubber";
import { stops } from "lab/stops";
import { Take } from "lab/take";
import { Talk } from "lab/talk";
import { Tour } from "lab/tour";

const now = new Now();
const runs = new Runs();
const recipe = new Recipe(runs.view);
const form = new Form(recipe);
const scrubber = new Scrubber(now);
new Learning(now, runs, scrubber);
const model = new Model(now, runs);
const talk = new Talk(now, runs);
const intervene = new Intervene(now, runs);
const take = new Take(now, runs);
const tour = new Tour(stops({ now, form, runs }));

// ---- The task: chains and sequences

const chains = new Picture(the("chains"), runs, () => recipe.value("task.prior.kind") && { of: "chains", recipe: recipe.told.toml });

/** A few sequences of the task, in colours. */
async function samples() {
  const { toml } = recipe.told;
  const asked = [0, 1, 2, 3, 4].map((number) => runs.view.ask({ do: "sequence", recipe: toml, number }));
  const drawn = await Promise.all(asked).catch(() => []);
  // The recipe may have changed meanwhile.
  if (toml !== recipe.told.toml) return;
  const row = (symbols) => element("div", {}, ...symbols.slice(0, 32).map((symbol) => element("i", { class: `s${symbol % 6}` })));
  the("samples").replaceChildren(...drawn.map(({ answer }) => row(answer)));
}
form.onTask = () => {
  chains.redraw();
  samples();
};

// ---- Training, and training on

form.onTrain = async (seeds) => {
  const { source } = recipe;
  const differs = source.sets.filter((set) => set.length < 40 && !set.startsWith("name="));
  const label = [recipe.value("name"), ...differs].join(", ");
  const recipes = await Promise.all(Array.from({ length: seeds }, (_, seed) => recipe.withSeed(seed)));
  now.change([]);
  now.look(runs.train(label, recipes).runs[0]);
  // The keys are then the scrubber's: the space bar plays, and does not train again.
  if (the("experiment").contains(document.activeElement)) the("learning").focus({ preventScroll: true });
  if (matchMedia("(max-width: 900px)").matches) the("learning").scrollIntoView();
};
intervene.onBranch = async (label, change) => {
  const { run: parent, step } = now;
  try {
    const { answer: toml } = await runs.view.ask({ do: "change", recipe: parent.recipe.toml, step, change });
    const { answer: told } = await runs.view.ask({ do: "recipe", source: { text: toml } });
    now.change([]);
    now.look(runs.branch(`${label} from step ${whole(step)}`, parent, told, step).runs[0]);
    // What is trained is what the form shows, and what a link repeats.
    await form.use(told.source);
  } catch (error) {
    if (error instanceof Problem) say(the("intervene-problem"), error.message);
    else if (!(error instanceof Died)) throw error;
  }
};
model.onHead = (layer, head) => intervene.offer(layer, head);

// ---- What is looked at

/** Takes a sequence that the model can read, unless there is one. */
function fitting() {
  const { tokens, run } = now;
  const [states, length] = ["task.states", "task.length"].map((key) => Number(run?.recipe.values[key]));
  if (tokens.length === 0 || tokens.length > length || tokens.some((symbol) => symbol >= states)) talk.another(0);
}
runs.addEventListener("records", ({ detail: run }) => {
  if (run !== now.run) return;
  fitting();
  now.grow();
});
let looked = null;
now.addEventListener("change", () => {
  if (now.run !== looked && now.moment) fitting();
  looked = now.run;
});
runs.addEventListener("groups", () => {
  const there = runs.groups.some((group) => group.runs.includes(now.run));
  if (now.run && !there) now.look(runs.current?.runs[0] ?? null);
});
take.onOpen = (group) => {
  now.look(group.runs[0]);
  fitting();
};

// ---- What goes wrong

take.onProblem = notice;
runs.addEventListener("problem", ({ detail }) => notice(detail));
addEventListener("unhandledrejection", ({ reason }) => notice(`Something went wrong on this page: ${reason?.message ?? reason}`));

// ---- The start

runs.addEventListener("rate", ({ detail }) => form.learned(detail));
// In a page without a server, a link to a part of it would be taken for its state.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  the("learning").focus();
});
// On a phone, the way from the button to the curves is short.
if (matchMedia("(max-width: 900px)").matches) the("form").querySelector("details").open = false;

const { answer: catalogue } = await runs.view.ask({ do: "catalogue" });
form.offer(catalogue.settings);
form.describe((await runs.view.ask({ do: "schema" })).answer);
const link = new Link({ now, runs, recipe, form, numerics: catalogue.numerics });
const carried = await take.carried();
const restored = location.hash;
await link.restore(restored);
link.follow();
take.onLink = () => link.write();
document.body.dataset.ready = "yes";
if (restored.length < 2 && carried === 0) tour.greet();
