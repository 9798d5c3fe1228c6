// A model as a list of blocks, and a task as the engine describes it: fields that the page makes of the schema.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { finish, open } from "./lab.mjs";

after(finish);

let tab;
before(async () => {
  tab = await open();
  await tab.page.locator("#form details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
});
after(() => tab.close());

const place = (name) => tab.page.locator(`[data-place="${name}"]`);
const focused = () => tab.page.evaluate(() => document.activeElement.dataset.place);

describe("a list of blocks", () => {
  test("begins as the model is, and hides what it stands in place of", async () => {
    await place("list").click();
    await tab.says("#command", /model\.blocks=\[\{ heads = 1, kind = "attention" \}, \{ heads = 1, kind = "attention" \}\]/);
    for (const key of ["layers", "heads", "mlp"]) assert.ok(await tab.page.locator(`[data-key="model.${key}"]`).isHidden(), key);
    await tab.until("the first block has the focus", focused, (at) => at === "kind 0");
  });

  test("takes another kind, with its settings", async () => {
    await tab.set("model.blocks[1].kind", "mlp");
    await tab.setAndSee("model.blocks[1].ratio", 2, /\{ kind = "mlp", ratio = 2 \}/);
    await tab.setAndSee("model.blocks[1].activation", "relu", /activation = "relu"/);
    await tab.set("model.blocks[1].activation", "");
    await tab.until("it is unset again", () => tab.text("#command"), (command) => !/activation/.test(command));
  });

  test("says at the field what cannot be", async () => {
    await tab.set("model.blocks[0].heads", 3);
    const wrong = tab.page.locator('[data-key="model.blocks[0].heads"][aria-invalid="true"]');
    await tab.until("the field is marked", () => wrong.count(), (count) => count === 1);
    await tab.says(".blocks .problem", /model\.blocks\[0\]\.heads = 3 .* divides the width, 16/);
    await tab.setAndSee("model.blocks[0].heads", 2, /heads = 2/);
    await tab.until("the mark is gone", () => wrong.count(), (count) => count === 0);
    await tab.set("model.blocks[0].heads", 5);
    await tab.until("the field is marked again", () => wrong.count(), (count) => count === 1);
    await tab.setAndSee("model.width", 32, /model\.width=32/);
    assert.equal(await tab.page.inputValue('[data-key="model.blocks[0].heads"]'), "2", "what was refused is not kept");
    await tab.set("model.width", 16);
  });

  test("grows, moves and shrinks by the keyboard, which stays where it was", async () => {
    await place("add").press("Enter");
    await tab.until("there are three", () => tab.page.locator(".blocks li").count(), (count) => count === 3);
    assert.equal(await focused(), "kind 2");
    await place("up 2").press("Enter");
    await tab.until("it has moved", focused, (at) => at === "up 1");
    await place("remove 1").press("Enter");
    await tab.until("there are two", () => tab.page.locator(".blocks li").count(), (count) => count === 2);
    assert.equal(await focused(), "remove 0");
  });

  test("is trained, and each part can be silenced", async () => {
    await tab.setAndSee("train.steps", 60, /train\.steps=60/);
    await tab.page.click("#train");
    await tab.ended(60);
    await tab.page.getByRole("button", { name: "layer 1's MLP: silence it" }).click();
    await tab.says("#effect", /512 fresh sequences/);
    await tab.says("#under-text", /^layer 1's MLP silenced$/);
    await tab.page.click("#undo-all");
  });

  test("is in the link", async () => {
    const other = await open({ hash: await tab.address() });
    assert.equal(await other.text("#command"), await tab.text("#command"));
    assert.equal(await other.page.inputValue('[data-key="model.blocks[0].heads"]'), "2");
    await other.close();
  });

  test("gives way to layers and heads", async () => {
    await place("short").click();
    await tab.until("the preset's are back", () => tab.text("#command"), (command) => !/blocks/.test(command));
    assert.ok(await tab.page.locator('[data-key="model.layers"]').isVisible());
    assert.equal(await focused(), "list");
  });
});

test("a preset with other layers can be listed as well", async () => {
  await tab.page.selectOption("#preset", "one-layer");
  await tab.says("#command", /train one-layer$/);
  await place("list").click();
  await tab.says("#command", /train one-layer --set 'model\.blocks=\[\{ heads = 1, kind = "attention" \}\]' --set model\.layers=2/);
  await place("short").click();
  await tab.says("#command", /train one-layer$/);
});

test("another source has its own settings, and no prior", async () => {
  await tab.page.selectOption("#preset", "main");
  await tab.set("task.source.kind", "causal-graph");
  await tab.setAndSee("task.source.alpha", 0.1, /causal-graph.*alpha/);
  assert.ok(await tab.page.locator("#prior-kind").isHidden());
  await tab.setAndSee("train.steps", 40, /train\.steps=40/);
  await tab.page.click("#train");
  await tab.ended(40);
  await tab.says("#answers", /parent/);
  await tab.set("task.source.kind", "chains");
  await tab.until("the prior is back", () => tab.page.locator("#prior-kind").isVisible(), Boolean);
});
