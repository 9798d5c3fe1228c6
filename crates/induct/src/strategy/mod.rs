//! Predictors that need no training: what a model's predictions are compared with.
//!
//! A strategy gives a distribution over the next symbol at every position: at position i it predicts
//! x_{i+1} from x_0 … x_i, and looks at nothing after that.
//!
//! | strategy | knows | file |
//! |---|---|---|
//! | uniform | nothing | here |
//! | unigram, bigram, … | how often symbols followed a context | `ngram` |
//! | bayes-unigram | how stationary laws are distributed | `bayes_unigram` |
//! | bayes | the prior over chains, the stationary start included | `bayes`, and its methods `two_state`, `posterior_sample`, `doubly_stochastic`, `tables`, `mixture` |
//! | oracle | the chain itself | here |

mod bayes;
mod bayes_unigram;
mod complex;
mod doubly_stochastic;
mod mixture;
mod ngram;
mod posterior_sample;
mod tables;
mod two_state;

use std::ops::Range;

pub use bayes::Bayes;
pub use bayes_unigram::BayesUnigram;
pub use ngram::Ngram;

use crate::chain::{Law, TaskPrior, TransitionTable};
use crate::invalid::Invalid;

/// A predictor that needs no training.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// Every symbol alike.
    Uniform {
        /// Number of symbols, k.
        states: usize,
    },
    /// Add-α counts; m = 1 is the unigram strategy, m = 2 the bigram strategy of the paper.
    Ngram(Ngram),
    /// Bayes for someone who takes symbols for independent.
    BayesUnigram(BayesUnigram),
    /// Bayes under the task's prior.
    Bayes(Bayes),
    /// Knows the chain that wrote the sequence.
    Oracle {
        /// Number of symbols, k.
        states: usize,
    },
}

impl Strategy {
    /// Uniform, unigram, bigram and so on up to the n-gram of the task. The counts' α is the prior's if it has
    /// one (`dirichlet`, `iid`), else 1.
    pub fn reference(prior: &TaskPrior) -> Vec<Self> {
        let states = prior.states();
        let ones = vec![1.0; states];
        let alpha = match prior.law() {
            Law::Dirichlet(rows) | Law::Iid(rows) => rows.alpha(),
            _ => &ones,
        };
        let counting = (1..=prior.ngram()).map(|m| Self::Ngram(Ngram::with_alpha(m, alpha)));
        std::iter::once(Self::Uniform { states })
            .chain(counting)
            .collect()
    }

    /// Bayes under `prior`, by the best method there is; see [`Bayes::new`].
    pub fn bayes(prior: &TaskPrior) -> Result<Self, Invalid> {
        Ok(Self::Bayes(Bayes::new(prior)?))
    }

    /// Bayes for independent symbols with the frequencies of `prior`'s chains; see [`BayesUnigram::new`].
    pub fn bayes_unigram(prior: &TaskPrior) -> Result<Self, Invalid> {
        Ok(Self::BayesUnigram(BayesUnigram::new(prior)?))
    }

    /// The one that knows the chain.
    pub fn oracle(prior: &TaskPrior) -> Self {
        Self::Oracle {
            states: prior.states(),
        }
    }

    /// Its name in files, figures and on the page.
    pub fn name(&self) -> String {
        match self {
            Self::Uniform { .. } => "uniform".to_owned(),
            Self::Ngram(ngram) => ngram.name(),
            Self::BayesUnigram(_) => "bayes-unigram".to_owned(),
            Self::Bayes(_) => "bayes".to_owned(),
            Self::Oracle { .. } => "oracle".to_owned(),
        }
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        match self {
            Self::Uniform { states } | Self::Oracle { states } => *states,
            Self::Ngram(ngram) => ngram.states(),
            Self::BayesUnigram(_) => 2,
            Self::Bayes(bayes) => bayes.states(),
        }
    }

    /// Writes the distributions at `positions` into `out` ([positions, k]).
    ///
    /// `tokens` (symbols below k) must reach the last position asked for; what follows is not looked
    /// at, and a position's answer does not depend on which others are asked for. Only the oracle needs
    /// `table`, the chain that wrote the tokens.
    ///
    /// Returns the least effective sample size over the positions, or `None` if nothing was sampled.
    ///
    /// # Panics
    ///
    /// If tokens, positions and `out` do not fit together, or the oracle is given no table.
    pub fn predict(
        &self,
        tokens: &[u8],
        table: Option<&TransitionTable>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let states = self.states();
        assert!(
            positions.end <= tokens.len(),
            "tokens end before the last position"
        );
        assert_eq!(
            out.len(),
            positions.len() * states,
            "one distribution a position"
        );
        if positions.is_empty() {
            return None;
        }
        match self {
            Self::Uniform { .. } => out.fill(1.0 / states as f64),
            Self::Ngram(ngram) => ngram.predict(tokens, positions, &mut scratch.counts, out),
            Self::BayesUnigram(unigram) => unigram.predict(tokens, positions, out),
            Self::Bayes(bayes) => return bayes.predict(tokens, positions, scratch, out).least(),
            Self::Oracle { .. } => {
                let table = table.expect("the oracle is given the table");
                for (position, out) in positions.zip(out.chunks_exact_mut(states)) {
                    table.next_distribution(&tokens[..=position], out);
                }
            }
        }
        None
    }
}

/// Scratch space of every strategy, reused from sequence to sequence; one a thread.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Zeros between calls; see [`Ngram`]'s `predict`.
    counts: Vec<u32>,
    two_state: two_state::Scratch,
    posterior_sample: posterior_sample::Scratch,
    doubly_stochastic: doubly_stochastic::Scratch,
    tables: tables::Scratch,
    /// Predictions of a mixture's components.
    mixture: Vec<f64>,
}

/// The least effective sample size over a number of positions.
#[derive(Clone, Copy, Debug, Default)]
struct EffectiveSamples {
    least: Option<f64>,
}

impl EffectiveSamples {
    fn note(&mut self, count: f64) {
        self.least = Some(self.least.map_or(count, |least| least.min(count)));
    }

    fn merge(&mut self, other: Self) {
        if let Some(count) = other.least {
            self.note(count);
        }
    }

    fn least(self) -> Option<f64> {
        self.least
    }
}

/// Effective number of samples whose weights have the given sum and sum of squares: (Σw)² / Σw².
fn effective_count(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 {
        sum * sum / squares
    } else {
        0.0
    }
}

/// Divides `row` by its sum; false, and the row left alone, if that is zero.
fn normalize(row: &mut [f64]) -> bool {
    let sum: f64 = row.iter().sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|p| *p /= sum);
    }
    sum > 0.0
}
