// Pictures that the engine draws: kept up to date, one at a time, and only while they can be seen.

import { Died, Problem } from "lab/engine";
import { element, save } from "lab/page";

const MEDIA = { svg: "image/svg+xml", png: "image/png", csv: "text/csv" };

/** The widths of files; those of curves are the ones that `induct plot` writes. */
const FILE_WIDTH = 1100;

/**
 * A picture in a figure element.
 * Events: `drawn`.
 */
export class Picture extends EventTarget {
  #figure;
  #runs;
  #subject;
  #wanted = false;
  #drawing = false;
  #seen = false;
  #holder = element("div", { class: "holder" });
  #files = element("div", { class: "files" });
  /** The frames of its plots in pixels of the drawing, and the drawing's width. */
  frames = [];
  width = 0;

  /**
   * @param {HTMLElement} figure
   * @param {import("lab/runs").Runs} runs
   * @param {() => object | null} subject what to draw now; null for nothing
   * @param {{name?: string, width?: number, files?: boolean}} options
   */
  constructor(figure, runs, subject, { name = figure.id, width = FILE_WIDTH, files = true } = {}) {
    super();
    this.#figure = figure;
    this.#runs = runs;
    this.#subject = subject;
    figure.append(this.#holder);
    if (files) {
      for (const form of ["svg", "png", "csv"]) {
        const button = element("button", { type: "button", class: "quiet", "aria-label": `Download ${figure.getAttribute("aria-label") ?? name} as ${form.toUpperCase()}` }, form.toUpperCase());
        button.addEventListener("click", () => this.#download(`${name}.${form}`, form, width));
        this.#files.append(button);
      }
      this.#files.hidden = true;
      figure.append(this.#files);
    }
    new IntersectionObserver(([entry]) => {
      this.#seen = entry.isIntersecting;
      if (this.#seen && this.#wanted) this.#draw();
    }, { rootMargin: "200px" }).observe(figure);
    let known = 0;
    new ResizeObserver(() => {
      const width = this.#figure.clientWidth;
      if (Math.abs(width - known) > 8) {
        known = width;
        this.redraw();
      } else if (this.frames.length > 0) this.dispatchEvent(new Event("drawn"));
    }).observe(figure);
  }

  /** Draws it anew as soon as there is time. */
  redraw() {
    this.#wanted = true;
    if (this.#seen && !this.#drawing) this.#draw();
  }

  async #draw() {
    this.#drawing = true;
    while (this.#wanted && this.#seen) {
      this.#wanted = false;
      await new Promise(requestAnimationFrame);
      await this.#once();
    }
    this.#drawing = false;
  }

  async #once() {
    const subject = this.#subject();
    const width = Math.max(240, Math.round(this.#figure.clientWidth));
    if (!subject) return this.#show([]);
    try {
      const { answer } = await this.#runs.view.ask({ do: "picture", subject, width });
      // Parsed as SVG, never as HTML; a script in it would not run.
      const parsed = new DOMParser().parseFromString(answer.svg, "image/svg+xml").documentElement;
      parsed.setAttribute("role", "img");
      parsed.setAttribute("aria-label", answer.description);
      [this.frames, this.width] = [answer.frames, width];
      this.#show([document.importNode(parsed, true)]);
      this.dispatchEvent(new Event("drawn"));
    } catch (error) {
      if (error instanceof Problem) this.#show([element("p", { class: "says" }, error.message)]);
      else if (!(error instanceof Died)) throw error;
    }
  }

  #show(nodes) {
    this.#files.hidden = nodes.length === 0 || nodes[0].localName === "p";
    if (this.#files.hidden) this.frames = [];
    this.#figure.classList.toggle("empty", nodes.length === 0 && this.#figure.hasAttribute("data-empty"));
    if (nodes.length === 0 && this.#figure.dataset.empty) nodes = [element("p", {}, this.#figure.dataset.empty)];
    this.#holder.replaceChildren(...nodes);
  }

  async #download(name, form, width) {
    const subject = this.#subject();
    if (!subject) return;
    // A file shows what the command line would draw: nothing that belongs to the page.
    const { attachments } = await this.#runs.view.ask({ do: "picture", subject: { ...subject, live: false }, width, form });
    save(name, attachments[0], MEDIA[form]);
  }

  /** The picture's own element. */
  get figure() {
    return this.#figure;
  }
}
