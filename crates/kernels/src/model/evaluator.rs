//! A model at given parameters, ready to predict.

use super::activations::InputError;
use super::engine::{Compute, Forwarded, InTraining, LossRows};
use super::{Array, Model};
use crate::lanes::{LANES, Lane};
use crate::tokens::TokenBlock;

/// A model at given parameters.
///
/// ```
/// use induct::model::{Model, ModelSpec};
///
/// let model = Model::new(&ModelSpec::default(), 2, 100)?;
/// let trained = model.evaluator(&model.start(0))?;
/// let probabilities = trained.probabilities(&[0, 1, 1, 0])?;
/// assert_eq!(probabilities.shape(), [4, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Evaluator {
    states: usize,
    length: usize,
    /// Whether interventions need the other sequences of a batch.
    needs_batch: bool,
    inner: Box<dyn Compute>,
}

impl Model {
    /// The model at given parameters.
    ///
    /// # Errors
    ///
    /// If the number of parameters is not the model's.
    pub fn evaluator(&self, params: &[f32]) -> Result<Evaluator, InputError> {
        let expected = self.layout().len();
        if params.len() != expected {
            let found = params.len();
            return Err(InputError::Parameters { found, expected });
        }
        Ok(self.at(params))
    }

    /// The same for parameters that are known to fit the model.
    #[doc(hidden)]
    pub fn at(&self, params: &[f32]) -> Evaluator {
        self.computed_by(&*self.evaluation, params)
    }

    /// The same for gradients with dropout, where the model has it.
    #[doc(hidden)]
    pub fn in_training(&self, params: &[f32]) -> Evaluator {
        self.computed_by(&*self.training, params)
    }

    fn computed_by(&self, engine: &dyn Compute, params: &[f32]) -> Evaluator {
        Evaluator {
            states: self.states(),
            length: self.length(),
            needs_batch: self.needs_batch(),
            inner: engine.at(params),
        }
    }

    /// The distribution of the next symbol at every position of a sequence: [positions, k].
    ///
    /// # Errors
    ///
    /// If parameters or tokens do not fit the model.
    pub fn predict(&self, params: &[f32], tokens: &[u8]) -> Result<Array, InputError> {
        self.evaluator(params)?.probabilities(tokens)
    }
}

impl Evaluator {
    /// The logits at every position of a sequence: [positions, k].
    ///
    /// # Errors
    ///
    /// If the tokens do not fit the model.
    pub fn logits(&self, tokens: &[u8]) -> Result<Array, InputError> {
        self.check(tokens)?;
        let block = TokenBlock::from_sequences(&[tokens]);
        let mut logits = Vec::with_capacity(tokens.len() * self.states);
        self.forward(block.rows(), 0, &mut |seen| {
            logits.extend(seen.logits.iter().map(|lane| lane.0[0]));
        });
        Ok(Array::new(&[tokens.len(), self.states], logits))
    }

    /// The distribution of the next symbol at every position of a sequence: [positions, k].
    ///
    /// # Errors
    ///
    /// If the tokens do not fit the model.
    pub fn probabilities(&self, tokens: &[u8]) -> Result<Array, InputError> {
        Ok(softmax(&self.logits(tokens)?))
    }

    /// The distribution of the symbol after a sequence, `[k]`, in double precision.
    ///
    /// # Errors
    ///
    /// If the tokens do not fit the model.
    pub fn next_distribution(&self, tokens: &[u8]) -> Result<Vec<f64>, InputError> {
        let logits = self.last_logits(&[tokens])?;
        let largest = logits
            .data()
            .iter()
            .copied()
            .fold(f32::NEG_INFINITY, f32::max);
        let power = |&logit: &f32| libm::exp(f64::from(logit - largest));
        let powers: Vec<f64> = logits.data().iter().map(power).collect();
        let sum: f64 = powers.iter().sum();
        Ok(powers.iter().map(|power| power / sum).collect())
    }

    /// The logits after the last symbol of each of several sequences of equal length: [sequences, k].
    ///
    /// # Errors
    ///
    /// If a sequence does not fit the model, or differs in length from the first.
    pub fn last_logits(&self, sequences: &[&[u8]]) -> Result<Array, InputError> {
        let length = sequences.first().map_or(0, |first| first.len());
        let mut logits = Vec::with_capacity(sequences.len() * self.states);
        for lanes in sequences.chunks(LANES) {
            for tokens in lanes {
                self.check(tokens)?;
                if tokens.len() != length {
                    let found = tokens.len();
                    return Err(InputError::Uneven { found, length });
                }
            }
            let block = TokenBlock::from_sequences(lanes);
            self.forward(block.rows(), length - 1, &mut |seen| {
                for lane in 0..lanes.len() {
                    logits.extend(seen.logits.iter().map(|logit| logit.0[lane]));
                }
            });
        }
        Ok(Array::new(&[sequences.len(), self.states], logits))
    }

    /// Checks that a sequence fits the model.
    pub(super) fn check(&self, tokens: &[u8]) -> Result<(), InputError> {
        let (states, longest) = (self.states, self.length);
        if self.needs_batch {
            return Err(InputError::Alone);
        }
        if tokens.is_empty() {
            return Err(InputError::Empty);
        }
        if tokens.len() > longest {
            let found = tokens.len();
            return Err(InputError::TooLong { found, longest });
        }
        let unknown = |symbol: &u8| usize::from(*symbol) >= states;
        match tokens.iter().position(unknown) {
            Some(position) => Err(InputError::Symbol {
                symbol: tokens[position],
                position,
                states,
            }),
            None => Ok(()),
        }
    }

    /// Switches to other parameters of the same model.
    #[doc(hidden)]
    pub fn set(&mut self, params: &[f32]) {
        self.inner.set(params);
    }

    /// Takes the means over a batch that interventions put in place of activations; of contexts of `length`
    /// symbols, on the current thread pool. Nothing is done where there are none.
    #[doc(hidden)]
    pub fn see_batch(&mut self, batch: &[TokenBlock], length: usize) {
        self.inner.see_batch(batch, length);
    }

    /// Computes the logits of the positions from `first` on, and passes them to `see`.
    pub fn forward(&self, inputs: &[[u8; LANES]], first: usize, see: &mut dyn FnMut(Forwarded)) {
        self.inner.forward(inputs, first, see);
    }

    /// Sets `grads` to the gradient of a block with respect to the prepared parameters, by lane. Only for models
    /// whose engine sums nothing over lanes: the minimal model, and those in coordinates.
    pub fn gradient_by_lane(&self, inputs: &[[u8; LANES]], loss: LossRows, grads: &mut [Lane]) {
        self.inner.gradient_by_lane(inputs, loss, grads);
    }

    /// The same in training, summed over lanes.
    #[doc(hidden)]
    pub fn gradient(&self, block: InTraining, loss: LossRows, grads: &mut [f32]) {
        self.inner.gradient(block, loss, grads);
    }

    /// Carries a gradient with respect to the prepared parameters, summed over lanes and blocks, back to the
    /// parameters: writes it into `grads`.
    #[doc(hidden)]
    pub fn pull_back(&mut self, params: &[f32], gradient: &[f32], grads: &mut [f32]) {
        self.inner.pull_back(params, gradient, grads);
    }
}

/// Applies the softmax to every row.
fn softmax(logits: &Array) -> Array {
    let shape = logits.shape();
    let mut data = logits.data().to_vec();
    for row in data.chunks_exact_mut(shape[1]) {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for value in row.iter_mut() {
            *value = libm::expf(*value - largest);
        }
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
    Array::new(shape, data)
}
