//! The unigram strategy done right: Bayes for an observer who believes symbols to be independent, and knows
//! how stationary laws are distributed.
//!
//! For two states with p = P(0 → 1) ~ Beta(α₁, α₀) and q = P(1 → 0) ~ Beta(α₀, α₁), the frequency of symbol 0
//! is r = q / (p + q). Its density has a corner (for small α a pole) at r = ½, so each half has its own
//! integral, over the ratio ρ of the smaller of p, q to the larger. For p = ρq, 0 < ρ < 1:
//!
//! ```text
//! density of ρ  =  ρ^(α₁−1) / B(α₀, α₁)² · ∫ q^(α₀+α₁−1) (1−q)^(α₁−1) (1−ρq)^(α₀−1) dq,
//! r = 1 / (1 + ρ),     1 − r = ρ / (1 + ρ);
//! ```
//!
//! the other half is the same with the symbols exchanged. For α = 1 it gives
//! the density 1 / (2 max(r, 1−r)²).

use std::f64::consts::PI;
use std::ops::Range;
use std::sync::Arc;

use super::registry::Entry;
use super::{Scratch, Strategy, assert_fits, predict_last};
use crate::chain::{Law, TaskPrior};
use crate::{Invalid, require};

/// Steps of the double exponential nodes, logit ρ = π sinh x, from coarse to fine: the likelihood of many
/// symbols is narrow, and needs the finer ones. Coarser grids are every second, fourth … node of the finest.
const COARSEST_STEP: f64 = 1.0 / 16.0;
const HALVINGS: u32 = 4;

/// What a step resolves: in x, the likelihood of N symbols is nowhere narrower than about 0.95/√N (standard
/// deviation), and the trapezoidal rule has 12 digits at 0.8 of that. The finest suffices for N = 37,000.
const STEP_TIMES_ROOT_COUNT: f64 = 0.75;

/// Tails are cut where they have fallen by e⁻⁴⁵ since they began …
const TAIL: f64 = 45.0;

/// … they begin at a logit closer to zero than this: the peak for N symbols lies within ln N …
const BULK: f64 = 12.0;

/// … but not beyond what an f64 holds. For α < 0.07 this leaves out up to e^(−700 α) of the mass.
const LARGEST_LOGIT: f64 = 700.0;

/// Step of the inner integral in logit q, whose integrand has no pole nearer than ±iπ, and is no narrower
/// than 1.4/√Σα (standard deviation).
fn inner_step(alpha_sum: f64) -> f64 {
    f64::min(0.5, 1.0 / alpha_sum.sqrt())
}

/// The predictor; see the top of this file.
#[derive(Clone, Debug)]
pub struct BayesUnigram {
    /// Σα
    alpha_sum: f64,
    /// By half: r > ½ (symbol 0 the more frequent), then r < ½.
    halves: [Vec<Node>; 2],
}

/// One node of the integral over ρ.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Logarithm of density times dρ/dx.
    ln_weight: f64,
    /// Frequency of the symbol that is more frequent in this half, and of the other.
    frequent: f64,
    rare: f64,
    ln_frequent: f64,
    ln_rare: f64,
}

pub(super) static ENTRY: Entry = Entry {
    slow: true,
    check: |_, prior| concentrations(prior).map(|_| ()),
    ..Entry::new(
        "bayes-unigram",
        "Bayes for someone who takes symbols for independent and knows how their frequencies are distributed",
        |_, prior| Ok(Arc::new(BayesUnigram::new(prior)?)),
    )
};

/// The concentrations of a prior for which the strategy is defined.
fn concentrations(prior: &TaskPrior) -> Result<[f64; 2], Invalid> {
    let (states, ngram) = (prior.states(), prior.ngram());
    require(
        states == 2 && ngram == 2,
        "strategy",
        format!("\"bayes-unigram\" with {states} states and ngram {ngram}"),
        "\"bayes-unigram\" is defined for 2 states and ngram 2",
    )?;
    let Law::Dirichlet(rows) = prior.law() else {
        return Err(Invalid::new(
            "strategy",
            "\"bayes-unigram\"",
            "\"bayes-unigram\" is defined for a dirichlet prior",
        ));
    };
    Ok([rows.alpha()[0], rows.alpha()[1]])
}

impl BayesUnigram {
    /// Defined for two states, n = 2 and a Dirichlet prior.
    ///
    /// # Errors
    ///
    /// If the prior is a different one.
    pub fn new(prior: &TaskPrior) -> Result<Self, Invalid> {
        let [first, second] = concentrations(prior)?;
        Ok(Self {
            alpha_sum: first + second,
            halves: [half(first, second), half(second, first)],
        })
    }

