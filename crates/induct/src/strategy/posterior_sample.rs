//! Bayes for Dirichlet rows of any k and n, with weighted draws from the conjugate posterior.
//!
//! If sequences did not start from the stationary law, the posterior would be Dirichlet: α plus
//! counts, row by row. So tables are drawn from that, and each is weighted by the stationary
//! probability of how the sequence started. The weights are probabilities and stay in one range
//! whatever the length, so a few hundred tables suffice. (If every context is equally likely at the start, all
//! weights are equal, and counting would do.)
//!
//! A Dirichlet row is a row of Gamma(α + count) variates over their sum, and
//! Gamma(c + 1) = Gamma(c) + Exp(1): one more symbol costs one exponential variate per table. All
//! variates come from fixed streams, so a position's answer depends only on the tokens up to it.

use std::ops::Range;

use rand_distr::{Distribution, Exp1, Gamma};

use super::fewer;
use crate::chain::{
    Address, DrawError, Purpose, Rows, Start, StationarySolver, TaskPrior, address,
    contexts_with_prefix, slide,
};

/// Lower bounds on the sum of a row's Gamma variates before its first count, and on each of them.
/// They only matter for concentrations that sum to less than about 0.05, whose rows would
/// otherwise underflow to nothing.
const LEAST_TOTAL: f64 = 1e-50;
const LEAST_VARIATE: f64 = 1e-100;

/// The predictor; see the top of this file.
#[derive(Clone, Debug)]
pub(super) struct PosteriorSample {
    /// `[k]`
    alpha: Vec<f64>,
    order: usize,
    contexts: usize,
    start: Start,
    /// Gamma(α) variates, [tables, contexts, k].
    initial: Vec<f64>,
    /// Where the exponentials come from.
    increments: Address,
}

impl PosteriorSample {
    /// `count` tables for a prior whose law is the Dirichlet `rows`.
    pub fn new(prior: &TaskPrior, rows: &Rows, count: usize, seed: u64) -> Result<Self, DrawError> {
        let stream = |step: u64| address(Purpose::Particles, seed, step);
        // Gamma(α_j) for every j = a Dirichlet(α) draw times an independent Gamma(Σα). This way small α,
        // whose variates underflow, still have the shares that the prior gives them.
        let alpha_sum: f64 = rows.alpha().iter().sum();
        let total = Gamma::new(alpha_sum, 1.0).expect("Σα is positive and finite");
        let tables = prior.draw_many(count, stream(0))?;
        let mut initial = Vec::with_capacity(count * tables[0].contexts() * prior.states());
        for (index, table) in tables.iter().enumerate() {
            let mut rng = stream(1).generator(index as u64);
            for row in table.rows() {
                let total: f64 = total.sample(&mut rng).max(LEAST_TOTAL);
                initial.extend(row.iter().map(|share| (share * total).max(LEAST_VARIATE)));
            }
        }
        Ok(Self {
            alpha: rows.alpha().to_vec(),
            order: prior.ngram() - 1,
            contexts: tables[0].contexts(),
            start: prior.start(),
            initial,
            increments: stream(2),
        })
    }

