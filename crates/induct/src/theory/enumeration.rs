//! The population loss from its definition: a sum over every sequence.
//!
//! This is the second route, and the only exact one outside the linear region. For a single chain it shares
//! no code with the first: the logits are the paper's double sum, the loss is its definition with `max`, and
//! probabilities are multiplied along the sequence.

use std::collections::BTreeMap;

use super::coupling::Weights;
use super::quadrature::{Degree, WeightedChain, chains};
use crate::chain::TaskPrior;
use crate::{Invalid, require};

/// The result of summing over all sequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Enumeration {
    /// The population loss.
    pub loss: f64,
    /// Its gradient; a term exactly at its kink counts as clamped.
    pub gradient: Weights,
    /// Probability that a term of the loss is clamped at zero, averaged over positions and wrong symbols; 0
    /// in the linear region.
    pub clamped: f64,
    /// The largest f_y − f_i over all sequences that can occur: the smallest margin for which the loss is
    /// linear.
    pub margin_needed: f64,
}

/// The largest number of sequences that is enumerated.
const MAX_SEQUENCES: usize = 1 << 22;

/// Rejects a prior whose number of states differs from that of the weights, and a margin that is not
/// positive.
pub(super) fn check_question(
    prior: &TaskPrior,
    weights: &Weights,
    margin: f64,
) -> Result<(), Invalid> {
    let k = weights.states();
    require(
        prior.states() == k,
        "prior",
        format!("{} states", prior.states()),
        &format!("{k} states, like the weights"),
    )?;
    require(margin > 0.0, "margin", margin, "a number above 0")
}

/// Loss and gradient at `weights` with margin Δ = `margin`, averaged over `prior`.
pub fn enumerate(
    prior: &TaskPrior,
    weights: &Weights,
    margin: f64,
) -> Result<Enumeration, Invalid> {
    weights.check()?;
    let (k, t) = (weights.states(), weights.length());
    let count = k.checked_pow(t as u32 + 1).unwrap_or(usize::MAX);
    require(
        count <= MAX_SEQUENCES,
        "length",
        t,
        &format!("a length with at most {MAX_SEQUENCES} sequences, k^(length + 1), to enumerate"),
    )?;
    check_question(prior, weights, margin)?;
    let chains = chains(
        prior,
        Degree {
            transitions: t,
            shares: t + 1,
        },
    )?;
    // A probability depends only on the first symbol and the number of each transition.
    let mut known: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    let mut sum = Enumeration {
        loss: 0.0,
        gradient: Weights::constant(k, t, 0.0, 0.0),
        clamped: 0.0,
        margin_needed: 0.0,
    };
    let mut x = vec![0; t + 1];
    for number in 0..count {
        let mut rest = number;
        for symbol in x.iter_mut() {
            *symbol = rest % k;
            rest /= k;
        }
        let mut class = vec![0; 1 + k * k];
        class[0] = x[0];
        for pair in x.windows(2) {
            class[1 + pair[0] * k + pair[1]] += 1;
        }
        let of_chain = |chain: &WeightedChain| {
            let steps = x.windows(2).map(|pair| chain.rows[pair[0] * k + pair[1]]);
            chain.weight * chain.stationary[x[0]] * steps.product::<f64>()
        };
        let mean = || chains.iter().map(of_chain).sum();
        let probability = *known.entry(class).or_insert_with(mean);
        if probability > 0.0 {
            sum.add(&x, weights, margin, probability);
        }
    }
    Ok(sum)
}

impl Enumeration {
    /// Adds one sequence: (1/t) Σ_p (1/k) Σ_{i≠y} max{0, Δ + f_i − f_y}, with y = x_{p+1}.
    fn add(&mut self, x: &[usize], weights: &Weights, margin: f64, probability: f64) {
        let (k, t) = (weights.states(), weights.length());
        let share = probability / (t * k) as f64;
        for p in 0..t {
            let (f, y) = (logits(x, p, weights), x[p + 1]);
            for i in (0..k).filter(|&i| i != y) {
                self.margin_needed = self.margin_needed.max(f[y] - f[i]);
                let violation = margin + f[i] - f[y];
                if violation > 0.0 {
                    self.loss += share * violation;
                    self.add_gradient(x, p, i, share, weights);
                    self.add_gradient(x, p, y, -share, weights);
                } else {
                    self.clamped += probability / (t * (k - 1)) as f64;
                }
            }
        }
    }

    /// Adds `factor` times the gradient of f_{p,i}.
    fn add_gradient(&mut self, x: &[usize], p: usize, i: usize, factor: f64, weights: &Weights) {
        let k = weights.states();
        for q in (0..=p).filter(|&q| x[q] == i) {
            for s in 0..=q {
                let entry = x[p] * k + x[s];
                self.gradient.w_k[entry] += factor * weights.v[q - s];
                self.gradient.v[q - s] += factor * weights.w_k[entry];
            }
        }
    }
}

/// f_{p,i} = Σ_{q≤p} 1{x_q = i} Σ_{s≤q} v_{q−s} W_k[x_p, x_s], `[k]`.
pub(super) fn logits(x: &[usize], p: usize, weights: &Weights) -> Vec<f64> {
    let k = weights.states();
    let mut f = vec![0.0; k];
    for q in 0..=p {
        for s in 0..=q {
            f[x[q]] += weights.v[q - s] * weights.w_k[x[p] * k + x[s]];
        }
    }
    f
}
