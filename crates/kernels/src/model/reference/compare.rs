//! How far a model's engine is from its formulas: what a new block is checked by.

use std::ops::Range;

use super::tape::Tape;
use super::{Reference, Sequence};
use crate::lanes::{LANES, Lane};
use crate::loss::Loss;
use crate::model::dropout::DropoutKeys;
use crate::model::{InputError, Matrix, Model};
use crate::tokens::TokenBlock;

/// A tensor's gradient is compared with its own size, or with this part of the whole gradient if that is larger:
/// where attention is saturated, it is a small difference of large numbers.
const FLOOR: f64 = 1e-2;

/// Losses and gradients of up to eight sequences, by the formulas.
#[derive(Debug)]
pub struct Expected {
    loss: Loss,
    params: Vec<f32>,
    block: TokenBlock,
    total: f64,
    gradient: Vec<f64>,
}

/// How far an engine's result is from the formulas, relative to their size.
#[derive(Clone, Debug, PartialEq)]
pub struct Deviation {
    /// Of the loss.
    pub loss: f64,
    /// Of the gradient of the tensor for which it is largest.
    pub gradient: f64,
    /// That tensor's name.
    pub tensor: String,
}

impl Deviation {
    /// The larger of both.
    pub fn largest(&self) -> f64 {
        // NaN counts as the largest of all.
        if self.loss < self.gradient {
            self.gradient
        } else {
            self.loss
        }
    }
}

impl Expected {
    /// Computes a model, with its dropout and under its interventions, on up to eight sequences of equal length: t
    /// inputs, and one more token.
    ///
    /// # Errors
    ///
    /// If parameters or sequences do not fit the model.
    pub fn new(
        model: &Model,
        params: &[f32],
        sequences: &[&[u8]],
        loss: Loss,
    ) -> Result<Self, InputError> {
        let sequences = &sequences[..sequences.len().min(LANES)];
        let length = sequences.first().map_or(0, |first| first.len());
        if length < 2 {
            return Err(InputError::Empty);
        }
        let plain = model.with(&[]).expect("a model without interventions");
        let evaluator = plain.evaluator(params)?;
        for tokens in sequences {
            evaluator.check(&tokens[..tokens.len() - 1])?;
            let found = tokens.len();
            if found != length {
                return Err(InputError::Uneven { found, length });
            }
        }
        let block = TokenBlock::from_sequences(sequences);
        let exact: Vec<f64> = params.iter().map(|&w| w.into()).collect();
        let (mut total, mut gradient) = (0.0, vec![0.0; params.len()]);
        for lane in 0..block.used() {
            on_lane(
                (model, &exact),
                (&block, lane),
                &[],
                |reference, targets| {
                    let own = loss.reference(reference.logits, targets);
                    total += own.number();
                    let sums = gradient.iter_mut().zip(reference.gradient(own));
                    sums.for_each(|(sum, part)| *sum += part);
                },
            );
        }
        Ok(Self {
            loss,
            params: params.to_vec(),
            block,
            total,
            gradient,
        })
    }

    /// How far the engine of a model is from it. The model may be computed in another way, and is the same otherwise.
    pub fn deviation(&self, model: &Model) -> Deviation {
        let (total, gradient) = by_engine(model, &self.params, &self.block, self.loss);
        let whole = FLOOR * norm(&self.gradient);
        let of_tensor = |range: &Range<usize>| {
            let (own, exact) = (&gradient[range.clone()], &self.gradient[range.clone()]);
            let apart: Vec<f64> = own.iter().zip(exact).map(|(x, y)| x - y).collect();
            norm(&apart) / norm(exact).max(whole).max(f64::MIN_POSITIVE)
        };
        let tensors = model.layout().tensors().iter();
        let deviations = tensors.map(|tensor| (of_tensor(&tensor.range), &tensor.name));
        let largest = deviations.max_by(|(a, _), (b, _)| a.total_cmp(b));
        let (gradient, tensor) = largest.expect("a model has tensors");
        Deviation {
            loss: (total - self.total).abs() / self.total.abs().max(1e-3),
            gradient,
            tensor: tensor.clone(),
        }
    }
}

/// Loss and gradient of a block by the engine of a model, with dropout if the model has any.
#[doc(hidden)]
pub fn by_engine(model: &Model, params: &[f32], block: &TokenBlock, loss: Loss) -> (f64, Vec<f64>) {
    let keys = lane_keys(block.used());
    let keys = model.has_dropout().then_some(&keys);
    let (rows, used) = (block.rows(), block.used());
    let (inputs, targets) = (&rows[..rows.len() - 1], &rows[1..]);
    let mut evaluator = model.in_training(params);
    evaluator.see_batch(std::slice::from_ref(block), inputs.len());
    let mut summed = vec![0.0; model.gradient_len()];
    let mut total = 0.0;
    let mut evaluate = |rows: Range<usize>, logits: &[Lane], d_logits: &mut [Lane]| {
        total += loss.evaluate(model.level(), logits, &targets[rows], used, 1.0, d_logits);
    };
    evaluator.gradient((inputs, keys), &mut evaluate, &mut summed);
    let mut grads = vec![0.0; params.len()];
    evaluator.pull_back(params, &summed, &mut grads);
    (total, grads.iter().map(|&g| g.into()).collect())
}

/// The keys of the dropout of `used` lanes.
#[doc(hidden)]
pub fn lane_keys(used: usize) -> DropoutKeys {
    DropoutKeys::new(BATCH_KEYS, used, keys_of)
}

/// Calls `read` with the formulas on one lane's sequence, with dropout, and with what interventions held if that is
/// given, and with the tokens that come next.
#[doc(hidden)]
pub fn on_lane<R>(
    (model, params): (&Model, &[f64]),
    (block, lane): (&TokenBlock, usize),
    held: &[Option<Matrix>],
    read: impl FnOnce(&Reference, &[u8]) -> R,
) -> R {
    let (used, length) = (block.used(), block.rows().len() - 1);
    let turned = (0..used).map(|next| block.lane((lane + next) % used));
    let all: Vec<Vec<u8>> = turned.collect();
    let inputs: Vec<&[u8]> = all.iter().map(|sequence| &sequence[..length]).collect();
    let sequence = Sequence {
        tokens: inputs[0],
        keys: Some(keys_of(lane)),
        batch_keys: Some(BATCH_KEYS),
        others: &inputs[1..],
    };
    let tape = Tape::default();
    let reference = Reference::holding(&tape, model, params, sequence, held);
    read(&reference, &all[0][1..])
}

/// The keys of masks that sequences share.
const BATCH_KEYS: [u32; 2] = [0x1234_5678, 0x9abc_def0];

fn keys_of(lane: usize) -> [u32; 2] {
    [0x9e37_79b9, 0x85eb_ca6b].map(|key: u32| key.wrapping_mul(2 * lane as u32 + 1))
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}
