// The training step of the main preset in TensorFlow.js, on its WebAssembly backend.
//
// `agrees` checks it against Induct: with the same weights and the same batch, the loss is the same.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const tf = require("@tensorflow/tfjs");
const { setWasmPaths } = require("@tensorflow/tfjs-backend-wasm");

// k states, length t, width d, batch B.
const [k, t, d, B] = [2, 100, 16, 64];

setWasmPaths(require.resolve("@tensorflow/tfjs-backend-wasm/package.json").replace("package.json", "dist/"));
await tf.setBackend("wasm");
await tf.ready();

/** 0 up to the diagonal, far below it above: [t, t]. */
const causal = tf.tensor2d(Array.from({ length: t }, (_, i) => Array.from({ length: t }, (_, j) => (j <= i ? 0 : -1e9))));

/** What each position's key says to each lag, [B, t, lag], as scores of pairs, [B, i, j]: row j moves right by j. */
function byPair(scores) {
  const padded = scores.pad([[0, 0], [0, 0], [0, t]]).reshape([B, 2 * t * t]);
  const moved = padded.slice([0, 0], [B, t * (2 * t - 1)]).reshape([B, t, 2 * t - 1]);
  return moved.slice([0, 0, 0], [B, t, t]).transpose([0, 2, 1]);
}

/** The cross-entropy of a batch: tokens are [B, t + 1], one-hot. */
function loss(weights, batch) {
  const [seen, next] = [batch.slice([0, 0, 0], [B, t, k]), batch.slice([0, 1, 0], [B, t, k])];
  const times = (x, matrix) => x.reshape([B * t, x.shape[2]]).matMul(matrix).reshape([B, t, matrix.shape[1]]);
  let h = times(seen, weights["embed.E"]);
  for (const layer of [0, 1]) {
    const of = (name) => weights[`layers.${layer}.${name}`];
    const [query, key, value] = ["W_Q", "W_K", "W_V"].map((name) => times(h, of(name)));
    const content = query.matMul(key, false, true);
    const position = byPair(times(key, of("v").transpose()));
    const pattern = content.add(position).mul(1 / Math.sqrt(d)).add(causal).softmax();
    h = h.add(pattern.matMul(value));
  }
  const logits = times(h, weights["unembed.P"]);
  return logits.logSoftmax().mul(next).sum(-1).mean().neg();
}

const oneHot = (tokens) => tf.oneHot(tf.tensor2d(tokens, [B, t + 1], "int32"), k).cast("float32");

/** The loss of the first batch with Induct's initial weights. */
export function firstLoss(tensors, tokens) {
  return tf.tidy(() => {
    const weights = Object.fromEntries(tensors.map(({ name, shape, values }) => [name, tf.tensor(values, shape)]));
    return loss(weights, oneHot(tokens.flat())).dataSync()[0];
  });
}

/** A chain for every sequence, each with its own two probabilities of leaving a state. */
function draw() {
  const tokens = new Int32Array(B * (t + 1));
  for (let b = 0; b < B; b++) {
    const leave = [Math.random(), Math.random()];
    let state = Math.random() < leave[0] / (leave[0] + leave[1]) ? 1 : 0;
    for (let i = 0; i <= t; i++) {
      tokens[b * (t + 1) + i] = state;
      if (Math.random() < leave[state]) state = 1 - state;
    }
  }
  return tokens;
}

/** Milliseconds of each of some steps, after a few to warm up. */
export function stepTimes(tensors, steps) {
  const weights = Object.fromEntries(tensors.map(({ name, shape, values }) => [name, tf.variable(tf.tensor(values, shape))]));
  const optimizer = tf.train.adam(1e-3, 0.9, 0.95, 1e-8);
  const times = [];
  for (let step = -3; step < steps; step++) {
    const started = performance.now();
    tf.tidy(() => {
      const batch = oneHot(draw());
      optimizer.minimize(() => loss(weights, batch));
    });
    if (step >= 0) times.push(performance.now() - started);
  }
  Object.values(weights).forEach((weight) => weight.dispose());
  return times;
}
