//! The minimal model's formula: f(E) = mask(E W_k (M E)ᵀ) E.

use super::run::Run;
use super::tape::{Tape, Value};
use crate::model::matrix::Matrix;
use crate::model::minimal::Minimal;
use crate::model::{Array, MinimalForm, Model, Site};

/// All that it computes, by name, up to the logits of every position, [rows, k].
pub(super) fn values<'t>(run: &mut Run<'t>, shape: &Minimal) -> [(&'static str, Value<'t>); 5] {
    let (tokens, rows, k) = (run.sequence.tokens, run.rows(), shape.states);
    let is = |i: usize, c: usize| f64::from(u8::from(usize::from(tokens[i]) == c));
    let e = run.tape.constant(Matrix::from_fn(rows, k, is));
    let w_k = run.weight(&shape.w_k, k);
    let v = run.weight(&shape.v, shape.length);
    // M_ij = v_{i−j}
    let m = v.take((rows, rows), |i, j| Some((0, i.checked_sub(j)?)));
    let m = match shape.form {
        MinimalForm::Linear => m,
        MinimalForm::Softmax => m.causal_softmax(),
    };
    let m = run.seen(Site::Pattern { layer: 0, head: 0 }, m);
    let before = m.times(e);
    let scores = e.times(w_k).times(before.transposed());
    let masked = scores.take((rows, rows), |i, j| (j <= i).then_some((i, j)));
    [
        ("embed", e),
        ("layers.0.attn_pattern", m),
        ("layers.0.head_out", before),
        ("layers.1.attn_scores", masked),
        ("logits", masked.times(e)),
    ]
}

/// All that a minimal model computes on a sequence, by name.
pub(in crate::model) fn activations(
    model: &Model,
    shape: &Minimal,
    params: &[f32],
    tokens: &[u8],
) -> Vec<(String, Array)> {
    let (tape, params) = (Tape::default(), params.iter().map(|&w| w.into()));
    let params: Vec<f64> = params.collect();
    let mut run = Run::new(&tape, model, &params, tokens.into(), &[]);
    let named = values(&mut run, shape).map(|(name, value)| {
        let Matrix { rows, cols, data } = value.matrix();
        let shape = [1, rows, cols];
        let has_heads = name.starts_with("layers");
        let shape = if has_heads { &shape[..] } else { &shape[1..] };
        let data = data.iter().map(|&x| x as f32).collect();
        (name.to_owned(), Array::new(shape, data))
    });
    named.into()
}
