//! Initial weights: random, constant, or one of the paper's hand-made constructions.

use std::ops::Range;

use rand_distr::{Distribution, StandardNormal};

use super::block::{AttentionSpec, BlockSpec, Positions};
use super::init_std::{InitStd, is_drawn};
use super::minimal::Minimal;
use super::spec::{
    MinimalForm, MinimalSpec, MinimalStart, OutputProjection, TransformerSpec, TransformerStart,
};
use super::transformer::Transformer;
use crate::random::{Address, Purpose};
use crate::{Invalid, require};

/// The initial weights of a transformer.
pub(super) fn transformer(shape: &Transformer, spec: &TransformerSpec, seed: u64) -> Vec<f32> {
    match spec.start {
        TransformerStart::Random {} => random(shape, &spec.init_std, seed),
        TransformerStart::Bigram {
            sharpness,
            output_scale,
        } => bigram(shape, sharpness, output_scale),
    }
}

/// Checks that the requested start fits the architecture.
pub(super) fn check_transformer(spec: &TransformerSpec, states: usize) -> Result<(), Invalid> {
    let TransformerStart::Bigram {
        sharpness,
        output_scale,
    } = spec.start
    else {
        return Ok(());
    };
    require(
        (0.0..=1e6).contains(&sharpness),
        "start.sharpness",
        sharpness,
        "a number from 0 to 1000000",
    )?;
    require(
        output_scale.abs() <= 1e6,
        "start.output_scale",
        output_scale,
        "a number from -1000000 to 1000000",
    )?;
    let plain = BlockSpec::Attention(AttentionSpec::default());
    let projects = spec.output_projection == OutputProjection::Always;
    let plain_ends = !spec.layer_norm && !spec.biases && !spec.tied;
    let fits = *spec.block_list()? == [plain.clone(), plain] && plain_ends && !projects;
    require(
        fits && spec.positions == Positions::RelativeKey && spec.width >= 3 * states,
        "start.kind",
        "\"bigram\"",
        &format!(
            "it needs layers = 2, heads = 1, positions = \"relative-key\", no mlp, no layer_norm, no biases, \
             not tied, output_projection = \"several-heads\" and a width of at least 3 * states = {}",
            3 * states
        ),
    )
}

/// Checks that the requested start fits the form of a minimal model.
pub(super) fn check_minimal(spec: &MinimalSpec) -> Result<(), Invalid> {
    let counting = match spec.start {
        MinimalStart::Constant { w, v } => {
            let allowed = "a number from -1000000 to 1000000";
            require(w.abs() <= 1e6, "start.w", w, allowed)?;
            return require(v.abs() <= 1e6, "start.v", v, allowed);
        }
        MinimalStart::Unigram {} => "\"unigram\"",
        MinimalStart::Bigram {} => "\"bigram\"",
    };
    require(
        spec.form == MinimalForm::Linear,
        "start.kind",
        counting,
        "it counts in the linear form only; set model.form = \"linear\"",
    )
}

/// Normal weights, one stream per tensor; gains one, biases zero.
fn random(shape: &Transformer, init_std: &InitStd, seed: u64) -> Vec<f32> {
    let address = Address {
        purpose: Purpose::Init,
        seed,
        step: 0,
    };
    let mut params = vec![0.0; shape.layout.len()];
    for (index, tensor) in shape.layout.tensors().iter().enumerate() {
        let values = &mut params[tensor.range.clone()];
        if is_drawn(tensor) {
            let (mut rng, std) = (address.generator(index as u64), init_std.of(tensor));
            for value in values {
                let normal: f64 = StandardNormal.sample(&mut rng);
                *value = (normal * std) as f32;
            }
        } else if tensor.is_in("gain") {
            values.fill(1.0);
        }
    }
    params
}

/// The two-layer transformer that counts bigrams.
///
/// The stream has three blocks of k columns: the symbol, the symbol before it, and the answer. Layer 1 looks
/// one position back (score c there, 0 elsewhere) and copies that symbol into the second block. Layer 2
/// compares the current symbol with every position's predecessor (score c where they agree) and averages the
/// symbols found there into the third block. The output reads that block, times `output_scale`.
///
/// It has to differ from the paper's text as follows:
/// - the paper's k×3k matrices must be d×d: each is the identity from one block of rows to
///   one block of columns; `W_K` of layer 2 reads block 2 into the columns that `W_Q` fills,
///   or else their product vanishes;
/// - scores are divided by √d, so the sharpness is multiplied by it;
/// - positions p ≤ i are counted, including the current one (the text says p < i);
/// - the first position has no predecessor: its softmax has only itself to look at, so it always counts as
///   one more transition x₀ → x₀. No choice of weights avoids this: in layer 1 a sequence that starts with a
///   symbol and one that repeats it are mixtures of the same single vector;
/// - until the current symbol has had a successor, all scores of layer 2 are equal, and the output is the
///   frequency of symbols so far.
fn bigram(shape: &Transformer, sharpness: f64, output_scale: f64) -> Vec<f32> {
    let (k, d) = (shape.states, shape.width);
    let sharp = (sharpness * (d as f64).sqrt()) as f32;
    let mut params = vec![0.0; shape.layout.len()];
    let mut identity = |place: &Range<usize>, cols: usize, from: usize, to: usize, value: f32| {
        for c in 0..k {
            params[place.start + (from * k + c) * cols + to * k + c] = value;
        }
    };
    let (first, second) = (shape.attention(0), shape.attention(1));
    identity(&shape.embed, d, 0, 0, 1.0);
    identity(&first.w_k, d, 0, 0, sharp);
    identity(&first.w_v, d, 0, 1, 1.0);
    identity(&second.w_q, d, 0, 0, sharp);
    identity(&second.w_k, d, 1, 0, 1.0);
    identity(&second.w_v, d, 0, 2, 1.0);
    identity(&shape.unembed, k, 2, 0, output_scale as f32);
    // The positional vector of lag 1 is one in every symbol's column; with t = 1 there is no lag 1.
    if let (Some(v), true) = (&first.v, shape.length > 1) {
        params[v.start + d..v.start + d + k].fill(1.0);
    }
    params
}

/// The initial weights of a minimal model.
pub(super) fn minimal(shape: &Minimal, start: &MinimalStart) -> Vec<f32> {
    let mut params = vec![0.0; shape.layout.len()];
    let (w_k, v) = (shape.w_k.clone(), shape.v.clone());
    match *start {
        MinimalStart::Constant { w, v: weight } => {
            params[w_k].fill(w as f32);
            params[v].fill(weight as f32);
        }
        MinimalStart::Unigram {} => {
            params[w_k].fill(1.0);
            params[v.start] = 1.0;
        }
        MinimalStart::Bigram {} => {
            for c in 0..shape.states {
                params[w_k.start + c * shape.states + c] = 1.0;
            }
            if shape.length > 1 {
                params[v.start + 1] = 1.0;
            }
        }
    }
    params
}
