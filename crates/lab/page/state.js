// The page's state is its address: what stands behind # says everything that a link restores.

/**
 * @typedef {object} State
 * @property {{base: string, text: string | null, sets: string[]}} source the recipe
 * @property {number} seeds how many runs
 * @property {number | null} step the moment that is looked at; null if nothing was trained
 * @property {number[] | null} tokens the sequence; null for the first of the test set
 * @property {string[]} under interventions in force at that moment
 * @property {string | null} open the run from elsewhere that is looked at; null for one that the page trains
 * @property {number | null} numerics the version of results that the link was made with
 */

/** The state of a page that has just been opened. @returns {State} */
const fresh = () => ({
  source: { base: "main", text: null, sets: [] },
  seeds: 1,
  step: null,
  tokens: null,
  under: [],
  open: null,
  numerics: null,
});

const LONGEST = 100_000;
const number = (text) => (/^\d{1,15}$/.test(text ?? "") ? Number(text) : null);

/**
 * Reads what stands behind #. Anything that it does not understand it leaves out, and says so.
 * @returns {{state: State, remark: string | null}}
 */
export function read(hash) {
  const state = fresh();
  if (hash.length > LONGEST) return { state, remark: "This link is too long to be one of this page's." };
  const entries = new URLSearchParams(hash.replace(/^#/, ""));
  const known = ["preset", "recipe", "set", "seeds", "step", "tokens", "under", "open", "v"];
  const unknown = [...new Set(entries.keys())].filter((key) => !known.includes(key));
  if (entries.has("preset")) state.source.base = entries.get("preset");
  if (entries.has("recipe")) state.source = { base: "", text: entries.get("recipe"), sets: [] };
  state.source.sets = entries.getAll("set");
  state.seeds = Math.min(16, Math.max(1, number(entries.get("seeds")) ?? 1));
  state.step = number(entries.get("step"));
  state.numerics = number(entries.get("v"));
  state.under = entries.getAll("under");
  state.open = entries.get("open");
  const symbols = entries.get("tokens");
  if (symbols && /^\d+(\.\d+)*$/.test(symbols)) state.tokens = symbols.split(".").map(Number).filter((t) => t < 256);
  const remark = unknown.length > 0 ? `This link says something that this page does not know: ${unknown.join(", ").slice(0, 200)}.` : null;
  return { state, remark };
}

/** What stands behind # for a state. @param {State} state */
export function written(state) {
  const entries = new URLSearchParams();
  const { base, text, sets } = state.source;
  if (text) entries.set("recipe", text);
  else entries.set("preset", base || "main");
  for (const set of sets) entries.append("set", set);
  if (state.seeds > 1) entries.set("seeds", String(state.seeds));
  if (state.step !== null) entries.set("step", String(state.step));
  if (state.tokens) entries.set("tokens", state.tokens.join("."));
  for (const entry of state.under) entries.append("under", entry);
  if (state.open !== null) entries.set("open", state.open);
  if (state.numerics !== null) entries.set("v", String(state.numerics));
  return `#${entries}`;
}
