//! Checks shared by the tests of priors.

use super::super::table::TransitionTable;
use super::TaskPrior;
use crate::chain::{Purpose, Sampler, address};
use crate::probe::{Estimate, Moments};
use crate::recipe::{Recipe, RecipeError};
use crate::settings::schema;

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

/// The first draws of every kind of prior: its settings, k and n, the table's first number, the tokens of a sequence.
///
/// They are part of every published result: new ones are printed by the test below, and a change means that old
/// recipes no longer reproduce.
const DRAWS: &str = "\
'dirichlet' | 2 2 | 0.5641730126982372 | 110010111001100010000101
'dirichlet' | 3 3 | 0.34371404514605775 | 202110211110022020111001
'dirichlet', alpha = 0.001 | 3 2 | 1.804851387845415e-35 | 111111111111111111111111
'dirichlet', alpha = 20.0 | 10 2 | 0.10954846327867385 | 012762208545958144661389
'dirichlet', alpha = [0.5, 1.0, 4.0] | 3 2 | 0.18657925544048098 | 222222221222222022020222
'iid' | 4 2 | 0.30444387216999286 | 220021322202210022010312
'iid' | 2 3 | 0.5641730126982372 | 001001100101111011000110
'doubly-stochastic' | 2 2 | 0.5641730126982372 | 010011001111110111001100
'doubly-stochastic' | 4 2 | 0.15955187503688667 | 320221100022330330233211
'doubly-stochastic' | 9 2 | 0.07164750489552299 | 756640246468184021844641
'doubly-stochastic' | 3 3 | 0.5060088454411458 | 222100222110011110222222
'interpolated', p = 0.0 | 2 2 | 0.8433618603592681 | 000100001000001000000001
'interpolated', p = 0.7 | 2 2 | 0.388765068483387 | 001100101010011000100001
'interpolated', p = 1.0 | 2 2 | 0.19393787196515216 | 001101011010011000100101
'symmetric', epsilon = 0.2 | 2 2 | 0.6298847976788231 | 000000110000111101110011
'fixed', table = [[0.25, 0.75], [1.0, 0.0]] | 2 2 | 0.25 | 010100100101010101010010
'pool', size = 5, seed = 3, of = 'dirichlet' | 3 2 | 0.43489169279526896 | 010100210012121202120021
'mixture', parts = [{ weight = 1.0, prior = 'iid' }, { weight = 3.0, prior = { kind = 'dirichlet', alpha = 0.3 } }] | 3 2 | 0.000906585664060404 | 121212121212102102021202";

/// What every prior guarantees: rows are distributions, the stationary law is stationary, and the first draw of a seed
/// is what it always was.
#[test]
fn draws_keep_their_values() {
    for line in DRAWS.lines() {
        let cells: Vec<&str> = line.split(" | ").collect();
        let sizes: Vec<usize> = cells[1].split(' ').map(|n| n.parse().unwrap()).collect();
        let prior = prior(cells[0], sizes[0], sizes[1]);
        for table in draws(&prior, 50) {
            let law = table.stationary();
            let mut moved = vec![0.0; law.len()];
            for (context, row) in table.rows().enumerate() {
                assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "{line}");
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{line}");
                for (symbol, p) in row.iter().enumerate() {
                    moved[(context * sizes[0] + symbol) % law.len()] += law[context] * p;
                }
            }
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{line}");
            let close = |(before, after): (&f64, &f64)| (before - after).abs() < 1e-10;
            assert!(
                law.iter().zip(&moved).all(close),
                "{line}: {law:?} {moved:?}"
            );
        }
        let (mut sampler, mut drawn) = (Sampler::new(&prior), vec![0; cells[3].len()]);
        let address = address(Purpose::Test, 0, 0);
        let table = sampler.sequence(&prior, address, 0, &mut drawn).unwrap();
        let drawn: String = drawn.iter().map(u8::to_string).collect();
        let first = cells[2].parse().unwrap();
        assert_eq!((table.row(0)[0], &*drawn), (first, cells[3]), "{line}");
    }
    for kind in schema().prior {
        let own = format!("'{}'", kind.kind);
        assert!(DRAWS.lines().any(|line| line.starts_with(&own)), "{own}");
    }
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
