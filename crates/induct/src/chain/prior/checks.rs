//! Checks shared by the tests of priors.

use super::super::table::TransitionTable;
use super::TaskPrior;
use crate::chain::{Purpose, Sampler, address};
use crate::probe::{Estimate, Moments};
use crate::recipe::{Recipe, RecipeError};

fn recipe(settings: &str, states: usize, ngram: usize) -> Result<Recipe, RecipeError> {
    let task = format!("states = {states}, ngram = {ngram}, prior = {{ kind = {settings} }}");
    Recipe::from_toml(&format!("task = {{ {task} }}\nrecord.tests = []"), &[])
}

/// A prior as a recipe writes it: a kind with its settings.
pub fn prior(settings: &str, states: usize, ngram: usize) -> TaskPrior {
    let recipe = recipe(settings, states, ngram).unwrap();
    recipe.prior().unwrap()
}

/// Why a recipe with this prior, k and n is refused.
pub fn refusal(settings: &str, [states, ngram]: [usize; 2]) -> String {
    recipe(settings, states, ngram).unwrap_err().to_string()
}

/// Asserts what every prior guarantees at some k and n: rows are distributions, the stationary law is stationary,
/// and the first draw of a seed, the table's first number and the tokens of a sequence, is what it always was.
///
/// The draws are part of every published result: new ones are printed by this test itself, and a change means that
/// old recipes no longer reproduce.
pub fn assert_stable(settings: &str, [states, ngram]: [usize; 2], first: f64, tokens: &str) {
    let prior = prior(settings, states, ngram);
    for table in draws(&prior, 50) {
        let law = table.stationary();
        let mut moved = vec![0.0; law.len()];
        for (context, row) in table.rows().enumerate() {
            assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "{settings}");
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{settings}");
            for (symbol, p) in row.iter().enumerate() {
                moved[(context * states + symbol) % law.len()] += law[context] * p;
            }
        }
        assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{settings}");
        let close = |(before, after): (&f64, &f64)| (before - after).abs() < 1e-10;
        assert!(
            law.iter().zip(&moved).all(close),
            "{settings}: {law:?} {moved:?}"
        );
    }
    let (mut sampler, mut drawn) = (Sampler::new(&prior), vec![0; tokens.len()]);
    let address = address(Purpose::Test, 0, 0);
    let table = sampler.sequence(&prior, address, 0, &mut drawn).unwrap();
    let drawn: String = drawn.iter().map(u8::to_string).collect();
    assert_eq!(
        (table.row(0)[0], drawn.as_str()),
        (first, tokens),
        "{settings}"
    );
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
