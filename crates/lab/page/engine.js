// The engine in workers: questions go out, answers come back.

import { the } from "lab/page";

/** Bytes that the page carries in letters, compressed. */
export async function unpacked(letters) {
  const packed = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

let compiling;
/** The engine's module, compiled once for all workers. */
const compiled = () => (compiling ??= unpacked(the("engine").textContent).then((bytes) => WebAssembly.compile(bytes)));

const script = URL.createObjectURL(new Blob([the("worker").textContent], { type: "text/javascript" }));

/** What the engine refused to do, and the setting that is at fault, if one is. */
export class Problem extends Error {
  constructor({ field, sentence }) {
    super(sentence);
    this.field = field;
  }
}

/** A worker that died: nothing more can be asked of it. */
export class Died extends Error {}

/** One worker with an instance of the engine. */
export class Engine {
  #worker;
  #waiting = new Map();
  #next = 0;
  #ready;
  /** Called once with a sentence if the worker dies. */
  onDeath = (_why) => {};

  constructor() {
    this.#worker = new Worker(script);
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#die(event.message || "it could not be started");
    };
    this.#ready = compiled().then(
      (module) => this.#worker.postMessage({ module }),
      (error) => this.#die(`the engine could not be compiled: ${error.message}`),
    );
  }

  /**
   * Asks something. Attachments are handed over: they are empty afterwards.
   * @returns {Promise<{answer: any, attachments: ArrayBuffer[]}>}
   */
  async ask(request, attachments = []) {
    await this.#ready;
    if (!this.#worker) throw new Died("the worker is gone");
    const id = this.#next++;
    const answered = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#worker.postMessage({ id, request, attachments }, attachments);
    return answered;
  }

  /** Ends the worker. */
  end() {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject } of this.#waiting.values()) reject(new Died("the worker was ended"));
    this.#waiting.clear();
  }

  #receive(data) {
    if (data.died !== undefined) return this.#die(data.died);
    const { resolve, reject } = this.#waiting.get(data.id);
    this.#waiting.delete(data.id);
    if (data.problem) reject(new Problem(data.problem));
    else resolve({ answer: data.answer, attachments: data.attachments });
  }

  #die(why) {
    if (!this.#worker) return;
    this.end();
    this.onDeath(why);
  }
}
