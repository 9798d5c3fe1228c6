// The one scrubber: it chooses the run's step that everything else shows.

import { the, whole } from "lab/page";

/** How long playing from the start to the end takes, in milliseconds. */
const PLAYING = 8000;

export class Scrubber {
  #now;
  #pictures = [];
  #playing = false;
  /** The run that is played. */
  #played = null;
  #slider = the("step");

  /** @param {import("lab/now").Now} now */
  constructor(now) {
    this.#now = now;
    now.addEventListener("change", () => this.show());
    this.#slider.addEventListener("input", () => this.#go(this.#steps()[Number(this.#slider.value)]));
    the("play").addEventListener("click", () => (this.#playing ? this.#pause() : this.#play()));
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Puts a cursor on the plots of a picture over training; clicking there scrubs. */
  follow(picture) {
    this.#pictures.push(picture);
    picture.addEventListener("drawn", () => this.#mark(picture));
    const figure = picture.figure;
    const to = (event) => {
      const box = figure.querySelector("svg")?.getBoundingClientRect();
      if (!box) return;
      const unit = picture.width / box.width;
      const [x, y] = [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
      const frame = picture.frames.find((frame) => x >= frame.left - 6 && x <= frame.right + 6 && y >= frame.top && y <= frame.bottom);
      if (!frame) return;
      const share = (x - frame.left) / (frame.right - frame.left);
      this.#go(this.#nearest(frame.x[0] + share * (frame.x[1] - frame.x[0])));
    };
    figure.addEventListener("pointerdown", (event) => {
      if (!event.target.closest("svg")) return;
      to(event);
      figure.setPointerCapture(event.pointerId);
    });
    figure.addEventListener("pointermove", (event) => event.buttons === 1 && figure.hasPointerCapture(event.pointerId) && to(event));
  }

  #steps() {
    return this.#now.run?.snapshots ?? [];
  }

  #nearest(step) {
    const steps = this.#steps();
    const distance = (at) => Math.abs(at - step);
    return steps.reduce((best, at) => (distance(at) < distance(best) ? at : best), steps[0]);
  }

  #go(step) {
    if (step === undefined) return;
    this.#pause();
    this.#now.goTo(step);
  }

  /** Shows where it stands. */
  show() {
    if (this.#playing && this.#now.run !== this.#played) this.#pause();
    const steps = this.#steps();
    const at = Math.max(0, steps.findLastIndex((step) => step <= this.#now.step));
    this.#slider.max = String(Math.max(0, steps.length - 1));
    this.#slider.value = String(at);
    this.#slider.disabled = the("play").disabled = steps.length < 2;
    const step = steps[at] ?? 0;
    const loss = this.#loss(step);
    this.#slider.setAttribute("aria-valuetext", `step ${step}`);
    the("step-text").textContent = `step ${whole(step)}`;
    the("step-text").title = loss === undefined ? "" : `loss ${loss.toFixed(4)} nats`;
    the("looked-step").textContent = `step ${whole(step)}`;
    for (const picture of this.#pictures) this.#mark(picture);
  }

  #loss(step) {
    const { steps, loss } = this.#now.run?.course ?? { steps: [], loss: [] };
    return loss[steps.indexOf(step)] ?? undefined;
  }

  #mark(picture) {
    const figure = picture.figure;
    const svg = figure.querySelector("svg");
    const cursors = [...figure.querySelectorAll(".cursor")];
    if (!svg || !this.#now.run) return cursors.forEach((cursor) => cursor.remove());
    picture.frames.forEach((frame, index) => {
      const cursor = cursors[index] ?? figure.appendChild(Object.assign(document.createElement("div"), { className: "cursor" }));
      const unit = svg.clientWidth / picture.width;
      const share = (this.#now.step - frame.x[0]) / (frame.x[1] - frame.x[0] || 1);
      const left = frame.left + Math.min(1, Math.max(0, share)) * (frame.right - frame.left);
      const offset = svg.getBoundingClientRect().top - figure.getBoundingClientRect().top;
      cursor.style.transform = `translate(${left * unit}px, ${frame.top * unit + offset}px)`;
      cursor.style.left = cursor.style.top = "0";
      cursor.style.height = `${(frame.bottom - frame.top) * unit}px`;
    });
    cursors.slice(picture.frames.length).forEach((cursor) => cursor.remove());
  }

  #key(event) {
    const free = event.target === document.body || event.target === this.#slider || event.target.closest?.("#learning");
    if (!free || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not(#step), textarea, select")) return;
    const steps = this.#steps();
    const at = steps.findLastIndex((step) => step <= this.#now.step);
    const far = event.shiftKey ? 10 : 1;
    const to = { ArrowLeft: at - far, ArrowRight: at + far, Home: 0, End: steps.length - 1 }[event.key];
    if (to !== undefined && steps.length > 0) {
      event.preventDefault();
      this.#go(steps[Math.min(steps.length - 1, Math.max(0, to))]);
    } else if (event.key === " " && !event.target.closest("button, summary, a")) {
      event.preventDefault();
      the("play").click();
    }
  }

  #play() {
    const steps = this.#steps();
    if (steps.length < 2) return;
    this.#playing = true;
    this.#played = this.#now.run;
    this.#button("❚❚", "Pause playing");
    const last = steps.length - 1;
    const start = this.#now.step >= steps[last] ? 0 : steps.findLastIndex((step) => step <= this.#now.step);
    const began = performance.now();
    const turn = (time) => {
      if (!this.#playing) return;
      const at = Math.min(last, start + Math.floor(((time - began) / PLAYING) * last));
      if (steps[at] !== this.#now.step) this.#now.goTo(steps[at]);
      if (at >= last) this.#pause();
      else requestAnimationFrame(turn);
    };
    requestAnimationFrame(turn);
  }

  #pause() {
    this.#playing = false;
    this.#button("▶", "Play from here");
  }

  #button(sign, label) {
    the("play").firstElementChild.textContent = sign;
    the("play").setAttribute("aria-label", label);
  }
}
