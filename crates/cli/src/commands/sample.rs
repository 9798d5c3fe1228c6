//! `induct sample`: the batch that a step trains on.

use clap::Args;
use induct::Invalid;
use induct::internal::{batch_dropout_keys, dropout_keys};
use induct::recipe::Recipe;
use induct::train::{Sample, samples};
use serde::Serialize;

use super::numbers;
use crate::failure::Failure;
use crate::options::{Json, Overrides};
use crate::recipes;

/// Print exactly the batch that a step trains on, with its transition tables
#[derive(Args)]
pub struct Arguments {
    /// File of a recipe, or name of a preset (see `induct presets`)
    recipe: String,
    #[command(flatten)]
    overrides: Overrides,
    /// The step; step 0 is the first, and leads from snapshot 0 to snapshot 1
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0,
        value_parser = numbers::whole,
        allow_negative_numbers = true
    )]
    step: u64,
    #[command(flatten)]
    json: Json,
}

/// A batch: t + 1 tokens per sequence, and what they were drawn from.
#[derive(Serialize)]
struct Batch {
    tokens: Vec<Vec<u8>>,
    /// Transition tables, a row per context.
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<Rows>>,
    /// Without tables, the law of every token but the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    laws: Option<Vec<Rows>>,
    /// What all masks follow from, of a model with dropout.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropout_keys: Option<Vec<[u32; 2]>>,
    /// What those follow from that all sequences share.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_dropout_keys: Option<[u32; 2]>,
    #[serde(skip)]
    states: usize,
}

type Rows = Vec<Vec<f64>>;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let recipe = recipes::load(&arguments.recipe, &arguments.overrides.set)?;
    check_size(&recipe)?;
    let stages = recipe.stages()?;
    let (mut tokens, mut all): (_, Vec<Rows>) = (Vec::new(), Vec::new());
    for sample in samples(&recipe, &stages, arguments.step) {
        let sample = sample?;
        let rows = sample.rows.chunks_exact(recipe.task.states);
        all.push(rows.map(<[f64]>::to_vec).collect());
        tokens.push(sample.tokens);
    }
    let keys = |index| dropout_keys(&recipe, arguments.step, index);
    let has_dropout = recipe.model()?.has_dropout();
    let has_tables = stages.at(arguments.step).chains().is_some();
    let (tables, laws) = match has_tables {
        true => (Some(all), None),
        false => (None, Some(all)),
    };
    let batch = Batch {
        tokens,
        tables,
        laws,
        dropout_keys: has_dropout.then(|| (0..recipe.train.batch as u64).map(keys).collect()),
        batch_dropout_keys: has_dropout.then(|| batch_dropout_keys(&recipe, arguments.step)),
        states: recipe.task.states,
    };
    arguments.json.print(&batch, &batch.text())
}

impl Batch {
    fn text(&self) -> String {
        let separator = if self.states > 10 { " " } else { "" };
        let mut text = String::new();
        let (tables, laws) = (self.tables.iter().flatten(), self.laws.iter().flatten());
        let tables = tables.map(|table| ("context", table));
        let all = tables.chain(laws.map(|laws| ("after position", laws)));
        for (index, (sequence, (of, rows))) in self.tokens.iter().zip(all).enumerate() {
            let symbols: Vec<String> = sequence.iter().map(u8::to_string).collect();
            text += &format!("sequence {index}\n  {}\n", symbols.join(separator));
            for (number, row) in rows.iter().enumerate() {
                let row: Vec<String> = row.iter().map(|p| format!("{p:.4}")).collect();
                text += &format!("  {of} {number}: {}\n", row.join(" "));
            }
        }
        text
    }
}

/// The most numbers to print.
const MOST_NUMBERS: f64 = 5e7;

/// Refuses a batch that is too large to print: all of it is kept in memory until then.
fn check_size(recipe: &Recipe) -> Result<(), Failure> {
    let batch = recipe.train.batch;
    let numbers = batch as f64 * Sample::size(recipe);
    if numbers <= MOST_NUMBERS {
        return Ok(());
    }
    let allowed = format!(
        "{numbers:.0} symbols and probabilities are too many to print (at most {MOST_NUMBERS:.0}); \
         choose a smaller batch, as in --set train.batch=8"
    );
    Err(Invalid::new("train.batch", batch, allowed).into())
}
