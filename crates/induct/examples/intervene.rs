//! What does the second layer wait for? Training with and without a first layer that looks back from the start.
//!
//!     cargo run --release -p induct --example intervene

use induct::model::Target;
use induct::recipe::{InterveneSpec, PatternSpec, Recipe, When};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = [
        "train.steps=1600",
        "record.tests=[]",
        "record.test_sequences=256",
    ];
    let mut recipe = Recipe::from_toml("", &settings.map(String::from))?;
    let clamp = InterveneSpec::Clamp {
        at: "layers.0".into(),
        pattern: PatternSpec::Target(Target::PREVIOUS_TOKEN),
        from: When::Step(0),
        until: None,
    };
    for (name, interventions) in [("untouched", vec![]), ("first layer clamped", vec![clamp])] {
        recipe.intervene = interventions;
        let run = induct::run::train(&recipe)?;
        let phases = run.summary.phases.iter();
        let phases = phases.map(|phase| format!("{} from step {}", phase.strategy, phase.onset));
        println!("{name:20} {}", phases.collect::<Vec<_>>().join(", "));
    }
    Ok(())
}
