//! `induct predict`: the model's next-symbol distribution beside every strategy's.

use clap::Args;
use induct_store::RunFolder;
use serde_json::{Map, json};

use super::not_a_number;
use crate::failure::Failure;
use crate::options::{Interventions, Json, Snapshot};
use crate::stored_model::{StoredModel, StoredModels};
use crate::table::Table;
use crate::tokens;

/// Predict the next symbol: the model's distribution beside every strategy's
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    snapshot: Snapshot,
    #[command(flatten)]
    interventions: Interventions,
    /// The symbols seen so far: 0,1,1,0, or as `induct sample` prints them: 0110, "0 11 3" with more than ten
    /// states, [0, 1]
    #[arg(long, value_name = "LIST")]
    tokens: String,
    #[command(flatten)]
    json: Json,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = arguments.snapshot.at()?;
    let folder = RunFolder::open(&run.path)?;
    let tokens = tokens::read(&arguments.tokens, folder.model()?)?;
    let interventions = &arguments.interventions.intervene;
    let StoredModel {
        step,
        model,
        params,
    } = StoredModels::new(&folder, interventions)?.at(run.step)?;
    let prediction = model.evaluator(&params)?.next_distribution(&tokens)?;
    if prediction.iter().any(|p| !p.is_finite()) {
        return Err(not_a_number(folder.path(), step));
    }
    let symbols = (0..prediction.len()).map(|symbol| symbol.to_string());
    let mut table = Table::new(["next symbol".to_owned()].into_iter().chain(symbols));
    let mut add = |name: String, row: &[f64]| {
        let cells = row.iter().map(|p| format!("{p:.4}"));
        table.row([name].into_iter().chain(cells));
    };
    add(format!("model @{step}"), &prediction);
    let mut strategies = Map::new();
    for strategy in folder.recipe().own_task()?.strategies()? {
        let prediction = strategy.next_distribution(&tokens);
        let prediction = prediction.map_err(|error| Failure::usage(error.to_string()))?;
        add(strategy.name(), &prediction);
        strategies.insert(strategy.name(), json!(prediction));
    }
    let value = json!({ "model": prediction, "strategies": strategies, "step": step });
    arguments.json.print(&value, &table.text(""))
}
