//! `induct eval`: divergences on a fresh test set, with standard errors.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use indicatif::ProgressBar;
use induct::chain::{Address, Purpose, TaskPrior};
use induct::lanes::LANES;
use induct::probe::{Divergence, Draw, Moments, Positions, TestSet, fewer};
use induct::strategy::{self, Strategy};
use induct::train::Recipe;
use induct_store::RunFolder;
use serde_json::{Map, Value, json};

use super::{Threads, not_a_number, numbers, print, print_json};
use crate::failure::Failure;
use crate::recipes;
use crate::stored_model::{StoredModel, StoredModels};
use crate::words::fixed;

/// Measure a run's model, or the strategies alone, on sequences that no training has seen
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run; with --strategies, a recipe or preset instead [default: main]
    run: Option<String>,
    /// Measure the strategies only; needs no run
    #[arg(long)]
    strategies: bool,
    /// Override one key of the task it is measured on, such as task.prior=iid or seeds.eval=1; with
    /// --strategies, any key of the recipe. May be repeated
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Step of the snapshot to use; the last one if not given
    #[arg(
        long,
        value_name = "S",
        value_parser = numbers::whole,
        allow_negative_numbers = true,
        conflicts_with = "strategies"
    )]
    step: Option<u64>,
    /// Look at it under other interventions than those in force at that step; may be repeated. Written as for
    /// `induct train`, such as 'kind="clamp", at="layers.0", pattern="previous-token"' (see
    /// docs/interventions.md)
    #[arg(long, value_name = "KEY=VALUE, …", conflicts_with = "strategies")]
    intervene: Vec<String>,
    /// Length of the contexts; the recipe's if not given, and at most that
    #[arg(long, value_name = "T", value_parser = numbers::size)]
    length: Option<usize>,
    /// Number of test sequences
    #[arg(long, value_name = "N", default_value_t = 65_536,
          value_parser = numbers::whole_within(2..=100_000_000))]
    sequences: u64,
    /// Print {"model": {"kl_truth": x, "se": x, …}, "strategies": {"unigram": {…}, …}}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Roughly how many numbers are kept in memory at once: predictions on one piece of the test set.
const CHUNK: usize = 1 << 25;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (recipe, trained) = subject(arguments)?;
    let prior = recipe.prior()?;
    let count = arguments.sequences;
    if let Some(StoredModel { model, .. }) = &trained {
        model.check_batch(count)?;
    }
    let measured = arguments
        .threads
        .run(|| measure(&recipe, &prior, trained.as_ref(), count))?;
    let step = trained.map(|trained| trained.step);
    if let (Some(kl), Some(run), Some(step)) = (measured.model, &arguments.run, step)
        && !kl.last.estimate().mean.is_finite()
    {
        return Err(not_a_number(Path::new(run), step));
    }
    if arguments.json {
        let mut shown = measured.json(&recipe, arguments.sequences);
        shown["step"] = json!(step);
        print_json(&shown)
    } else {
        let of = step.map_or(String::new(), |step| {
            format!("the model after step {step}: ")
        });
        print(&(of + &measured.text(&recipe, arguments.sequences)))
    }
}

/// What to measure: the recipe of the task, and the model of a step unless only strategies are wanted.
fn subject(arguments: &Arguments) -> Result<(Recipe, Option<StoredModel>), Failure> {
    let length = arguments.length.map(|t| format!("task.length={t}"));
    let overrides: Vec<String> = arguments.set.iter().cloned().chain(length).collect();
    if arguments.strategies {
        let source = arguments.run.as_deref().unwrap_or("main");
        // A run's folder stands for its recipe.
        let recipe = match RunFolder::open(Path::new(source)) {
            Ok(folder) => Recipe::from_toml(&folder.recipe().to_toml(), &overrides)?,
            Err(_) => recipes::load(source, &overrides)?,
        };
        return Ok((recipe, None));
    }
    let Some(run) = &arguments.run else {
        return Err(Failure::mistake(
            "give the folder of a run, as in `induct eval runs/main`, or --strategies to measure those alone",
        ));
    };
    let folder = RunFolder::open(Path::new(run))?;
    let trained_on = folder.recipe();
    let recipe = Recipe::from_toml(&trained_on.to_toml(), &overrides)?;
    let refuse = |what: String| Err(Failure::mistake(what));
    if recipe.model != trained_on.model || recipe.task.states != trained_on.task.states {
        return refuse(format!(
            "--set changes the model or task.states, but {run} has a trained model of {} states; \
             change only the task it is measured on (task.prior, task.length, seeds.eval)",
            trained_on.task.states
        ));
    }
    if recipe.task.length > trained_on.task.length {
        return refuse(format!(
            "task.length = {} is not allowed: this model sees at most {} symbols; give a smaller --length",
            recipe.task.length, trained_on.task.length
        ));
    }
    // Threads: weights that interventions take from the run itself may have to be trained.
    let stored = arguments
        .threads
        .run(|| StoredModels::new(&folder, &arguments.intervene)?.at(arguments.step))?;
    Ok((recipe, Some(stored)))
}

/// Divergences of the model and of the strategies.
struct Measured {
    /// KL(truth ‖ model), if there is a model.
    model: Option<Divergence>,
    strategies: Vec<Row>,
}

/// One strategy's divergences.
struct Row {
    name: String,
    /// KL(truth ‖ strategy)
    truth: Divergence,
    /// KL(strategy ‖ model)
    to_model: Option<Divergence>,
    effective_samples: Option<f64>,
}

