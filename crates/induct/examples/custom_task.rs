//! A task of your own: words that are repeated with slips, in each sequence another word of another length.
//!
//!     cargo run --release -p induct --example custom_task
//!
//! No Markov chain writes such sequences, so counting pairs helps little. The best strategy finds out how long the
//! word is, and looks that far back.

use std::error::Error;
use std::sync::Arc;

use induct::Custom;
use induct::chain::{Alpha, Generator, open_unit};
use induct::measure::KL_TRUTH;
use induct::recipe::Recipe;
use induct::strategy::{Ngram, Strategy, Uniform};
use induct::task::{Sequence, Task};

/// The lengths that a word may have, all equally likely.
const LENGTHS: [usize; 3] = [3, 4, 5];

/// A random word again and again, but for slips to random symbols.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    states: usize,
    slips: f64,
}

impl Repeated {
    /// Writes the law of the symbol after `tokens`, if the word has this length.
    fn law(&self, tokens: &[u8], length: usize, law: &mut [f64]) {
        let k = self.states as f64;
        law.fill(1.0 / k);
        if let Some(earlier) = tokens.len().checked_sub(length) {
            law.fill(self.slips / k);
            law[usize::from(tokens[earlier])] += 1.0 - self.slips;
        }
    }
}

impl Task for Repeated {
    fn states(&self) -> usize {
        self.states
    }

    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence) {
        let length = LENGTHS[(open_unit(rng) * LENGTHS.len() as f64) as usize];
        let mut law = vec![0.0; self.states];
        for _ in 0..sequence.len() {
            self.law(sequence.tokens(), length, &mut law);
            sequence.draw(rng, &law);
        }
    }

    fn ladder(&self) -> Vec<Arc<dyn Strategy>> {
        let counts = |m| Ngram::new(m, self.states, &Alpha::Scalar(1.0)).expect("a small table");
        vec![
            Arc::new(Uniform::new(self.states)),
            Arc::new(counts(1)),
            Arc::new(counts(2)),
            Arc::new(LookBack(*self)),
        ]
    }
}

/// Bayes' rule: every length counts by how well it has predicted so far.
#[derive(Debug)]
struct LookBack(Repeated);

impl Strategy for LookBack {
    fn name(&self) -> String {
        "look-back".into()
    }

    fn states(&self) -> usize {
        self.0.states
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        let mut law = vec![0.0; out.len()];
        out.fill(0.0);
        for length in LENGTHS {
            let mut weight = 1.0;
            for (position, symbol) in tokens.iter().enumerate() {
                self.0.law(&tokens[..position], length, &mut law);
                weight *= law[usize::from(*symbol)];
            }
            self.0.law(tokens, length, &mut law);
            out.iter_mut().zip(&law).for_each(|(p, q)| *p += weight * q);
        }
        let total: f64 = out.iter().sum();
        out.iter_mut().for_each(|p| *p /= total);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (states, slips) = (4, 0.1);
    let repeated = Custom::<dyn Task>::new("repeated", Arc::new(Repeated { states, slips }));
    let mut recipe = Recipe::from_toml(
        "name = \"repeated\"\ntask = { states = 4, length = 40 }\n\
         train = { steps = 2000 }\nrecord = { test_sequences = 256, tests = [] }",
        &[],
    )?;
    // Settings go into the recipe's text, so that runs with others are told apart.
    recipe.task.source = repeated.with("slips", slips).into();
    let run = induct::run::train(&recipe)?;
    for (name, level) in run.summary.levels() {
        println!("KL(truth ‖ {name:<9}): {:.4} nats", level.abs());
    }
    for phase in &run.summary.phases {
        println!(
            "near {:<9} from step {:>4} to {:>4}",
            phase.strategy, phase.onset, phase.end
        );
    }
    let loss = run.history.last(&KL_TRUTH).ok_or("nothing was recorded")?;
    println!("KL(truth ‖ model) at the end: {loss:.4} nats");
    Ok(())
}
