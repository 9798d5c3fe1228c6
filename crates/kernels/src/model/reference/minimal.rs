//! The minimal model's formula: f(E) = mask(E W_k (M E)ᵀ) E.

use super::run::Run;
use super::tape::Value;
use crate::model::matrix::Matrix;
use crate::model::minimal::Minimal;
use crate::model::{MinimalForm, Site};

/// Logits of every position, [rows, k].
pub(super) fn logits<'t>(run: &mut Run<'t>, shape: &Minimal) -> Value<'t> {
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
    let scores = e.times(w_k).times(m.times(e).transposed());
    let masked = scores.take((rows, rows), |i, j| (j <= i).then_some((i, j)));
    masked.times(e)
}
