// Take it with you: files of a run, and runs from elsewhere.

import { Problem, unpacked } from "lab/engine";
import { copy, save, the } from "lab/page";

export class Take {
  #now;
  #runs;
  /** Called with a sentence about something that cannot be had. */
  onProblem = (_sentence) => {};
  /** Called before the address is copied. */
  onLink = () => {};
  /** Called with a group that was opened. */
  onOpen = (_group) => {};

  /** @param {import("lab/now").Now} now @param {import("lab/runs").Runs} runs */
  constructor(now, runs) {
    this.#now = now;
    this.#runs = runs;
    const buttons = [...document.querySelectorAll("[data-take]")];
    for (const button of buttons) button.addEventListener("click", () => this.#file(button.dataset.take));
    const show = () => {
      for (const button of buttons) button.disabled = !now.run || (button.dataset.take === "run" && !["complete", "event", "diverged", "opened"].includes(now.run.status));
    };
    now.addEventListener("change", show);
    runs.addEventListener("status", show);
    show();
    the("copy-link").addEventListener("click", (event) => {
      this.onLink();
      copy(location.href, event.target);
    });
    the("open-folder").addEventListener("change", () => this.#folder([...the("open-folder").files]));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => event.preventDefault());
  }

  async #file(file) {
    try {
      const { answer, attachments } = await this.#runs.view.ask({ do: "take", run: this.#now.run.id, file, step: this.#now.step });
      save(answer.name, attachments[0], answer.media);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.onProblem(error.message);
    }
  }

  /** Opens the files of a run's folder. */
  async #folder(files) {
    the("open-folder").value = "";
    const name = files[0]?.webkitRelativePath.split("/")[0] || "a run";
    const inside = (file) => file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
    const wanted = files.filter((file) => /^(recipe\.toml|metrics\.csv|summary\.json|snapshots\/step-\d+\.safetensors)$/.test(inside(file)));
    const read = await Promise.all(wanted.map(async (file) => [inside(file), await file.arrayBuffer()]));
    await this.open({ name, files: read });
  }

  /** Opens a run, or says why that is not possible. */
  async open(bundle) {
    try {
      this.onOpen(await this.#runs.open(bundle));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.onProblem(`${bundle.name} cannot be opened: ${error.message}`);
    }
  }

  /** Opens the runs that the page carries. @returns {Promise<number>} how many there are */
  async carried() {
    const runs = [...document.querySelectorAll("script.run")];
    for (const run of runs) await this.open(bundle(new Uint8Array(await unpacked(run.textContent))));
    return runs.length;
  }
}

/** The files of a bundle: each behind a line with its length and name, and a first line for all. */
function bundle(bytes) {
  let at = 0;
  const line = () => {
    const end = bytes.indexOf(10, at);
    const text = new TextDecoder().decode(bytes.subarray(at, end));
    at = end + 1;
    const [, number, name] = text.match(/^(\d+) (.*)$/s);
    return { number: Number(number), name };
  };
  const { number: count, name } = line();
  const files = Array.from({ length: count }, () => {
    const { number: length, name } = line();
    const file = bytes.slice(at, at + length).buffer;
    at += length;
    return [name, file];
  });
  return { name, files };
}
