//! The reference: every model in f64, one sequence at a time, written like the formulas.
//!
//! It shares the layout of parameters with the fast path and nothing else. Formulas are written forward, on a
//! [`Tape`], which gives their gradients. Tests check the gradients against finite differences, and the fast
//! path against all of it.

mod compare;
pub mod formulas;
pub(super) mod minimal;
mod run;
pub mod tape;
mod transformer;

pub use self::compare::{Deviation, Expected, by_engine, lane_keys, on_lane};
pub use self::run::Run;
use self::tape::Tape;
pub use self::tape::Value;
use super::matrix::Matrix;
use super::{Kind, Model, Site};

/// Logits of every position, [rows, k].
pub fn logits(model: &Model, params: &[f64], tokens: &[u8]) -> Matrix {
    let tape = Tape::default();
    let reference = Reference::new(&tape, model, params, tokens.into());
    reference.logits.matrix()
}

/// Scores and pattern of every layer and head: `[layer][head]`, two matrices [rows, rows] each. Scores are
/// those of j ≤ i; what is above the diagonal means nothing.
pub fn attention(model: &Model, params: &[f64], tokens: &[u8]) -> Vec<Vec<[Matrix; 2]>> {
    let Kind::Transformer(shape) = model.kind() else {
        return Vec::new();
    };
    let tape = Tape::default();
    let run = Reference::new(&tape, model, params, tokens.into()).run;
    let head = |layer, head| run.head(Site::Pattern { layer, head }).map(Value::matrix);
    let of_layer = |layer| (0..shape.heads(layer)).map(|h| head(layer, h)).collect();
    (0..shape.layer_count()).map(of_layer).collect()
}

/// A sequence as a model sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// `[rows]`
    pub tokens: &'a [u8],
    /// The keys of its dropout, in training (`induct::train::dropout_keys`).
    pub keys: Option<[u32; 2]>,
    /// The keys of its batch (`induct::train::batch_dropout_keys`).
    pub batch_keys: Option<[u32; 2]>,
    /// The other sequences of its batch, the next one first: interventions may need them.
    pub others: &'a [&'a [u8]],
}

impl<'a> From<&'a [u8]> for Sequence<'a> {
    fn from(tokens: &'a [u8]) -> Self {
        let (keys, batch_keys, others) = (None, None, &[][..]);
        Self {
            tokens,
            keys,
            batch_keys,
            others,
        }
    }
}

/// A model computed by its formulas on one sequence.
pub struct Reference<'t> {
    run: Run<'t>,
    /// Logits of every position, [rows, k].
    pub logits: Value<'t>,
}

impl<'t> Reference<'t> {
    /// Computes a model.
    pub fn new(
        tape: &'t Tape,
        model: &'t Model,
        params: &'t [f64],
        sequence: Sequence<'t>,
    ) -> Self {
        Self::holding(tape, model, params, sequence, &[])
    }

    /// Computes a model with what is [`held`](Self::held) in place of activations.
    pub fn holding(
        tape: &'t Tape,
        model: &'t Model,
        params: &'t [f64],
        sequence: Sequence<'t>,
        held: &[Option<Matrix>],
    ) -> Self {
        let mut run = Run::new(tape, model, params, sequence, held);
        let logits = match model.kind() {
            Kind::Transformer(shape) => transformer::logits(&mut run, shape),
            Kind::Minimal(shape) => minimal::values(&mut run, shape)[4].1,
        };
        Self { run, logits }
    }

    /// The gradient by every parameter of a number that was computed from the logits, such as a loss.
    pub fn gradient(&self, number: Value<'t>) -> Vec<f64> {
        let gradients = number.gradients();
        let mut by_parameter = vec![0.0; self.run.params.len()];
        for (place, weight) in &self.run.weights {
            if let Some(own) = gradients.of(*weight) {
                let sums = by_parameter[place.clone()].iter_mut();
                sums.zip(&own.data).for_each(|(sum, part)| *sum += part);
            }
        }
        by_parameter
    }

    /// What interventions put in place of activations, by intervention: no gradient flows into it, so
    /// differences of losses have to hold it where it is.
    pub fn held(&self) -> Vec<Option<Matrix>> {
        let instead = self.run.instead.iter();
        instead.map(|value| Some((*value)?.matrix())).collect()
    }
}
