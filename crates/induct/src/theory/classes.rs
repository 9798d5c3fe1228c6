//! Two-state sequences grouped by their counts: exact losses of predictors that look at nothing else.
//!
//! Under a Markov chain, all sequences with the same first symbol and the same number of each transition are
//! equally likely, and there are only about t²/2 such classes. A sequence consists of R runs of alternating
//! symbols. If its first symbol occurs u times out of t, in ⌈R/2⌉ runs, there are C(u−1, ⌈R/2⌉−1) · C(t−u−1,
//! ⌊R/2⌋−1) ways to place the run boundaries.

use super::coupling::check_length;
use super::quadrature::{Degree, chains};
use crate::chain::TaskPrior;
use crate::{Invalid, require};

/// All sequences of t symbols with the same first symbol and the same number of each transition.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The first symbol.
    pub first: usize,
    /// The last symbol.
    pub last: usize,
    /// How often each symbol occurs.
    pub symbols: [usize; 2],
    /// How often each symbol follows each: `transitions[from][to]`.
    pub transitions: [[usize; 2]; 2],
    /// Probability of the class, averaged over the prior.
    pub probability: f64,
    /// Joint probability of the class and each next symbol.
    pub next: [f64; 2],
}

/// Every class of sequences of length t, with its probability under a prior.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    all: Vec<Class>,
}

impl Classes {
    /// The classes of `length` symbols under a prior over chains on two states.
    pub fn new(prior: &TaskPrior, length: usize) -> Result<Self, Invalid> {
        check_length(length)?;
        require(prior.states() == 2, "states", prior.states(), "2")?;
        require(
            length <= 256,
            "length",
            length,
            "at most 256, since the work grows with its fourth power",
        )?;
        let nodes = chains(
            prior,
            Degree {
                transitions: length,
                shares: length + 1,
            },
        )?;
        let mut all: Vec<Class> = (0..2).flat_map(|first| empty(first, length)).collect();
        let ways: Vec<f64> = all.iter().map(ways).collect();
        for node in &nodes {
            let powers: Vec<Vec<f64>> = node.rows.iter().map(|&p| powers(p, length)).collect();
            for (class, ways) in all.iter_mut().zip(&ways) {
                let counts = class.transitions.as_flattened().iter().zip(&powers);
                let likelihood: f64 = counts.map(|(&count, powers)| powers[count]).product();
                let share = node.weight * node.stationary[class.first] * ways * likelihood;
                class.probability += share;
                class.next[0] += share * node.rows[2 * class.last];
                class.next[1] += share * node.rows[2 * class.last + 1];
            }
        }
        Ok(Self { all })
    }

    /// The classes.
    pub fn all(&self) -> &[Class] {
        &self.all
    }

    /// The expected loss in nats: −ln of the probability that `predict` assigns to the next symbol.
    /// Predictions are normalised here, so `predict` may return unnormalised weights.
    pub fn cross_entropy(&self, predict: impl Fn(&Class) -> [f64; 2]) -> f64 {
        let each = |class: &Class| {
            let given = predict(class);
            let total = given[0] + given[1];
            -class.next[0] * (given[0] / total).ln() - class.next[1] * (given[1] / total).ln()
        };
        self.all.iter().map(each).sum()
    }

    /// The Bayes loss: the lowest loss that any predictor without knowledge of the chain can reach.
    pub fn bayes(&self) -> f64 {
        self.cross_entropy(|class| class.next)
    }
}

/// The classes that start with `first`; probabilities are still zero.
fn empty(first: usize, length: usize) -> Vec<Class> {
    let (other, mut all) = (1 - first, Vec::new());
    for runs in 1..=length {
        let (own_runs, other_runs) = (runs.div_ceil(2), runs / 2);
        for own in own_runs..=length - other_runs {
            if other_runs == 0 && own != length {
                continue;
            }
            let (mut symbols, mut transitions) = ([0; 2], [[0; 2]; 2]);
            symbols[first] = own;
            symbols[other] = length - own;
            transitions[first][first] = own - own_runs;
            transitions[other][other] = length - own - other_runs;
            transitions[first][other] = runs / 2;
            transitions[other][first] = (runs - 1) / 2;
            all.push(Class {
                first,
                last: if runs % 2 == 1 { first } else { other },
                symbols,
                transitions,
                probability: 0.0,
                next: [0.0; 2],
            });
        }
    }
    all
}

/// The number of sequences in a class.
fn ways(class: &Class) -> f64 {
    let (first, other) = (class.first, 1 - class.first);
    let cuts = |symbol: usize| {
        let stays = class.transitions[symbol][symbol];
        match class.symbols[symbol] {
            0 => 1.0,
            count => choose(count - 1, stays),
        }
    };
    cuts(first) * cuts(other)
}

fn choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// p⁰ … p^length.
fn powers(p: f64, length: usize) -> Vec<f64> {
    let all = std::iter::successors(Some(1.0), |power| Some(power * p));
    all.take(length + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::PriorSpec;

    #[test]
    fn classes_contain_every_sequence_once() {
        let prior = TaskPrior::new(&PriorSpec::default(), 2, 2).unwrap();
        for length in [1, 2, 5, 40] {
            let classes = Classes::new(&prior, length).unwrap();
            let count: f64 = classes.all().iter().map(ways).sum();
            assert!((count / 2.0_f64.powi(length as i32) - 1.0).abs() < 1e-12);
            let total: f64 = classes.all().iter().map(|class| class.probability).sum();
            assert!((total - 1.0).abs() < 1e-12, "{length}: {total}");
            let next: f64 = classes.all().iter().map(|class| class.next[0]).sum();
            assert!((next - 0.5).abs() < 1e-12, "{length}: {next}");
        }
    }
}
