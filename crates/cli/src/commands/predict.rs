//! `induct predict`: the model's next-symbol distribution beside every strategy's.

use std::path::PathBuf;

use clap::Args;
use induct::chain::TaskPrior;
use induct::model::Model;
use induct::strategy;
use induct_store::RunFolder;
use serde_json::{Value, json};

use super::{not_a_number, numbers, print, print_json};
use crate::failure::Failure;
use crate::stored_model::{StoredModel, StoredModels};
use crate::tokens;

/// Predict the next symbol: the model's distribution beside every strategy's
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run
    run: PathBuf,
    /// Step of the snapshot to use; the last one if not given
    #[arg(long, value_name = "S", value_parser = numbers::whole, allow_negative_numbers = true)]
    step: Option<u64>,
    /// Look at it under other interventions than those in force at that step; may be repeated. Written as for
    /// `induct train`, such as 'kind="clamp", at="layers.0", pattern="previous-token"' (see
    /// docs/interventions.md)
    #[arg(long, value_name = "KEY=VALUE, …")]
    intervene: Vec<String>,
    /// The symbols seen so far: 0,1,1,0, or as `induct sample` prints them: 0110, "0 11 3" with more than ten
    /// states, [0, 1]
    #[arg(long, value_name = "LIST")]
    tokens: String,
    /// Print {"model": […], "strategies": {"unigram": […], …}}
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = RunFolder::open(&arguments.run)?;
    let tokens = tokens::read(&arguments.tokens, folder.model())?;
    let stored = StoredModels::new(&folder, &arguments.intervene)?.at(arguments.step)?;
    let StoredModel {
        step,
        model,
        params,
    } = stored;
    let answer = predict(&model, &params, &tokens)?;
    if answer.iter().any(|p| !p.is_finite()) {
        return Err(not_a_number(folder.path(), step));
    }
    let strategies = predict_by_strategies(&folder.recipe().prior()?, &tokens)?;
    if arguments.json {
        let strategies: serde_json::Map<String, Value> = strategies
            .into_iter()
            .map(|(name, row)| (name, json!(row)))
            .collect();
        let shown = json!({ "model": answer, "strategies": strategies, "step": step });
        return print_json(&shown);
    }
    let mut text = format!("{:<14}", "next symbol");
    for symbol in 0..model.states() {
        text += &format!("{symbol:>8}");
    }
    text.push('\n');
    let named = std::iter::once((format!("model @{step}"), answer));
    for (name, row) in named.chain(strategies) {
        let row: String = row.iter().map(|p| format!("{p:>8.4}")).collect();
        text += &format!("{name:<14}{row}\n");
    }
    print(&text)
}

/// The model's distribution after the last symbol.
fn predict(model: &Model, params: &[f32], tokens: &[u8]) -> Result<Vec<f64>, Failure> {
    Ok(model.evaluator(params)?.next_distribution(tokens)?)
}

/// Every strategy's distribution of the next symbol.
fn predict_by_strategies(
    prior: &TaskPrior,
    tokens: &[u8],
) -> Result<Vec<(String, Vec<f64>)>, Failure> {
    let strategies = strategy::all(prior)?.into_iter();
    let answers = strategies.map(|strategy| {
        let answer = strategy.next_distribution(tokens);
        let answer = answer.map_err(|error| Failure::mistake(error.to_string()))?;
        Ok((strategy.name(), answer))
    });
    answers.collect()
}
