// Fields for what the engine describes: every kind has its settings, with what they take, mean and are by default.

import { element } from "lab/page";

/**
 * @typedef {{name: string, meaning: string}} Choice
 * @typedef {{key: string, meaning: string, takes: string | {choice: Choice[]}, default: string | null}} Setting
 * @typedef {{kind: string, meaning: string, settings: Setting[]}} Kind
 */

/** A key as a label: `layer_norm` is "Layer norm". */
export function named(key) {
  const words = key.replaceAll(/[_-]/g, " ");
  return /^[^aeiou]+$/.test(words) ? words.toUpperCase() : words[0].toUpperCase() + words.slice(1);
}

const choice = ({ name, meaning }) => element("option", { value: name, title: meaning }, name);

function control({ takes, default: byDefault }) {
  if (takes === "flag") return element("input", { type: "checkbox" });
  if (takes === "count") return element("input", { type: "number" });
  if (takes === "number") return element("input", { type: "text", inputMode: "decimal", "data-decimal": "" });
  if (takes === "toml") return element("input", { type: "text" });
  const unset = byDefault === null ? [element("option", { value: "" }, "as the model")] : [];
  return element("select", {}, ...unset, ...takes.choice.map(choice));
}

/** A setting's field, for the key of a recipe. @param {Setting} setting @param {string} key */
export function fieldOf(setting, key) {
  const input = control(setting);
  input.dataset.key = key;
  input.dataset.default = setting.default ?? "";
  const name = element("span", {}, named(setting.key));
  const isCheck = input.type === "checkbox";
  return element("label", { class: isCheck ? "field check" : "field", title: setting.meaning }, ...(isCheck ? [input, name] : [name, input]));
}

/** The field of a kind. @param {Kind[]} kinds @param {string} key @param {string} label */
export function kindField(kinds, key, label) {
  const options = kinds.map(({ kind, meaning }) => choice({ name: kind, meaning }));
  const select = element("select", { "data-key": key }, ...options);
  return element("label", { class: "field" }, element("span", {}, label), select);
}

/** A field's value as TOML; of one that is unset, its default. */
export function valueOf(field) {
  if (field.type === "checkbox") return String(field.checked);
  if (field.type === "range") {
    const value = field.hasAttribute("data-log") ? 10 ** Number(field.value) : Number(field.value);
    return decimal(Number(value.toPrecision(2)));
  }
  const text = field.value.trim();
  if (text === "" && field.dataset.default !== undefined) return field.dataset.default;
  if (field.tagName === "SELECT") return JSON.stringify(text);
  if (field.hasAttribute("data-decimal") && /^\d+$/.test(text)) return `${text}.0`;
  // A word needs quotes inside a list.
  if (field.dataset.default !== undefined && /^(?!true|false|inf|nan)[a-z][\w-]*$/i.test(text)) return JSON.stringify(text);
  return text === "" ? '""' : text;
}

/** Shows a value, given as TOML. */
export function showValue(field, toml) {
  const value = toml.startsWith('"') ? JSON.parse(toml) : toml;
  if (field.type === "checkbox") field.checked = value === "true";
  else if (field.type === "range") {
    const plain = Number(value);
    if (field !== document.activeElement) field.value = String(field.hasAttribute("data-log") ? Math.log10(plain) : plain);
    field.closest("label").querySelector("output").textContent = decimal(plain);
  } else {
    const isKnown = field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value);
    if (!isKnown) field.append(element("option", { value }, value));
    field.value = value;
  }
}

/** A number as TOML writes it, with a point. */
function decimal(value) {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
