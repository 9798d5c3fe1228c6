//! What every prior guarantees, and properties of the sequences drawn from it.

use induct::chain::{self, Address, Purpose, Sampler, TaskPrior, context_index};
use induct::recipe::Recipe;

fn address(seed: u64) -> Address {
    chain::address(Purpose::Test, seed, 0)
}

/// Every kind of prior at a size it allows.
const ALL_KINDS: [(&str, usize, usize); 18] = [
    ("kind = 'dirichlet'", 2, 2),
    ("kind = 'dirichlet'", 3, 3),
    ("kind = 'dirichlet', alpha = 0.001", 3, 2),
    ("kind = 'dirichlet', alpha = 20.0", 10, 2),
    ("kind = 'dirichlet', alpha = [0.5, 1.0, 4.0]", 3, 2),
    ("kind = 'iid'", 4, 2),
    ("kind = 'iid'", 2, 3),
    ("kind = 'doubly-stochastic'", 2, 2),
    ("kind = 'doubly-stochastic'", 4, 2),
    ("kind = 'doubly-stochastic'", 9, 2),
    ("kind = 'doubly-stochastic'", 3, 3),
    ("kind = 'interpolated', p = 0.0", 2, 2),
    ("kind = 'interpolated', p = 0.7", 2, 2),
    ("kind = 'interpolated', p = 1.0", 2, 2),
    ("kind = 'symmetric', epsilon = 0.2", 2, 2),
    ("kind = 'fixed', table = [[0.25, 0.75], [1.0, 0.0]]", 2, 2),
    ("kind = 'pool', size = 5, seed = 3, of = 'dirichlet'", 3, 2),
    (
        "kind = 'mixture', parts = [{ weight = 1.0, prior = 'iid' }, \
         { weight = 3.0, prior = { kind = 'dirichlet', alpha = 0.3 } }]",
        3,
        2,
    ),
];

/// A prior as a recipe writes it.
pub fn prior(settings: &str, states: usize, ngram: usize) -> TaskPrior {
    let task = format!("states = {states}, ngram = {ngram}, prior = {{ {settings} }}");
    let recipe = Recipe::from_toml(&format!("task = {{ {task} }}\nrecord.tests = []"), &[]);
    recipe.unwrap().prior().unwrap()
}

#[test]
fn rows_are_distributions_and_the_stationary_law_is_stationary() {
    for (spec, states, ngram) in ALL_KINDS {
        for table in prior(spec, states, ngram)
            .draw_many(50, address(1))
            .unwrap()
        {
            let law = table.stationary();
            let mut moved = vec![0.0; law.len()];
            for (context, row) in table.rows().enumerate() {
                assert!(row.iter().all(|p| (0.0..=1.0).contains(p)), "{spec:?}");
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{spec:?}");
                for (symbol, p) in row.iter().enumerate() {
                    moved[(context * states + symbol) % law.len()] += law[context] * p;
                }
            }
            assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (before, after) in law.iter().zip(&moved) {
                assert!(
                    (before - after).abs() < 1e-10,
                    "{spec:?}: {law:?} {moved:?}"
                );
            }
        }
    }
}

#[test]
fn sequences_start_stationary_and_follow_their_table() {
    let rows = "[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.35, 0.65]]";
    let prior = prior(&format!("kind = 'fixed', table = {rows}"), 2, 3);
    let table = &prior.draw_many(1, address(0)).unwrap()[0];
    let mut sampler = Sampler::new(&prior);
    let (sequences, length) = (4_000, 12);
    let mut starts = [0.0; 4];
    let mut counts = [[0.0; 2]; 4];
    let mut tokens = vec![0; length];
    for index in 0..sequences {
        sampler
            .sequence(&prior, address(2), index, &mut tokens)
            .unwrap();
        starts[context_index(&tokens[..2], 2)] += 1.0;
        for window in tokens.windows(3) {
            counts[context_index(&window[..2], 2)][window[2] as usize] += 1.0;
        }
    }
    for context in 0..4 {
        let expected = table.stationary()[context];
        let error = (expected * (1.0 - expected) / sequences as f64).sqrt();
        assert!((starts[context] / sequences as f64 - expected).abs() < 4.0 * error);
        let total: f64 = counts[context].iter().sum();
        let p = table.row(context)[0];
        let error = (p * (1.0 - p) / total).sqrt();
        assert!((counts[context][0] / total - p).abs() < 4.0 * error);
    }
}

/// The samplers' values are part of every published result. These were printed by this test's own
/// draws when the samplers were first checked by the property tests above. A change means that
/// old recipes no longer reproduce.
#[test]
fn draws_keep_their_values() {
    assert_eq!(ALL_KINDS.len(), STABLE.len());
    for ((kind, states, ngram), (first, text)) in ALL_KINDS.into_iter().zip(STABLE) {
        let (prior, mut tokens) = (prior(kind, states, ngram), vec![0; 24]);
        let mut sampler = Sampler::new(&prior);
        let table = sampler.sequence(&prior, address(0), 0, &mut tokens);
        assert_eq!(table.unwrap().row(0)[0], *first, "{kind:?}");
        let drawn: String = tokens.iter().map(u8::to_string).collect();
        assert_eq!(drawn, *text, "{kind:?}");
    }
}

const STABLE: &[(f64, &str)] = &[
    (0.5641730126982372, "110010111001100010000101"),
    (0.34371404514605775, "202110211110022020111001"),
    (1.804851387845415e-35, "111111111111111111111111"),
    (0.10954846327867385, "012762208545958144661389"),
    (0.18657925544048098, "222222221222222022020222"),
    (0.30444387216999286, "220021322202210022010312"),
    (0.5641730126982372, "001001100101111011000110"),
    (0.5641730126982372, "010011001111110111001100"),
    (0.15955187503688667, "320221100022330330233211"),
    (0.07164750489552299, "756640246468184021844641"),
    (0.5060088454411458, "222100222110011110222222"),
    (0.8433618603592681, "000100001000001000000001"),
    (0.388765068483387, "001100101010011000100001"),
    (0.19393787196515216, "001101011010011000100101"),
    (0.6298847976788231, "000000110000111101110011"),
    (0.25, "010100100101010101010010"),
    (0.43489169279526896, "010100210012121202120021"),
    (0.000906585664060404, "121212121212102102021202"),
];
