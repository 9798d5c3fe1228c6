//! Dropout as a recipe writes it, and the keys that a sequence's masks follow from.

use serde::{Deserialize, Serialize};

use super::ops::dropout::Rate;
use crate::lanes::LANES;
use crate::{Invalid, require};

/// How often entries are set to zero in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a rate, or a table such as { embedding = 0.1, attention = 0.1, residual = 0.1, positions = 0.1 }"
)]
pub enum Dropout {
    /// The same rate everywhere but on relative positions.
    Everywhere(f64),
    /// A rate for each kind of place.
    ByPlace(DropoutRates),
}

/// Rates of dropout by place; 0 where unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DropoutRates {
    /// Entries of the stream below the first layer.
    pub embedding: f64,
    /// Entries of every attention pattern, after the softmax.
    pub attention: f64,
    /// Entries of what attention and MLP add to the stream.
    pub residual: f64,
    /// Entries of the vectors of relative positions: a mask for every pair of positions, the same for all
    /// sequences of a batch.
    #[serde(skip_serializing_if = "is_zero")]
    pub positions: f64,
}

fn is_zero(rate: &f64) -> bool {
    *rate == 0.0
}

impl Default for Dropout {
    fn default() -> Self {
        Dropout::Everywhere(0.0)
    }
}

impl Dropout {
    /// The rates, checked and rounded.
    pub(super) fn resolve(&self) -> Result<Rates, Invalid> {
        let rate = |field: &str, p: f64| {
            // Beyond this, it would be rounded to one: nothing would be kept.
            let in_range = (0.0..=0.99999).contains(&p);
            let allowed = "a rate of at least 0 and below 1 (at most 0.99999)";
            require(in_range, field, p, allowed).map(|()| Rate::new(p))
        };
        match self {
            Dropout::Everywhere(p) => {
                let everywhere = rate("dropout", *p)?;
                Ok(Rates {
                    embedding: everywhere,
                    attention: everywhere,
                    residual: everywhere,
                    positions: None,
                })
            }
            Dropout::ByPlace(rates) => Ok(Rates {
                embedding: rate("dropout.embedding", rates.embedding)?,
                attention: rate("dropout.attention", rates.attention)?,
                residual: rate("dropout.residual", rates.residual)?,
                positions: rate("dropout.positions", rates.positions)?,
            }),
        }
    }
}

/// The rates of a model; none where nothing is dropped.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub embedding: Option<Rate>,
    pub attention: Option<Rate>,
    pub residual: Option<Rate>,
    pub positions: Option<Rate>,
}

impl Rates {
    /// Whether anything is dropped anywhere.
    pub fn any(&self) -> bool {
        let of_sequences = [self.embedding, self.attention, self.residual];
        of_sequences.iter().any(Option::is_some) || self.positions.is_some()
    }
}

/// The keys of the sequences of a block, two each, and two of their batch. All masks of a sequence follow from its
/// keys, and those that sequences share from the batch's.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropoutKeys {
    /// `[2][lanes]`
    pub lanes: [[u32; LANES]; 2],
    /// Of the batch.
    pub batch: [u32; 2],
}

impl DropoutKeys {
    /// The keys of a batch, and of a block's first `used` lanes; those of spare lanes do not matter.
    pub fn new(batch: [u32; 2], used: usize, of_lane: impl Fn(usize) -> [u32; 2]) -> Self {
        let mut keys = Self {
            batch,
            ..Self::default()
        };
        for lane in 0..used {
            let [first, second] = of_lane(lane);
            (keys.lanes[0][lane], keys.lanes[1][lane]) = (first, second);
        }
        keys
    }
}
