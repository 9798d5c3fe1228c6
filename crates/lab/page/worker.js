// A worker with an instance of the engine: what the page asks goes in, its answers come out.
//
// The first message brings the compiled module. Every later one is { id, request, attachments }, and is answered by
// { id, answer, attachments } or { id, problem }. If the engine panics, nothing more can be asked of it: the worker says
// so with { died } and closes.
"use strict";

/** What the module exports. @type {any} */
let engine;

const text = (pointer, length) =>
  new TextDecoder().decode(new Uint8Array(engine.memory.buffer, pointer, length));

function ask(request, attachments) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const at = engine.room(bytes.length);
  new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
  for (const attachment of attachments) {
    const source = new Uint8Array(attachment);
    const room = engine.attach(source.length);
    new Uint8Array(engine.memory.buffer, room, source.length).set(source);
  }
  engine.answer();
  const answer = JSON.parse(text(engine.text(), engine.text_len()));
  const attached = Array.from({ length: engine.attachments() }, (_, index) =>
    engine.memory.buffer.slice(engine.attached(index), engine.attached(index) + engine.attached_len(index)));
  return { ...answer, attachments: attached };
}

onmessage = ({ data }) => {
  if (data.module) {
    engine = new WebAssembly.Instance(data.module).exports;
    engine.start();
    return;
  }
  try {
    const answered = ask(data.request, data.attachments);
    postMessage({ id: data.id, ...answered }, answered.attachments);
  } catch (error) {
    let why = "";
    try {
      why = text(engine.last_words(), engine.last_words_len());
    } catch {
      // Without memory there are no last words.
    }
    postMessage({ died: why || String(error) });
    close();
  }
};
