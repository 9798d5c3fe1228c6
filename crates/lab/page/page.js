// Elements of the page, and words for numbers.

/** The element with an id. */
export const the = (id) => document.getElementById(id);

/**
 * A new element. Text is always put in as text, never as HTML.
 * @param {string} tag
 * @param {Record<string, any>} attributes properties by name; `class`, `data-…` and `aria-…` are attributes
 * @param {...(Node | string)} children
 * @returns {any}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class" || name.includes("-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** Shows a sentence where problems are shown, or hides it. */
export function say(where, sentence) {
  where.hidden = !sentence;
  where.textContent = sentence ?? "";
}

/** A whole number with separators. */
export const whole = (number) => Math.round(number).toLocaleString("en");

/** A time in words. */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} minutes`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} hours`;
  return `${whole(seconds / 86400)} days`;
}

/** An amount of memory in words. */
export const memory = (bytes) =>
  bytes < 1e9 ? `${whole(Math.max(1, bytes / 1e6))} MB` : `${(bytes / 1e9).toFixed(1)} GB`;

/** Puts text on the clipboard, and says so on the button for a moment. */
export async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Without the right to use the clipboard, selecting is what is left.
    const area = element("textarea", { value: text });
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Could not copy";
    area.remove();
  }
  setTimeout(() => (button.textContent = label), 1200);
}

/** Offers bytes as a file. */
export function save(name, bytes, media) {
  const link = element("a", { href: URL.createObjectURL(new Blob([bytes], { type: media })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
