// Talk to it: a sequence to change, and what the model and every strategy expect next.

import { Died, Problem } from "lab/engine";
import { element, say, the } from "lab/page";

export class Talk {
  #now;
  #runs;
  #asking = false;
  #wanted = false;
  #number = 0;
  #shown = "";

  /** @param {import("lab/now").Now} now @param {import("lab/runs").Runs} runs */
  constructor(now, runs) {
    this.#now = now;
    this.#runs = runs;
    now.addEventListener("change", () => this.show());
    the("another").addEventListener("click", () => this.another(++this.#number));
    the("shorter").addEventListener("click", () => now.say(now.tokens.slice(0, -1)));
    the("sequence").addEventListener("keydown", (event) => this.#typed(event));
    the("symbols").addEventListener("keydown", (event) => this.#typed(event));
  }

  get #states() {
    return Number(this.#now.run?.recipe.values["task.states"] ?? 2);
  }

  get #longest() {
    return Number(this.#now.run?.recipe.values["task.length"] ?? 100);
  }

  /** Takes a sequence of the run's own test set. */
  async another(number) {
    const run = this.#now.run;
    if (!run) return;
    try {
      const { answer } = await this.#runs.view.ask({ do: "sequence", recipe: run.recipe.toml, number });
      // A short one can be read, and is as good.
      this.#now.say(answer.slice(0, 40));
    } catch (error) {
      // Chains of another program's prior cannot be drawn here; symbols can still be typed.
      if (error instanceof Problem) say(the("talk-problem"), error.message);
      else if (!(error instanceof Died)) throw error;
    }
  }

  #typed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^\d$/.test(event.key)) this.#add(Number(event.key));
    else if (event.key === "Backspace") this.#now.say(this.#now.tokens.slice(0, -1));
    else if (event.key === "ArrowLeft") event.target.previousElementSibling?.focus();
    else if (event.key === "ArrowRight") event.target.nextElementSibling?.focus();
    else return;
    event.stopPropagation();
    event.preventDefault();
  }

  #add(symbol) {
    if (symbol >= this.#states) return say(the("talk-problem"), `There are the symbols 0 to ${this.#states - 1}.`);
    if (this.#now.tokens.length >= this.#longest) return say(the("talk-problem"), `This model reads at most ${this.#longest} symbols.`);
    say(the("talk-problem"), null);
    this.#now.say([...this.#now.tokens, symbol]);
  }

  #change(index) {
    const tokens = [...this.#now.tokens];
    tokens[index] = (tokens[index] + 1) % this.#states;
    this.#now.say(tokens);
  }

  /** Shows the sequence, and asks what comes next. */
  show() {
    const { tokens, run } = this.#now;
    const shown = JSON.stringify([tokens, this.#states]);
    if (shown !== this.#shown) {
      this.#shown = shown;
      this.#cells(tokens);
    }
    for (const button of [the("another"), the("shorter")]) button.disabled = !run;
    this.#wanted = true;
    if (!this.#asking) this.#ask();
  }

  #cells(tokens) {
    const row = the("sequence");
    const had = row.contains(document.activeElement);
    while (row.children.length > tokens.length) row.lastChild.remove();
    while (row.children.length < tokens.length) {
      const index = row.children.length;
      const button = element("button", { type: "button", tabIndex: -1 });
      button.addEventListener("click", () => this.#change(index));
      row.append(button);
    }
    tokens.forEach((symbol, index) => {
      const button = row.children[index];
      button.className = `s${symbol % 6}`;
      button.textContent = String(symbol);
      button.setAttribute("aria-label", `position ${index}: symbol ${symbol}; press to change`);
      // One stop for the Tab key; the rest by pointer or by typing.
      button.tabIndex = index === tokens.length - 1 ? 0 : -1;
    });
    if (had && !row.contains(document.activeElement)) row.lastElementChild?.focus();
    row.scrollTop = row.scrollHeight;
    const count = Math.min(10, this.#states);
    const symbols = the("symbols");
    if (symbols.children.length !== count) {
      symbols.replaceChildren(...Array.from({ length: count }, (_, symbol) => {
        const button = element("button", { type: "button", "aria-label": `Add the symbol ${symbol}` }, String(symbol));
        button.addEventListener("click", () => this.#add(symbol));
        return button;
      }));
    }
  }

  async #ask() {
    this.#asking = true;
    while (this.#wanted) {
      this.#wanted = false;
      const { moment, tokens } = this.#now;
      if (!moment || tokens.length === 0) {
        the("answers").replaceChildren(element("p", { class: "hint" }, moment ? "Add a symbol." : "Train a model first."));
        continue;
      }
      try {
        const { answer } = await this.#runs.view.ask({ do: "talk", ...moment, tokens });
        this.#answers(answer.answers);
      } catch (error) {
        if (error instanceof Problem) the("answers").replaceChildren(element("p", { class: "problem" }, error.message));
        else if (!(error instanceof Died)) throw error;
      }
    }
    this.#asking = false;
  }

  #answers(answers) {
    const place = the("answers");
    let body = place.querySelector("tbody");
    if (!body || body.children.length !== answers.length || body.dataset.states !== String(this.#states)) {
      body = element("tbody", { "data-states": String(this.#states) });
      for (const { name } of answers) {
        const spans = Array.from({ length: this.#states }, (_, symbol) => element("span", { class: `s${symbol % 6}` }));
        body.append(element("tr", name === "model" ? { class: "model" } : {}, element("th", { scope: "row" }, name),
          element("td", {}, element("div", { class: "bar", role: "img" }, ...spans)), element("td", { class: "number" })));
      }
      const head = element("tr", {}, element("th", { scope: "col" }, ""), element("th", { scope: "col" }, "next symbol"),
        element("th", { scope: "col", title: "KL(strategy ‖ model) at this position, nats" }, "KL to model"));
      place.replaceChildren(element("table", {}, element("thead", {}, head), body));
    }
    answers.forEach(({ name, probabilities, divergence }, index) => {
      const row = body.children[index];
      row.firstChild.textContent = name;
      const bar = row.querySelector(".bar");
      bar.setAttribute("aria-label", probabilities.map((p, symbol) => `${symbol}: ${(100 * p).toFixed(0)} %`).join(", "));
      probabilities.forEach((p, symbol) => {
        const span = bar.children[symbol];
        span.style.width = `${100 * p}%`;
        span.textContent = p > 0.12 ? p.toFixed(2) : "";
      });
      row.lastChild.textContent = divergence === null ? "" : divergence.toFixed(3);
    });
  }
}
