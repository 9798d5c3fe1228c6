//! Checks shared by the tests of priors.

use super::super::table::TransitionTable;
use super::{PriorSpec, TaskPrior};
use crate::chain::{Purpose, address};
use crate::probe::{Estimate, Moments};

/// `count` tables drawn from a prior.
pub fn draws(
    spec: impl Into<PriorSpec>,
    states: usize,
    ngram: usize,
    count: usize,
) -> Vec<TransitionTable> {
    let prior = TaskPrior::new(&spec.into(), states, ngram).unwrap();
    let address = address(Purpose::Test, 1, 0);
    prior.draw_many(count, address).unwrap()
}

/// Asserts that a mean is what it should be, within four standard errors.
pub fn assert_mean(
    tables: &[TransitionTable],
    expected: f64,
    value: impl Fn(&TransitionTable) -> f64,
) {
    let Estimate { mean, se } = Moments::from_iter(tables.iter().map(value)).estimate();
    assert!(
        (mean - expected).abs() < 4.0 * se,
        "{mean} ± {se}, expected {expected}"
    );
}