fn measure(
    recipe: &Recipe,
    prior: &TaskPrior,
    trained: Option<&StoredModel>,
    sequences: u64,
) -> Result<Measured, Failure> {
    let asked = strategy::all(prior)?.into_iter().map(|strategy| {
        let positions = match strategy::is_slow(&strategy.name()) {
            true => Positions::Last,
            false => Positions::All,
        };
        (strategy, positions)
    });
    let asked: Vec<(Arc<dyn Strategy>, Positions)> = asked.collect();
    let address = Address {
        purpose: Purpose::Fresh,
        seed: recipe.seeds.eval,
        step: 0,
    };
    let mut measured = Measured {
        model: None,
        strategies: Vec::new(),
    };
    let progress = ProgressBar::new(sequences);
    let numbers = recipe.task.length * (recipe.task.states + 1) * (asked.len() + 1);
    let chunk = (CHUNK / numbers).clamp(LANES, 2048).next_multiple_of(LANES);
    for first in (0..sequences).step_by(chunk) {
        let end = (first + chunk as u64).min(sequences);
        let draw = Draw {
            address,
            sequences: first..end,
            length: recipe.task.length,
            thorough: sequences,
        };
        let set = TestSet::draw(prior, &draw, &asked)?;
        let to_model = trained
            .map(|StoredModel { model, params, .. }| set.divergences(model, params))
            .transpose()?;
        measured.take(&set, to_model.as_deref());
        progress.set_position(end);
    }
    progress.finish_and_clear();
    Ok(measured)
}

impl Measured {
    /// Adds what was measured on another piece of the test set.
    fn take(&mut self, set: &TestSet, to_model: Option<&[Divergence]>) {
        let merge = |sum: &mut Option<Divergence>, more: Option<&Divergence>| match (sum, more) {
            (Some(sum), Some(more)) => sum.merge(more),
            (sum, more) => *sum = more.copied(),
        };
        merge(&mut self.model, to_model.map(|divergences| &divergences[0]));
        let truth = set.truth_divergences();
        for (index, reference) in set.references().iter().enumerate().skip(1) {
            let more = to_model.map(|divergences| &divergences[index]);
            match self.strategies.get_mut(index - 1) {
                None => self.strategies.push(Row {
                    name: reference.name.clone(),
                    truth: truth[index],
                    to_model: more.copied(),
                    effective_samples: reference.effective_samples,
                }),
                Some(row) => {
                    row.truth.merge(&truth[index]);
                    merge(&mut row.to_model, more);
                    row.effective_samples =
                        fewer(row.effective_samples, reference.effective_samples);
                }
            }
        }
    }

    fn json(&self, recipe: &Recipe, sequences: u64) -> Value {
        let model = self.model.map(|divergence| {
            let mut entry = Map::new();
            put(&mut entry, "kl_truth", "se", &divergence);
            entry
        });
        let strategies: Map<String, Value> = self
            .strategies
            .iter()
            .map(|row| {
                let mut entry = Map::new();
                put(&mut entry, "kl_truth", "se", &row.truth);
                if let Some(divergence) = &row.to_model {
                    put(&mut entry, "kl_to_model", "kl_to_model_se", divergence);
                }
                if let Some(samples) = row.effective_samples {
                    entry.insert("effective_samples".into(), json!(samples));
                }
                (row.name.clone(), Value::Object(entry))
            })
            .collect();
        json!({
            "sequences": sequences,
            "states": recipe.task.states,
            "ngram": recipe.task.ngram,
            "length": recipe.task.length,
            "model": model,
            "strategies": strategies,
        })
    }

    fn text(&self, recipe: &Recipe, sequences: u64) -> String {
        let mut text = format!(
            "{sequences} fresh sequences, {} states, n = {}, length {}; nats, ± one standard error\n\n\
             {:<19} {:>19} {:>19} {:>22}\n",
            recipe.task.states,
            recipe.task.ngram,
            recipe.task.length,
            "",
            "KL(truth ‖ ·)",
            "at all positions",
            "KL(strategy ‖ model)",
        );
        let cell = |moments: Option<Moments>| match moments.map(|m| m.estimate()) {
            Some(estimate) => format!("{:>9} ± {}", fixed(estimate.mean, 5), fixed(estimate.se, 5)),
            None => String::new(),
        };
        let model = self.model.map(|kl| ("model", kl, None));
        let rows = self
            .strategies
            .iter()
            .map(|row| (row.name.as_str(), row.truth, row.to_model));
        for (name, truth, to_model) in model.into_iter().chain(rows) {
            let line = format!(
                "{name:<19} {:>19} {:>19} {:>22}",
                cell(Some(truth.last)),
                cell(truth.all),
                cell(to_model.map(|kl| kl.last)),
            );
            text += line.trim_end();
            text.push('\n');
        }
        for row in &self.strategies {
            if let Some(samples) = row.effective_samples {
                text += &format!("\n{}: at least {samples:.0} effective samples\n", row.name);
            }
        }
        text
    }
}

/// Inserts a divergence under `name` with its standard error, and the same over all positions if it is known.
fn put(entry: &mut Map<String, Value>, name: &str, se: &str, divergence: &Divergence) {
    let mut put_one = |suffix: &str, moments: &Moments| {
        let estimate = moments.estimate();
        entry.insert(format!("{name}{suffix}"), json!(estimate.mean));
        entry.insert(format!("{se}{suffix}"), json!(estimate.se));
    };
    put_one("", &divergence.last);
    if let Some(all) = &divergence.all {
        put_one("_all", all);
    }
}
