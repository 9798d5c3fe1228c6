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
use induct::probe::Instruments;
use induct::run::Recorder;
use induct::strategy::{Seen, Strategy};
use induct::train::Recipe;

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

    fn predict_next(&self, seen: Seen, out: &mut [f64]) {
        let recent = &seen.tokens[seen.tokens.len().saturating_sub(self.window)..];
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
    let mut recipe = Recipe::from_toml("train = { steps = 3000 }", &[])?;
    recipe.record.strategies = vec!["bayes".into()];
    recipe.record.custom_strategies = [10, 30]
        .map(|window| {
            let strategy = Forgetful {
                states: recipe.task.states,
                window,
            };
            Custom::<dyn Strategy>::new(strategy.name(), Arc::new(strategy))
                .with("window", window as f64)
        })
        .into();
    let run = Recorder::record(&recipe, Arc::new(Instruments::new(&recipe)?))?;
    let names = run.history.strategies();
    println!(
        "KL(strategy ‖ model) in nats\n\n  step{}",
        names.iter().map(|n| format!("{n:>9}")).collect::<String>()
    );
    for (row, step) in run.history.steps().into_iter().enumerate().step_by(15) {
        let distance = |name| {
            run.history
                .column(KL_STRATEGY.of_strategy(name))
                .map(|all| all[row])
        };
        let cells = names.iter().filter_map(|name| distance(name));
        println!(
            "{step:>6}{}",
            cells.map(|kl| format!("{kl:>9.4}")).collect::<String>()
        );
    }
    Ok(())
}
