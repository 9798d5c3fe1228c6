//! Checks shared by the tests of priors.

use super::super::table::TransitionTable;
use super::{PriorSpec, TaskPrior};
use crate::chain::{Address, Purpose};

/// `count` tables drawn from a prior.
pub fn draws(
    spec: impl Into<PriorSpec>,
    states: usize,
    ngram: usize,
    count: usize,
) -> Vec<TransitionTable> {
    let prior = TaskPrior::new(&spec.into(), states, ngram).unwrap();
    let address = Address {
        purpose: Purpose::Test,
        seed: 1,
        step: 0,
    };
    prior.draw_many(count, address).unwrap()
}

/// The field and value for which an impossible prior is refused.
pub fn refusal(spec: impl Into<PriorSpec>, states: usize, ngram: usize) -> (String, String) {
    let invalid = TaskPrior::new(&spec.into(), states, ngram).unwrap_err();
    (invalid.field, invalid.value)
}

/// A field and a value, to compare a refusal with.
pub fn named(field: &str, value: &str) -> (String, String) {
    (field.to_owned(), value.to_owned())
}

/// Mean of `value` over `tables`, with its standard error.
fn mean(tables: &[TransitionTable], value: impl Fn(&TransitionTable) -> f64) -> (f64, f64) {
    let n = tables.len() as f64;
    let sum: f64 = tables.iter().map(&value).sum();
    let squares: f64 = tables.iter().map(|table| value(table).powi(2)).sum();
    let mean = sum / n;
    (mean, ((squares / n - mean * mean) / n).sqrt())
}

/// Asserts that a mean is what it should be, within four standard errors.
pub fn assert_mean(
    tables: &[TransitionTable],
    expected: f64,
    value: impl Fn(&TransitionTable) -> f64,
) {
    let (mean, error) = mean(tables, value);
    assert!(
        (mean - expected).abs() < 4.0 * error,
        "{mean} ± {error}, expected {expected}"
    );
}
