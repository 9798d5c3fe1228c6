//! How far apart the logits of a minimal model can be: the margin that keeps its loss linear.
//!
//! A term max(0, Δ + f_i − f_y) counts as long as f_y − f_i ≤ Δ. Over all sequences and positions,
//!
//! ```text
//! f_y − f_i ≤ max_ml |W_k[m,l]| · Σ_δ (t − δ) |v_δ|
//! ```
//!
//! since position q contributes to one of the two logits only, and lag δ is met by t − δ of the positions. Where v ≥ 0 and the
//! largest weight is a positive one on the diagonal, the sequence that repeats its symbol reaches this bound.

use super::coupling::Weights;

/// Between which bounds the smallest margin of the linear region lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginBounds {
    /// A difference of logits that some sequence has: a smaller margin cuts the loss off there.
    pub necessary: f64,
    /// No sequence has a larger difference: with this margin the loss is linear.
    pub sufficient: f64,
}

impl MarginBounds {
    /// By how much a margin is too small to be sure of the linear region, if it is.
    ///
    /// What is needed is a long sum: a margin that equals it but for rounding is enough.
    pub fn short_by(&self, margin: f64) -> Option<f64> {
        let short = margin < self.sufficient * (1.0 - 1e-12);
        short.then_some(self.sufficient - margin)
    }
}

/// The margin that the linear region takes at `weights`.
pub fn margin_needed(weights: &Weights) -> MarginBounds {
    let (k, t) = (weights.states(), weights.length());
    let largest = weights
        .w_k
        .iter()
        .fold(0.0, |most: f64, w| most.max(w.abs()));
    let lags = || weights.v.iter().enumerate();
    let spread: f64 = lags().map(|(delta, v)| (t - delta) as f64 * v.abs()).sum();
    // Of the sequences that reach far, those that repeat one symbol and those that alternate between two.
    let mut necessary = 0.0_f64;
    for m in 0..k {
        for other in 0..k {
            let sequence: Vec<u8> = (0..t)
                .map(|q| if (t - 1 - q) % 2 == 0 { m } else { other } as u8)
                .collect();
            let logits = last_logits(weights, &sequence);
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

/// f at the last position, `[k]`.
fn last_logits(weights: &Weights, sequence: &[u8]) -> Vec<f64> {
    let k = weights.states();
    let row = &weights.w_k[sequence[sequence.len() - 1] as usize * k..][..k];
    let mut logits = vec![0.0; k];
    for (q, &symbol) in sequence.iter().enumerate() {
        for (s, &found) in sequence[..=q].iter().enumerate() {
            logits[symbol as usize] += weights.v[q - s] * row[found as usize];
        }
    }
    logits
}
