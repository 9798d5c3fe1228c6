//! A strategy of your own: bigrams that forget.
//!
//!     cargo run --release -p induct --example custom_strategy
//!
//! The model is compared with it at every recorded step, beside the built-in ones: does it look back as far
//! as it could?

use std::error::Error;
use std::sync::Arc;

use induct::Custom;
use induct::measure::KL_STRATEGY;
use induct::recipe::Recipe;
use induct::strategy::Strategy;

/// Counts what followed the last symbol, but within the last `window` symbols only.
#[derive(Debug)]
struct Forgetful {
    states: usize,
    window: usize,
}

impl Strategy for Forgetful {
    fn name(&self) -> String {
        format!("last-{}", self.window)
    }

    fn states(&self) -> usize {
        self.states
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        let recent = &tokens[tokens.len().saturating_sub(self.window)..];
        out.fill(1.0);
        for pair in recent
            .windows(2)
            .filter(|pair| pair[0] == recent[recent.len() - 1])
        {
            out[usize::from(pair[1])] += 1.0;
        }
        let total: f64 = out.iter().sum();
        out.iter_mut().for_each(|p| *p /= total);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut recipe = Recipe::from_toml(
        "train = { steps = 3000 }\nrecord = { test_sequences = 256 }",
        &[],
    )?;
    recipe.record.strategies.push("bayes".into());
    for window in [10, 30] {
        let strategy = Forgetful { states: 2, window };
        let part = Custom::<dyn Strategy>::new(strategy.name(), Arc::new(strategy));
        // Settings go into the recipe's text, so that runs with others are told apart.
        let part = part.with("window", window as f64);
        recipe.record.custom_strategies.push(part);
    }
    let run = induct::run::train(&recipe)?;
    println!("KL(strategy ‖ model) in nats, every 500 steps");
    for name in run.history.strategies() {
        let column = KL_STRATEGY.of_strategy(&name);
        let distances = run.history.column(column).unwrap_or_default();
        let shown = distances.iter().step_by(25);
        let shown: Vec<String> = shown.map(|kl| format!("{kl:.4}")).collect();
        println!("{name:>8}  {}", shown.join("  "));
    }
    Ok(())
}
