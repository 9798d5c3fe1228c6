//! A prior of your own: chains that like to stay where they are.
//!
//!     cargo run --release -p induct --example custom_prior
//!
//! With it, guessing by symbol frequencies says little and counting pairs says much, so the unigram phase
//! is short.

use std::error::Error;
use std::sync::Arc;

use induct::chain::{Draft, Generator, Prior, open_interval};
use induct::measure::KL_TRUTH;
use induct::recipe::Recipe;
use induct::{Custom, Invalid};

/// Every state is kept with a probability drawn from an interval, and left for any other alike.
#[derive(Debug)]
struct Sticky {
    least: f64,
}

impl Prior for Sticky {
    fn check(&self, _states: usize, _ngram: usize) -> Result<(), Invalid> {
        let allowed = (0.0..1.0).contains(&self.least);
        let refused = || Invalid::new("least", self.least, "a probability, from 0 to below 1");
        allowed.then_some(()).ok_or_else(refused)
    }

    fn draw(&self, rng: &mut Generator, table: &mut Draft) {
        let states = table.states();
        for context in 0..table.contexts() {
            let stay = open_interval(rng, self.least, 1.0);
            let row = table.row_mut(context);
            row.fill((1.0 - stay) / (states - 1) as f64);
            // A context's last symbol is its index modulo k.
            row[context % states] = stay;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let least = 0.4;
    let sticky = Custom::<dyn Prior>::new("sticky", Arc::new(Sticky { least }));
    let mut recipe = Recipe::from_toml(
        "train = { steps = 3000 }\nrecord = { test_sequences = 256 }",
        &[],
    )?;
    recipe.name = "sticky".into();
    // Settings go into the recipe's text, so that runs with others are told apart.
    recipe.task.prior = sticky.with("least", least).into();
    let run = induct::run::train(&recipe)?;
    println!(
        "{}",
        recipe
            .to_toml()
            .lines()
            .take(12)
            .collect::<Vec<_>>()
            .join("\n")
    );
    for phase in &run.summary.phases {
        println!(
            "near {:<8} from step {:>4} to {:>4}",
            phase.strategy, phase.onset, phase.end
        );
    }
    let loss = run.history.last(&KL_TRUTH).ok_or("nothing was recorded")?;
    println!("KL(truth ‖ model) at the end: {loss:.4} nats");
    Ok(())
}
