//! Sequences drawn from a prior.

use induct::chain::{self, Address, Purpose, Sampler, TaskPrior};
use induct::internal::context_index;
use induct::recipe::Recipe;

fn address(seed: u64) -> Address {
    chain::address(Purpose::Test, seed, 0)
}

/// A prior as a recipe writes it.
pub fn prior(settings: &str, states: usize, ngram: usize) -> TaskPrior {
    let task = format!("states = {states}, ngram = {ngram}, prior = {{ {settings} }}");
    let recipe = Recipe::from_toml(&format!("task = {{ {task} }}\nrecord.tests = []"), &[]);
    recipe.unwrap().prior().unwrap()
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
