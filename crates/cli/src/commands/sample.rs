//! `induct sample`: the batch that a step trains on.

use clap::Args;
use induct::chain::Sampler;
use induct::train::{batch_address, prior_at};
use serde_json::json;

use super::{print, print_json};
use crate::failure::Failure;
use crate::recipes;

/// Print exactly the batch that a step trains on, with its transition tables
#[derive(Args)]
pub struct Arguments {
    /// A recipe's file, or the name of a preset
    recipe: String,
    /// Override one key of the recipe
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Which step; step 0 is the first, and leads from snapshot 0 to snapshot 1
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    step: u64,
    /// Print {"tokens": [[…], …], "tables": [[[…], …], …]}, t+1 tokens a row
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let recipe = recipes::load(&arguments.recipe, &arguments.set)?;
    let stages = recipe.stages()?;
    let prior = prior_at(&stages, arguments.step);
    let address = batch_address(&recipe, arguments.step);
    let mut sampler = Sampler::new(prior);
    let (mut tokens, mut tables) = (Vec::new(), Vec::new());
    for index in 0..recipe.train.batch as u64 {
        let mut sequence = vec![0; recipe.task.length + 1];
        let table = sampler.sequence(prior, address, index, &mut sequence);
        tables.push(table.rows().map(<[f64]>::to_vec).collect::<Vec<_>>());
        tokens.push(sequence);
    }
    if arguments.json {
        return print_json(&json!({ "tokens": tokens, "tables": tables }));
    }
    let separator = if recipe.task.states > 10 { " " } else { "" };
    let mut text = String::new();
    for (index, (sequence, table)) in tokens.iter().zip(&tables).enumerate() {
        let symbols: Vec<String> = sequence.iter().map(u8::to_string).collect();
        text += &format!("sequence {index}\n  {}\n", symbols.join(separator));
        for (context, row) in table.iter().enumerate() {
            let row: Vec<String> = row.iter().map(|p| format!("{p:.4}")).collect();
            text += &format!("  context {context}: {}\n", row.join(" "));
        }
    }
    print(&text)
}
