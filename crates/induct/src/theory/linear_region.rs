//! The margin that keeps the loss of a minimal model linear: how far apart its logits can be.
//!
//! A term max(0, Δ + f_i − f_y) is not clamped as long as f_y − f_i ≤ Δ. Over all sequences and positions,
//!
//! ```text
//! f_y − f_i ≤ max_ml |W_k[m,l]| · Σ_δ (t − δ) |v_δ|
//! ```
//!
//! since position q contributes to only one of the two logits, and t − δ positions have a symbol at lag δ. If
//! v ≥ 0 and the weight of largest magnitude is positive and on the diagonal, the sequence that repeats its
//! symbol attains the bound.

use super::coupling::Weights;
use super::enumeration::logits;

/// Bounds on the smallest margin for which the loss is linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginBounds {
    /// A difference of logits that some sequence attains: a smaller margin clamps the loss there.
    pub necessary: f64,
    /// No sequence has a larger difference, so with this margin the loss is linear.
    pub sufficient: f64,
}

impl MarginBounds {
    /// By how much a margin falls short of guaranteeing the linear region; `None` if it does not.
    ///
    /// The bound is a long sum, so a margin that equals it up to rounding is accepted.
    pub fn short_by(&self, margin: f64) -> Option<f64> {
        let short = margin < self.sufficient * (1.0 - 1e-12);
        short.then_some(self.sufficient - margin)
    }
}

/// The margin needed for the loss to be linear at `weights`.
pub fn margin_needed(weights: &Weights) -> MarginBounds {
    let (k, t) = (weights.states(), weights.length());
    let largest = weights
        .w_k
        .iter()
        .fold(0.0, |most: f64, w| most.max(w.abs()));
    let lags = || weights.v.iter().enumerate();
    let spread: f64 = lags().map(|(delta, v)| (t - delta) as f64 * v.abs()).sum();
    // Candidates for the largest difference: sequences that repeat one symbol or alternate between two.
    let mut necessary = 0.0_f64;
    for m in 0..k {
        for other in 0..k {
            let symbol = |q: usize| {
                if (t - 1 - q).is_multiple_of(2) {
                    m
                } else {
                    other
                }
            };
            let sequence: Vec<usize> = (0..t).map(symbol).collect();
            let logits = logits(&sequence, t - 1, weights);
            let (least, most) = logits.iter().fold((f64::MAX, f64::MIN), |(low, high), &f| {
                (low.min(f), high.max(f))
            });
            necessary = necessary.max(most - least);
        }
    }
    MarginBounds {
        necessary,
        sufficient: largest * spread,
    }
}
