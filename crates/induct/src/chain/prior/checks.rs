//! Checks shared by the tests of priors.

use super::super::table::TransitionTable;
use super::TaskPrior;
use crate::chain::{Purpose, address};
use crate::probe::{Estimate, Moments};
use crate::recipe::Recipe;

/// A prior as a recipe writes it: a kind with its settings.
pub fn prior(settings: &str, states: usize, ngram: usize) -> TaskPrior {
    let task = format!("states = {states}, ngram = {ngram}, prior = {{ kind = {settings} }}");
    let recipe = Recipe::from_toml(&format!("task = {{ {task} }}\nrecord.tests = []"), &[]);
    recipe.unwrap().prior().unwrap()
}

/// `count` tables drawn from a prior.
pub fn draws(prior: &TaskPrior, count: usize) -> Vec<TransitionTable> {
    prior
        .draw_many(count, address(Purpose::Test, 1, 0))
        .unwrap()
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
