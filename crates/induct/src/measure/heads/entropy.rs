//! How spread out attention is.

use super::{AttentionRow, HeadScore, LANES};
use crate::measure::{BuiltIn, NON_NEGATIVE, Reading};

/// Entropy of attention.
pub static ENTROPY: BuiltIn = BuiltIn {
    name: "entropy",
    meaning: "mean entropy of the attention pattern",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Head(&Entropy),
};

/// −Σ_j A_ij ln A_ij.
#[derive(Clone, Copy, Debug)]
pub struct Entropy;

impl HeadScore for Entropy {
    fn score(&self, row: &AttentionRow) -> [f32; LANES] {
        let mut sum = [0.0_f32; LANES];
        for weight in row.weights {
            for lane in 0..LANES {
                let p = weight.0[lane];
                sum[lane] -= if p > 0.0 { p * libm::logf(p) } else { 0.0 };
            }
        }
        sum
    }
}
