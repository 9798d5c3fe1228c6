//! Activations by name: what a model computes on a sequence, as arrays.

use super::reference::minimal;
use super::transformer::stream;
use super::{Array, Kind, Model};
use crate::lanes::LANES;

/// Parameters, tokens or a name that do not fit a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The vector of parameters has the wrong length.
    #[error("{found} parameters for a model that has {expected}")]
    Parameters {
        /// Number of parameters given.
        found: usize,
        /// Number of parameters the model has.
        expected: usize,
    },
    /// The sequence is empty.
    #[error("the sequence is empty: a model predicts from at least one symbol")]
    Empty,
    /// The sequence is too long.
    #[error("the sequence has {found} symbols, and the model sees at most {longest}")]
    TooLong {
        /// Number of symbols given.
        found: usize,
        /// The longest context.
        longest: usize,
    },
    /// A symbol is not one of the model's.
    #[error("symbol {symbol} at position {position} is unknown: the model has symbols 0 to {}", .states - 1)]
    Symbol {
        /// The symbol.
        symbol: u8,
        /// Its position.
        position: usize,
        /// Number of symbols the model has, k.
        states: usize,
    },
    /// Sequences of one batch differ in length.
    #[error(
        "a sequence has {found} symbols, and the first one has {length}: they must be equally long"
    )]
    Uneven {
        /// Length of this sequence.
        found: usize,
        /// Length of the first one.
        length: usize,
    },
    /// An intervention needs the other sequences of a batch.
    #[error(
        "an intervention puts the mean over a batch, or what another sequence gives, in place of an activation: \
         a sequence alone has neither"
    )]
    Alone,
    /// The same, for a few sequences that do not fill a block.
    #[error(
        "{sequences} sequences: an intervention puts the mean over them, or what another one gives, in place of an \
         activation, and then their number is a multiple of {LANES}"
    )]
    LeftOver {
        /// Number of sequences.
        sequences: u64,
    },
    /// There is no activation with that name.
    #[error("there is no activation \"{name}\"; there are {}", .known.join(", "))]
    Activation {
        /// The name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
}

/// What a model computed on one sequence of t symbols, by name.
///
/// | name | shape | what |
/// |---|---|---|
/// | `embed` | [t, d] | what enters the first layer |
/// | `layers.{l}.resid_pre` | [t, d] | the residual stream below layer l |
/// | `layers.{l}.attn_scores` | [H, t, t] | before the softmax; −∞ where a position does not look |
/// | `layers.{l}.attn_pattern` | [H, t, t] | after the softmax: rows sum to one |
/// | `layers.{l}.head_out` | [H, t, d] | what each head adds to the stream |
/// | `layers.{l}.mlp_out` | [t, d] | what the MLP adds to the stream, if there is one |
/// | `layers.{l}.resid_post` | [t, d] | the residual stream above layer l |
/// | `logits` | [t, k] | predictions before the softmax |
///
/// The minimal model has `embed` (one-hot symbols), `layers.0.attn_pattern` (its M), `layers.0.head_out` (M
/// E), `layers.1.attn_scores` (zero where a position does not look) and `logits`.
#[derive(Clone, Debug, PartialEq)]
pub struct Activations {
    arrays: Vec<(String, Array)>,
}

impl Activations {
    /// The activation called `name`.
    ///
    /// # Errors
    ///
    /// If there is none with that name; the error lists those that exist.
    pub fn get(&self, name: &str) -> Result<&Array, InputError> {
        let found = self.arrays.iter().find(|(other, _)| other == name);
        found
            .map(|(_, array)| array)
            .ok_or_else(|| InputError::Activation {
                name: name.to_owned(),
                known: self.names().map(str::to_owned).collect(),
            })
    }

    /// Their names, in the order in which they are computed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.arrays.iter().map(|(name, _)| name.as_str())
    }

    /// All activations with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.arrays
            .iter()
            .map(|(name, array)| (name.as_str(), array))
    }
}

impl IntoIterator for Activations {
    type Item = (String, Array);
    type IntoIter = std::vec::IntoIter<(String, Array)>;

    /// All activations with their names, to keep.
    fn into_iter(self) -> Self::IntoIter {
        self.arrays.into_iter()
    }
}

impl Model {
    /// Everything that the model computes on a sequence.
    ///
    /// A transformer is computed in its residual stream, whichever engine trains it, and the minimal model by its
    /// formula: the numbers are the same up to rounding.
    ///
    /// # Errors
    ///
    /// If parameters or tokens do not fit the model.
    pub fn run(&self, params: &[f32], tokens: &[u8]) -> Result<Activations, InputError> {
        self.evaluator(params)?.check(tokens)?;
        let arrays = match &self.kind {
            Kind::Transformer(shape) => {
                stream::activations(shape, self.level, &self.plan, params, tokens)
            }
            Kind::Minimal(shape) => minimal::activations(self, shape, params, tokens),
        };
        Ok(Activations { arrays })
    }
}
