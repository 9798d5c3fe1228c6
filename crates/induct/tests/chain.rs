//! What every prior guarantees, and properties of the sequences drawn from it.

use induct::chain::prior::{
    Dirichlet, DoublyStochastic, Fixed, Iid, Interpolated, Mixture, Pool, Symmetric,
};
use induct::chain::{
    self, Address, Alpha, MixturePart, PriorSpec, Purpose, Sampler, TaskPrior, TransitionTable,
    context_index,
};

fn address(seed: u64) -> Address {
    chain::address(Purpose::Test, seed, 0)
}

fn draws(spec: &PriorSpec, states: usize, ngram: usize, count: usize) -> Vec<TransitionTable> {
    TaskPrior::new(spec, states, ngram)
        .unwrap()
        .draw_many(count, address(1))
        .unwrap()
}

fn dirichlet(alpha: f64) -> PriorSpec {
    let alpha = Alpha::Scalar(alpha);
    Dirichlet { alpha }.into()
}

fn iid() -> PriorSpec {
    let alpha = Alpha::Scalar(1.0);
    Iid { alpha }.into()
}

/// Every kind of prior at a size it allows.
fn all_kinds() -> Vec<(PriorSpec, usize, usize)> {
    let doubly_stochastic = || PriorSpec::from(DoublyStochastic {});
    let interpolated = |p| PriorSpec::from(Interpolated { p });
    let uneven = Alpha::Vector(vec![0.5, 1.0, 4.0]);
    let table = vec![vec![0.25, 0.75], vec![1.0, 0.0]];
    let part = |weight, prior| MixturePart { weight, prior };
    let parts = vec![part(1.0, iid()), part(3.0, dirichlet(0.3))];
    let (size, seed, of) = (5, 3, Box::new(dirichlet(1.0)));
    vec![
        (dirichlet(1.0), 2, 2),
        (dirichlet(1.0), 3, 3),
        (dirichlet(1e-3), 3, 2),
        (dirichlet(20.0), 10, 2),
        (Dirichlet { alpha: uneven }.into(), 3, 2),
        (iid(), 4, 2),
        (iid(), 2, 3),
        (doubly_stochastic(), 2, 2),
        (doubly_stochastic(), 4, 2),
        (doubly_stochastic(), 9, 2),
        (doubly_stochastic(), 3, 3),
        (interpolated(0.0), 2, 2),
        (interpolated(0.7), 2, 2),
        (interpolated(1.0), 2, 2),
        (Symmetric { epsilon: 0.2 }.into(), 2, 2),
        (Fixed { table }.into(), 2, 2),
        (Pool { size, seed, of }.into(), 3, 2),
        (Mixture { parts }.into(), 3, 2),
    ]
}

#[test]
fn rows_are_distributions_and_the_stationary_law_is_stationary() {
    for (spec, states, ngram) in all_kinds() {
        for table in draws(&spec, states, ngram, 50) {
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
    let rows = vec![
        vec![0.9, 0.1],
        vec![0.2, 0.8],
        vec![0.6, 0.4],
        vec![0.35, 0.65],
    ];
    let spec = PriorSpec::from(Fixed { table: rows });
    let prior = TaskPrior::new(&spec, 2, 3).unwrap();
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
    let first = |spec: &PriorSpec, states, ngram| -> (Vec<f64>, String) {
        let prior = TaskPrior::new(spec, states, ngram).unwrap();
        let mut tokens = vec![0; 24];
        let table = Sampler::new(&prior)
            .sequence(&prior, address(0), 0, &mut tokens)
            .unwrap()
            .clone();
        let text = tokens.iter().map(u8::to_string).collect();
        (table.row(0).to_vec(), text)
    };
    assert_eq!(all_kinds().len(), STABLE.len());
    for ((spec, states, ngram), (row, tokens)) in all_kinds().into_iter().zip(STABLE) {
        let (drawn_row, drawn_tokens) = first(&spec, states, ngram);
        assert_eq!(
            (drawn_row[0], drawn_tokens.as_str()),
            (*row, *tokens),
            "{spec:?}"
        );
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