    /// Writes the distributions at `positions` into `out` ([positions, 2]).
    fn answer(&self, tokens: &[u8], positions: Range<usize>, out: &mut [f64]) {
        let mut counts = [0.0; 2];
        for (position, &symbol) in tokens[..positions.end].iter().enumerate() {
            counts[symbol as usize] += 1.0;
            if position >= positions.start {
                let out = &mut out[(position - positions.start) * 2..][..2];
                self.mean_frequencies(counts, self.stride(counts[0] + counts[1]), out);
            }
        }
    }

    /// Which nodes the likelihood of `count` symbols needs; the density of r is no narrower than that of 2Σα.
    fn stride(&self, count: f64) -> usize {
        let needed = STEP_TIMES_ROOT_COUNT / (count + 2.0 * self.alpha_sum).sqrt();
        (0..=HALVINGS)
            .map(|level| 1 << level)
            .rev()
            .find(|&stride| finest_step() * stride as f64 <= needed)
            .unwrap_or(1)
    }

    /// Posterior means of r and 1 − r after `counts`, using every `stride`-th node.
    fn mean_frequencies(&self, counts: [f64; 2], stride: usize, out: &mut [f64]) {
        let ln_posterior = |node: &Node, frequent: usize| {
            node.ln_weight
                + counts[frequent] * node.ln_frequent
                + counts[1 - frequent] * node.ln_rare
        };
        let mut largest = f64::NEG_INFINITY;
        for (frequent, nodes) in self.halves.iter().enumerate() {
            for node in nodes.iter().step_by(stride) {
                largest = largest.max(ln_posterior(node, frequent));
            }
        }
        out.fill(0.0);
        for (frequent, nodes) in self.halves.iter().enumerate() {
            for node in nodes.iter().step_by(stride) {
                let ln_relative = ln_posterior(node, frequent) - largest;
                if ln_relative > -TAIL {
                    let weight = libm::exp(ln_relative);
                    out[frequent] += weight * node.frequent;
                    out[1 - frequent] += weight * node.rare;
                }
            }
        }
        super::normalize(out);
    }
}

impl Strategy for BayesUnigram {
    fn name(&self) -> String {
        ENTRY.name.to_owned()
    }

    fn states(&self) -> usize {
        2
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        predict_last(self, tokens, out);
    }

    fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        _: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        assert_fits(tokens, &positions, 2, out);
        self.answer(tokens, positions, out);
        None
    }
}

/// Where a tail that falls as e^(−rate · logit) is cut.
fn tail_end(rate: f64) -> f64 {
    (BULK + TAIL / rate).min(LARGEST_LOGIT)
}

fn finest_step() -> f64 {
    COARSEST_STEP / f64::from(1_u32 << HALVINGS)
}

/// The nodes of the half in which the symbol with concentration `frequent` is the more frequent one.
fn half(frequent: f64, rare: f64) -> Vec<Node> {
    let end = |rate: f64| libm::asinh(tail_end(rate) / PI);
    // Towards ρ = 0 the density falls as ρ^α_rare; towards 1 it is flat, or rises as (1−ρ)^(Σα − 1).
    let (low, high) = (-end(rare), end((frequent + rare).min(1.0)));
    let step = finest_step();
    let inner = Inner::new(frequent, rare);
    ((low / step) as i64..=(high / step) as i64)
        .map(|index| {
            let x = index as f64 * step;
            let ratio = Logit::new(PI * libm::sinh(x));
            let ln_one_plus = libm::log1p(libm::exp(ratio.ln));
            let (ln_frequent, ln_rare) = (-ln_one_plus, ratio.ln - ln_one_plus);
            Node {
                ln_weight: inner.ln_density(&ratio)
                    + ratio.ln
                    + ratio.ln_complement
                    + libm::log(libm::cosh(x)),
                frequent: libm::exp(ln_frequent),
                rare: libm::exp(ln_rare),
                ln_frequent,
                ln_rare,
            }
        })
        .collect()
}

/// Logarithms of a number in (0, 1) and of one minus it, both exact at either end.
struct Logit {
    ln: f64,
    ln_complement: f64,
}

impl Logit {
    fn new(logit: f64) -> Self {
        Self {
            ln: logit.min(0.0) - libm::log1p(libm::exp(-logit.abs())),
            ln_complement: -logit.max(0.0) - libm::log1p(libm::exp(-logit.abs())),
        }
    }
}

/// The integral over q for any ρ.
struct Inner {
    frequent: f64,
    rare: f64,
    /// ln B(α₀, α₁)
    ln_beta: f64,
    step: f64,
    /// 1 − q, and the logarithm of everything in the integrand that does not depend on ρ.
    nodes: Vec<(f64, f64)>,
}

