//! Predictors that need no training: what a model's predictions are compared with.
//!
//! A [`Strategy`] gives a distribution over the next symbol at every position: at position i it predicts
//! x_{i+1} from x_0 … x_i, and looks at nothing later.
//!
//! What knows the chain itself, the truth, is no strategy: a [`Task`](crate::task::Task) names it. The methods
//! of `bayes` are `two_state`, `posterior_sample`, `doubly_stochastic`, `tables` and `mixture`.
//!
//! Every built-in strategy has its own file here, with an `Entry` that says what it is; [`named`] makes it. To add
//! one, write its file and list it in `strategies!` below. Strategies of other crates enter a recipe as
//! `record.custom_strategies`.

mod bayes;
mod complex;
mod distributions;
mod doubly_stochastic;
mod mixture;
mod ngram;
mod posterior_sample;
pub(crate) mod registry;
mod scratch;
mod tables;
mod two_state;
mod uniform;
mod unigram_and_current;

use std::fmt::Debug;
use std::ops::Range;

pub use distributions::{BadAnswer, Distributions, PredictError};
pub(crate) use registry::{Entry, TRUTH, bytes, check_named, entry, ladder_names};
pub use registry::{all, counting, ladder, named};
pub use scratch::Scratch;

/// Lists all built-in strategies in the order in which commands print them.
macro_rules! strategies {
    ($( $module:ident::$strategy:ident; )*) => {
        $( pub use $module::$strategy; )*

        /// Every built-in strategy.
        pub(crate) static REGISTRY: &[&Entry] = &[$( &$module::ENTRY, )*];
    };
}

strategies! {
    uniform::Uniform;
    ngram::Ngram;
    unigram_and_current::UnigramAndCurrent;
    bayes::Bayes;
}

/// A predictor that needs no training.
///
/// A strategy from another crate needs a name, the number of symbols, and a prediction of the next one. In a
/// recipe, the model is then compared with it at every recorded step: `examples/custom_strategy.rs` is a
/// complete program.
pub trait Strategy: Debug + Send + Sync {
    /// Its name in files and figures: letters, digits and '-', a letter first, and no built-in's name.
    fn name(&self) -> String;

    /// Number of symbols, k, at least 2.
    fn states(&self) -> usize;

    /// Writes the distribution of the symbol that follows `tokens` (at least one, each below k) into `out`
    /// (`[k]`).
    fn predict_next(&self, tokens: &[u8], out: &mut [f64]);

    /// Writes the distributions at `positions` into `out` ([positions, k]). By default, it calls
    /// [`predict_next`] at each. Override it where a position's answer follows from the one before.
    ///
    /// The tokens must reach the last requested position. Later tokens are not looked at, and a position's
    /// answer does not depend on which other positions are requested.
    ///
    /// Returns the smallest effective sample size over the positions, or `None` if nothing was sampled.
    ///
    /// # Panics
    ///
    /// If tokens, positions and `out` do not fit together.
    ///
    /// [`predict_next`]: Strategy::predict_next
    fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let _ = scratch;
        assert_fits(tokens, &positions, self.states(), out);
        for (position, out) in positions.zip(out.chunks_exact_mut(self.states())) {
            self.predict_next(&tokens[..=position], out);
        }
        None
    }
}

/// An implementation of [`Strategy::predict_next`] for a strategy that implements [`Strategy::predict`].
fn predict_last(strategy: &dyn Strategy, tokens: &[u8], out: &mut [f64]) {
    let end = tokens.len();
    strategy.predict(tokens, end - 1..end, &mut Scratch::default(), out);
}

/// Explains what is wrong, instead of a slice index out of range.
fn assert_fits(tokens: &[u8], positions: &Range<usize>, states: usize, out: &[f64]) {
    assert!(
        positions.end <= tokens.len(),
        "the tokens must reach the last position"
    );
    assert_eq!(
        out.len(),
        positions.len() * states,
        "there must be one distribution per position"
    );
}

/// The smaller of two sample sizes; `None` is no sampling at all.
pub(crate) fn fewer(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
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

/// Divides `row` by its sum. Returns false, and leaves the row unchanged, if the sum is zero.
fn normalize(row: &mut [f64]) -> bool {
    let sum: f64 = row.iter().sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|p| *p /= sum);
    }
    sum > 0.0
}
