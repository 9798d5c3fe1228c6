//! Bayes' rule under the task's own prior: the best that any predictor can do without knowing the chain.
//!
//! Unlike the paper's bigram strategy, it knows how sequences start. From the stationary law, the first symbols
//! already say something about the chain. If every context is equally likely, they say nothing, and for
//! Dirichlet rows Bayes is the add-α n-gram.

use std::ops::Range;
use std::sync::Arc;

use super::doubly_stochastic::DoublyStochastic;
use super::mixture::Mixture;
use super::ngram::Ngram;
use super::posterior_sample::PosteriorSample;
use super::registry::Entry;
use super::tables::Tables;
use super::two_state::TwoState;
use super::{Scratch, Strategy, assert_fits, predict_last};
use crate::chain::{Law, PriorSpec, Purpose, Start, TaskPrior, TransitionTable, address, weighted};
use crate::{Invalid, require};

/// Number of tables that follow the posterior. Their weights hardly differ, so few suffice.
const POSTERIOR_TABLES: usize = 512;

/// Number of tables that are drawn from a prior and stay fixed: most of them lose their weight.
const PRIOR_TABLES: usize = 4096;

pub(super) static ENTRY: Entry = Entry {
    slow: true,
    bytes,
    ..Entry::new("bayes", |_, prior| Ok(Arc::new(Bayes::new(prior)?)))
};

/// Memory of the predictor: the tables it keeps, twice while they are made, and each thread's share.
fn bytes(prior: &PriorSpec, task: [usize; 2], threads: usize) -> f64 {
    let [states, ngram] = task;
    let table = TransitionTable::bytes(states, ngram);
    // Every thread copies the tables that follow the posterior; for fixed tables it keeps only weights.
    let moving = |count: usize| (2.0 + 2.0 * threads as f64) * count as f64 * table;
    let staying =
        |count: usize| count as f64 * (2.0 * table + 4.0 * (threads * size_of::<f64>()) as f64);
    match prior {
        PriorSpec::Iid(_) => 0.0,
        PriorSpec::Dirichlet(_) | PriorSpec::DoublyStochastic(_) => {
            moving(POSTERIOR_TABLES).max(staying(PRIOR_TABLES * usize::from(states == 2)))
        }
        PriorSpec::Fixed(_) => staying(1),
        PriorSpec::Pool(pool) => staying(pool.size),
        PriorSpec::Mixture(mixture) => {
            let parts = mixture.parts.iter();
            parts.map(|part| bytes(&part.prior, task, threads)).sum()
        }
        PriorSpec::Custom(custom) => match custom.part().map(|prior| prior.law()) {
            Ok(Law::Pool(tables, _)) => staying(tables.len()),
            Ok(Law::Dirichlet(_)) => moving(POSTERIOR_TABLES),
            _ => staying(PRIOR_TABLES),
        },
        _ => staying(PRIOR_TABLES),
    }
}

/// The Bayes predictor of a prior: exact where there is a method, by weighted samples otherwise.
#[derive(Clone, Debug)]
pub struct Bayes {
    states: usize,
    /// How many symbols at the start are independent of the chain, and uniform.
    even: usize,
    method: Method,
}

#[derive(Clone, Debug)]
enum Method {
    TwoState(TwoState),
    /// Independent symbols, or rows about which the start says nothing: add-α counting.
    Counts(Ngram),
    /// A complete list of tables.
    Pool(Tables),
    PosteriorSample(PosteriorSample),
    DoublyStochastic(DoublyStochastic),
    PriorSample(Tables),
    Mixture(Mixture),
}

impl Bayes {
    /// Uses the best available method for the prior.
    ///
    /// It is exact for `iid`, `pool` and `fixed` priors, and for `dirichlet` with two states and n = 2, or of
    /// any size if sequences start from a uniform context. It
    /// uses 512 draws from the posterior for other `dirichlet` priors, and for `doubly-stochastic` with three
    /// or more states. For the rest, which have one or two dimensions, it uses 4096 draws from the prior. A
    /// `mixture` uses the best method for each of its parts.
    ///
    /// # Errors
    ///
    /// If a prior from another crate draws something that is not a chain.
    pub fn new(prior: &TaskPrior) -> Result<Self, Invalid> {
        let method = match prior.law() {
            Law::Dirichlet(rows) if !prior.start().is_stationary() => {
                Method::Counts(Ngram::with_alpha(prior.ngram(), rows.alpha()))
            }
            Law::Dirichlet(rows) if prior.states() == 2 && prior.ngram() == 2 => {
                Method::TwoState(TwoState::new([rows.alpha()[0], rows.alpha()[1]]))
            }
            Law::Dirichlet(_) => return Self::by_posterior_sample(prior, POSTERIOR_TABLES, 0),
            Law::Iid(rows) => {
                let unigram = Ngram::with_alpha(1, rows.alpha());
                Method::Counts(unigram.counting_from(even_symbols(prior)))
            }
            Law::Pool(tables, weights) => Method::Pool(Tables::new(tables, weights, prior.start())),
            Law::Mixture(parts) => {
                let parts = weighted(parts);
                Method::Mixture(Mixture::new(prior.states(), prior.start(), parts)?)
            }
            Law::DoublyStochastic if prior.states() > 2 => {
                return Self::by_posterior_sample(prior, POSTERIOR_TABLES, 0);
            }
            Law::DoublyStochastic | Law::Symmetric { .. } | Law::Unknown => {
                return Self::by_prior_sample(prior, PRIOR_TABLES, 0);
            }
        };
        Ok(Self::with(prior, method))
    }