    /// Writes the distributions at `positions` into `out` ([positions, k]).
    pub fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let states = self.alpha.len();
        let size = self.contexts * states;
        scratch.restart(&self.initial, size);
        let mut rng = self.increments.generator(0);
        let mut effective = None;
        let mut context = 0;
        for position in 0..positions.end {
            if position >= self.order {
                let entry = context * states + tokens[position] as usize;
                scratch.counts[entry] += 1.0;
                for variates in scratch.variates.chunks_exact_mut(size) {
                    let increment: f64 = Exp1.sample(&mut rng);
                    variates[entry] += increment;
                }
            }
            context = slide(context, tokens[position], states, self.contexts);
            if position >= positions.start {
                let out = &mut out[(position - positions.start) * states..][..states];
                effective = fewer(
                    effective,
                    Some(self.estimate(&tokens[..=position], context, scratch, out)),
                );
            }
        }
        effective
    }

    /// The distribution after `seen`, from the current variates; returns the effective sample size.
    fn estimate(&self, seen: &[u8], context: usize, scratch: &mut Scratch, out: &mut [f64]) -> f64 {
        let states = out.len();
        let start = contexts_with_prefix(&seen[..seen.len().min(self.order)], states, self.order);
        let complete = seen.len() >= self.order;
        let (mut weights, mut squares) = (0.0, 0.0);
        let Scratch {
            variates,
            counts,
            probs,
            law,
            solver,
            plain,
        } = scratch;
        law.resize(self.contexts, 0.0);
        plain.clear();
        plain.resize(states, 0.0);
        out.fill(0.0);
        for variates in variates.chunks_exact(self.contexts * states) {
            shares(variates, states, probs);
            if !self.start.is_stationary() || solver.solve(probs, states, law).is_err() {
                // The start carries no information: it never does, or there was an underflow, since every
                // share is positive.
                law.fill(1.0 / self.contexts as f64);
            }
            let weight: f64 = law[start.clone()].iter().sum();
            weights += weight;
            squares += weight * weight;
            if complete {
                let row = &probs[context * states..][..states];
                for ((weighted, plain), p) in out.iter_mut().zip(plain.iter_mut()).zip(row) {
                    *weighted += weight * p;
                    *plain += p;
                }
            } else {
                // The next symbol is the most significant digit that the prefix leaves open.
                let share = start.len() / states;
                for (weighted, block) in out.iter_mut().zip(law[start.clone()].chunks(share)) {
                    *weighted += block.iter().sum::<f64>();
                }
            }
        }
        super::normalize(out);
        if complete {
            let tables = variates.len() / (self.contexts * states);
            plain.iter_mut().for_each(|sum| *sum /= tables as f64);
            let row = &counts[context * states..][..states];
            let total: f64 = row.iter().sum::<f64>() + self.alpha.iter().sum::<f64>();
            correct_by_mean(out, plain, |symbol| {
                (row[symbol] + self.alpha[symbol]) / total
            });
        }
        super::effective_count(weights, squares)
    }
}

/// The control variate. The unweighted draws have a known mean, `exact` (here the add-α bigram's answer), and
/// the weighted draws miss by about as much as the unweighted ones do. It is skipped if it would leave
/// a probability at or below zero.
pub(super) fn correct_by_mean(out: &mut [f64], plain: &[f64], exact: impl Fn(usize) -> f64) {
    let corrected = |symbol: usize| out[symbol] - plain[symbol] + exact(symbol);
    if (0..out.len()).all(|symbol| corrected(symbol) > 0.0) {
        for symbol in 0..out.len() {
            out[symbol] += exact(symbol) - plain[symbol];
        }
        super::normalize(out);
    }
}

/// Writes the rows of variates, each over its sum, into `probs` (both [contexts, k]).
fn shares(variates: &[f64], states: usize, probs: &mut Vec<f64>) {
    probs.clear();
    for row in variates.chunks_exact(states) {
        let scale = 1.0 / row.iter().sum::<f64>();
        probs.extend(row.iter().map(|variate| variate * scale));
    }
}

/// Reused from sequence to sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// [tables, contexts, k]
    variates: Vec<f64>,
    /// Transitions so far, [contexts, k].
    counts: Vec<f64>,
    /// One table's rows, [contexts, k].
    probs: Vec<f64>,
    /// One table's stationary law, `[contexts]`.
    law: Vec<f64>,
    solver: StationarySolver,
    /// Unweighted mean of the rows, `[k]`.
    plain: Vec<f64>,
}

impl Scratch {
    fn restart(&mut self, initial: &[f64], size: usize) {
        self.variates.clear();
        self.variates.extend_from_slice(initial);
        self.counts.clear();
        self.counts.resize(size, 0.0);
    }
}
