//! The naive twin: every model in f64, one sequence at a time, written like the formulas.
//!
//! It shares the layout of parameters with the fast path and nothing else. Formulas are written forward, on a
//! [`Tape`], which gives their gradients. Tests check these against finite differences, and the fast path
//! against both.

pub mod formulas;
mod minimal;
mod run;
pub mod tape;
mod transformer;

use self::run::Run;
use self::tape::{Tape, Value};
use super::matrix::Matrix;
use super::{Instead, Intervention, Kind, Model, Site, Target};

/// Logits of every position, [rows, k].
pub fn logits(model: &Model, params: &[f64], tokens: &[u8]) -> Matrix {
    let tape = Tape::default();
    let twin = Twin::new(&tape, model, params, tokens.into());
    twin.logits.matrix()
}

/// Scores and pattern of every layer and head: `[layer][head]`, two matrices [rows, rows] each. Scores are
/// those of j ≤ i; what is above the diagonal means nothing.
pub fn attention(model: &Model, params: &[f64], tokens: &[u8]) -> Vec<Vec<[Matrix; 2]>> {
    let Kind::Transformer(shape) = model.kind() else {
        return Vec::new();
    };
    let tape = Tape::default();
    let twin = Twin::new(&tape, model, params, tokens.into());
    let head = |layer, head| {
        twin.run
            .head(Site::Pattern { layer, head })
            .map(Value::matrix)
    };
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
}

impl<'a> From<&'a [u8]> for Sequence<'a> {
    fn from(tokens: &'a [u8]) -> Self {
        Self { tokens, keys: None }
    }
}

/// A model computed by its formulas on one sequence.
pub struct Twin<'t> {
    run: Run<'t>,
    /// Logits of every position, [rows, k].
    pub logits: Value<'t>,
}

impl<'t> Twin<'t> {
    /// Computes a model whose interventions need nothing but the sequence.
    pub fn new(
        tape: &'t Tape,
        model: &'t Model,
        params: &'t [f64],
        sequence: Sequence<'t>,
    ) -> Self {
        let constants = Constants::alone(model, sequence.tokens);
        Self::under(tape, model, params, sequence, &constants)
    }

    /// The same, given what interventions put in place of activations.
    pub fn under(
        tape: &'t Tape,
        model: &'t Model,
        params: &'t [f64],
        sequence: Sequence<'t>,
        constants: &Constants,
    ) -> Self {
        let mut run = Run::new(tape, model, params, sequence, constants);
        let logits = match model.kind() {
            Kind::Transformer(shape) => transformer::logits(&mut run, shape),
            Kind::Minimal(shape) => minimal::logits(&mut run, shape),
        };
        Self { run, logits }
    }

    /// The gradient by every parameter of a number that was computed from the logits, such as a loss.
    pub fn gradient(&self, number: Value<'t>) -> Vec<f64> {
        self.run.gradient(number)
    }

    /// What interventions put in place of activations here: with everything through which no gradient flows held
    /// where it is, as differences of losses need it.
    pub fn held(&self) -> Constants {
        self.run.constants()
    }
}

/// What interventions put in place of activations on one sequence, by intervention. Where there is nothing, it is
/// the activation itself.
#[derive(Clone, Debug)]
pub struct Constants(Vec<Option<Matrix>>);

impl Constants {
    /// What is known from a sequence alone: zeros and patterns with a name.
    fn alone(model: &Model, tokens: &[u8]) -> Self {
        let rows = tokens.len();
        let constant = |intervention: &Intervention| match (&intervention.instead, model.kind()) {
            (Instead::Zero, Kind::Transformer(shape)) => Some(Matrix::zeros(rows, shape.width)),
            (Instead::Target(Target::Lag(lag)), Kind::Minimal(_)) => {
                // Rows of M need not sum to one.
                let at = |i: usize, j: usize| f64::from(u8::from(i == j + lag));
                Some(Matrix::from_fn(rows, rows, at))
            }
            (Instead::Target(target), _) => {
                let table: Vec<Vec<f64>> = (0..rows).map(|i| target.row(&tokens[..=i])).collect();
                let weight = |i: usize, j: usize| table[i].get(j).copied().unwrap_or(0.0);
                Some(Matrix::from_fn(rows, rows, weight))
            }
            _ => None,
        };
        Self(model.interventions().iter().map(constant).collect())
    }

    /// All of them for sequence `index` of a batch of at most as many sequences as a block has lanes.
    pub fn of(model: &Model, params: &[f64], batch: &[&[u8]], index: usize) -> Self {
        let clean = model.with(&[]).expect("a model without interventions");
        let at = |site: Site, params: &[f64], sequence: usize| {
            let tape = Tape::default();
            let twin = Twin::new(&tape, &clean, params, batch[sequence].into());
            twin.run.at(site).matrix()
        };
        let mut constants = Self::alone(model, batch[index]);
        for (constant, intervention) in constants.0.iter_mut().zip(model.interventions()) {
            let site = intervention.site;
            match &intervention.instead {
                Instead::Mean => {
                    let all = (0..batch.len()).map(|sequence| at(site, params, sequence));
                    let sum = all.reduce(|sum, own| sum.plus(&own)).expect("a sequence");
                    let share = 1.0 / batch.len() as f64;
                    *constant = Some(sum.map(|entry| entry * share));
                }
                Instead::Resampled => {
                    *constant = Some(at(site, params, (index + 1) % batch.len()));
                }
                Instead::Of(weights) => {
                    let weights: Vec<f64> = weights.iter().map(|&w| w.into()).collect();
                    *constant = Some(at(site, &weights, index));
                }
                _ => {}
            }
        }
        constants
    }
}