    fn with(prior: &TaskPrior, method: Method) -> Self {
        Self {
            states: prior.states(),
            even: even_symbols(prior),
            method,
        }
    }

    /// Uses `count` tables that follow the posterior, for `dirichlet` and `doubly-stochastic` priors.
    pub fn by_posterior_sample(
        prior: &TaskPrior,
        count: usize,
        seed: u64,
    ) -> Result<Self, Invalid> {
        require(count > 0, "count", count, "at least 1 table")?;
        let method = match prior.law() {
            Law::Dirichlet(rows) => {
                Method::PosteriorSample(PosteriorSample::new(prior, rows, count, seed)?)
            }
            Law::DoublyStochastic => {
                Method::DoublyStochastic(DoublyStochastic::new(prior, count, seed)?)
            }
            _ => {
                return Err(Invalid::new(
                    "method",
                    "\"posterior sample\"",
                    "only dirichlet and doubly-stochastic posteriors can be sampled",
                ));
            }
        };
        Ok(Self::with(prior, method))
    }

    /// Uses draws from the prior (at least one), weighted by likelihood: for every prior, but wasteful.
    pub fn by_prior_sample(prior: &TaskPrior, count: usize, seed: u64) -> Result<Self, Invalid> {
        let address = address(Purpose::Particles, seed, 0);
        let tables = prior.draw_many(count.max(1), address)?;
        let method = Method::PriorSample(Tables::new(&tables, None, prior.start()));
        Ok(Self::with(prior, method))
    }

    /// Whether predictions are free of sampling error.
    pub fn is_exact(&self) -> bool {
        match &self.method {
            Method::TwoState(_) | Method::Counts(_) | Method::Pool(_) => true,
            Method::Mixture(mixture) => mixture.is_exact(),
            Method::PosteriorSample(_) | Method::DoublyStochastic(_) | Method::PriorSample(_) => {
                false
            }
        }
    }
}

/// How many symbols at the start of a sequence are independent of the chain, and uniform.
fn even_symbols(prior: &TaskPrior) -> usize {
    match prior.start() {
        Start::Stationary {} => 0,
        Start::Uniform {} => prior.ngram() - 1,
    }
}

impl Strategy for Bayes {
    fn name(&self) -> String {
        ENTRY.name.to_owned()
    }

    fn states(&self) -> usize {
        self.states
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        predict_last(self, tokens, out);
    }

    fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        assert_fits(tokens, &positions, self.states, out);
        if positions.is_empty() {
            return None;
        }
        let of_method = positions.clone();
        let effective = match &self.method {
            Method::TwoState(exact) => {
                exact.predict(tokens, of_method, scratch.of(), out);
                None
            }
            Method::Counts(counts) => counts.predict(tokens, of_method, scratch, out),
            Method::Pool(tables) => {
                tables.predict(tokens, of_method, scratch.of(), out);
                None
            }
            Method::PosteriorSample(sample) => sample.predict(tokens, of_method, scratch.of(), out),
            Method::DoublyStochastic(walkers) => {
                walkers.predict(tokens, of_method, scratch.of(), out)
            }
            Method::Mixture(mixture) => mixture.predict(tokens, of_method, scratch, out),
            Method::PriorSample(tables) => tables.predict(tokens, of_method, scratch.of(), out),
        };
        // The symbol after position i is the chain's only if i + 1 is beyond the first context.
        let still_even = self.even.saturating_sub(1 + positions.start) * self.states;
        let end = still_even.min(out.len());
        out[..end].fill(1.0 / self.states as f64);
        effective
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::prior::checks::prior;

    #[test]
    fn samples_keep_their_values() {
        let prior = prior("'dirichlet', alpha = [0.5, 1.0, 2.0]", 3, 2);
        let first = |bayes: Bayes| {
            let mut out = [0.0; 3];
            bayes.predict(&[0, 2, 1, 2], 3..4, &mut Scratch::default(), &mut out);
            out[0]
        };
        // Printed by this test when it was written; there is no other source for them. A change means that
        // streams are read in a different order, and that published numbers change.
        let posterior = first(Bayes::by_posterior_sample(&prior, 16, 7).unwrap());
        let from_prior = first(Bayes::by_prior_sample(&prior, 16, 7).unwrap());
        assert!(
            (posterior - 0.174_656_060_794_717_18).abs() < 1e-13,
            "{posterior:?}"
        );
        assert!(
            (from_prior - 0.197_316_632_884_190_3).abs() < 1e-13,
            "{from_prior:?}"
        );
    }
}