impl Inner {
    fn new(frequent: f64, rare: f64) -> Self {
        let sum = frequent + rare;
        let step = inner_step(sum);
        // With ρ near 1, the last factor compensates the decay of the second
        // until 1 − q is as small as 1 − ρ.
        let low = -tail_end(sum);
        let high = (tail_end(rare) + tail_end(sum.min(1.0))).min(LARGEST_LOGIT);
        let nodes = ((low / step) as i64..=(high / step) as i64)
            .map(|index| {
                let q = Logit::new(index as f64 * step);
                // dq = q (1 − q) d logit q raises both exponents by one.
                let ln_fixed = sum * q.ln + rare * q.ln_complement;
                (libm::exp(q.ln_complement), ln_fixed)
            })
            .collect();
        Self {
            frequent,
            rare,
            ln_beta: libm::lgamma(frequent) + libm::lgamma(rare) - libm::lgamma(sum),
            step,
            nodes,
        }
    }

    /// Logarithm of the density of ρ.
    fn ln_density(&self, ratio: &Logit) -> f64 {
        let (rho, complement) = (libm::exp(ratio.ln), libm::exp(ratio.ln_complement));
        let power = self.frequent - 1.0;
        // 1 − ρq = (1 − ρ) + ρ (1 − q), without cancellation.
        let ln_term = |&(one_minus_q, ln_fixed): &(f64, f64)| {
            ln_fixed + power * libm::log(complement + rho * one_minus_q)
        };
        let terms = || self.nodes.iter().map(ln_term);
        let largest = terms().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = terms().map(|term| libm::exp(term - largest)).sum();
        largest + libm::log(sum * self.step) + (self.rare - 1.0) * ratio.ln - 2.0 * self.ln_beta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::prior::checks::prior;

    fn unigram(alpha: [f64; 2]) -> BayesUnigram {
        BayesUnigram::new(&prior(&format!("'dirichlet', alpha = {alpha:?}"), 2, 2)).unwrap()
    }

    #[test]
    fn the_two_halves_together_have_mass_one() {
        for alpha in [[1.0, 1.0], [0.1, 0.1], [10.0, 10.0], [0.2, 5.0]] {
            let mass: f64 = unigram(alpha)
                .halves
                .iter()
                .flatten()
                .map(|node| node.ln_weight.exp() * PI * finest_step())
                .sum();
            assert!((mass - 1.0).abs() < 1e-11, "α = {alpha:?}: {mass}");
        }
    }

    #[test]
    fn the_chosen_nodes_are_as_good_as_the_finest() {
        for alpha in [[1.0, 1.0], [0.1, 0.1], [10.0, 10.0], [0.2, 5.0]] {
            let unigram = unigram(alpha);
            for count in [1.0, 7.0, 50.0, 141.0, 565.0, 2000.0] {
                for share in [0.0, 0.03, 0.3, 0.5, 0.88, 1.0] {
                    let first = f64::round(count * share);
                    let mean = |stride| {
                        let mut out = [0.0; 2];
                        unigram.mean_frequencies([first, count - first], stride, &mut out);
                        out[0]
                    };
                    let (chosen, finest) = (mean(unigram.stride(count)), mean(1));
                    assert!(
                        (chosen - finest).abs() < 1e-11,
                        "α = {alpha:?}, {first} of {count}: {chosen} {finest}"
                    );
                }
            }
        }
    }

    #[test]
    fn predictions_integrate_the_known_density() {
        // f(r) = 1 / (2 max(r, 1−r)²), by Simpson's rule on either side of its corner.
        let moment = |zeros: i32, ones: i32| -> f64 {
            let integrand =
                |r: f64| r.powi(zeros) * (1.0 - r).powi(ones) / (2.0 * r.max(1.0 - r).powi(2));
            let step = 1.0 / 4000.0;
            let panel = |index: i32| {
                let r = f64::from(index) * step;
                let ends = integrand(r) + integrand(r + step);
                (ends + 4.0 * integrand(r + 0.5 * step)) * step / 6.0
            };
            (0..4000).map(panel).sum()
        };
        let tokens = [0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        let mut rows = [0.0; 38];
        unigram([1.0, 1.0]).answer(&tokens, 0..19, &mut rows);
        let (mut zeros, mut ones) = (0, 0);
        for (row, symbol) in rows.chunks_exact(2).zip(tokens) {
            zeros += 1 - symbol as i32;
            ones += symbol as i32;
            let expected = moment(zeros + 1, ones) / moment(zeros, ones);
            assert!((row[0] - expected).abs() < 1e-11, "{row:?} {expected}");
        }
    }
}
