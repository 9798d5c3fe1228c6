//! `induct eval`: divergences on a fresh test set, with standard errors.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use induct::internal::is_slow;
use induct::probe::{Comparison, Divergence, Estimate, Moments, Positions, compare};
use induct::recipe::Recipe;
use induct::strategy::Strategy;
use induct::task::Task;
use induct_store::RunFolder;
use serde::{Serialize, Serializer};

use super::{not_a_number, numbers};
use crate::failure::Failure;
use crate::options::{Interventions, Json, Overrides, Threads};
use crate::progress::bar;
use crate::recipes;
use crate::report::object;
use crate::stored_model::{StoredModel, StoredModels};
use crate::table::Table;
use crate::words::fixed;

/// Measure a run's model, or the strategies alone, on sequences that no training has seen
///
/// Overrides change the task that a run's model is measured on, as in --set task.prior=iid or --set
/// seeds.eval=1.
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run; with --strategies, a recipe or preset instead [default: main]
    run: Option<String>,
    /// Measure the strategies only; needs no run
    #[arg(long, conflicts_with_all = ["step", "intervene"])]
    strategies: bool,
    /// Step of the snapshot to use; the last one if not given
    #[arg(long, value_name = "S", value_parser = numbers::whole, allow_negative_numbers = true)]
    step: Option<u64>,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    interventions: Interventions,
    /// Length of the contexts; the recipe's if not given, and at most that
    #[arg(long, value_name = "T", value_parser = numbers::size)]
    length: Option<usize>,
    /// Number of test sequences
    #[arg(long, value_name = "N", default_value_t = 65_536,
          value_parser = numbers::whole_within(2..=100_000_000))]
    sequences: u64,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    threads: Threads,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (recipe, trained) = subject(arguments)?;
    let task = recipe.own_task()?;
    let count = arguments.sequences;
    if let Some(StoredModel { model, .. }) = &trained {
        model.check_batch(count)?;
    }
    let measure = || measure(&recipe, &*task, trained.as_ref(), count);
    let (model, strategies) = arguments.threads.run(measure)?;
    let report = Evaluation {
        step: trained.map(|trained| trained.step),
        sequences: count,
        states: recipe.task.states,
        ngram: recipe.task.ngram,
        length: recipe.task.length,
        task: recipe.task.to_string(),
        model,
        strategies,
    };
    if let (Some(row), Some(run), Some(step)) = (&report.model, &arguments.run, report.step)
        && !row.0.truth.last.estimate().mean.is_finite()
    {
        return Err(not_a_number(Path::new(run), step));
    }
    arguments.json.print(&report, &report.text())
}

/// What to measure: the recipe of the task, and the model of a step unless only strategies are wanted.
fn subject(arguments: &Arguments) -> Result<(Recipe, Option<StoredModel>), Failure> {
    let length = arguments.length.map(|t| format!("task.length={t}"));
    let overrides: Vec<String> = arguments
        .overrides
        .set
        .iter()
        .cloned()
        .chain(length)
        .collect();
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
        return Err(Failure::usage(
            "give the folder of a run, as in `induct eval runs/main`, or --strategies to measure those alone",
        ));
    };
    let folder = RunFolder::open(Path::new(run))?;
    let trained_on = folder.recipe();
    let recipe = Recipe::from_toml(&trained_on.to_toml(), &overrides)?;
    let refuse = |what: String| Err(Failure::usage(what));
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
    let stored = arguments.threads.run(|| {
        StoredModels::new(&folder, &arguments.interventions.intervene)?.at(arguments.step)
    })?;
    Ok((recipe, Some(stored)))
}

#[derive(Serialize)]
struct Evaluation {
    step: Option<u64>,
    sequences: u64,
    states: usize,
    ngram: usize,
    length: usize,
    #[serde(skip)]
    task: String,
    model: Option<Row>,
    #[serde(serialize_with = "object")]
    strategies: Vec<(String, Row)>,
}

struct Row(Comparison);

type Rows = (Option<Row>, Vec<(String, Row)>);

fn measure(
    recipe: &Recipe,
    task: &dyn Task,
    trained: Option<&StoredModel>,
    sequences: u64,
) -> Result<Rows, Failure> {
    let progress = bar(sequences, "{bar:30} {pos} of {len} sequences, {elapsed}");
    let asked = task.strategies()?.into_iter().map(|strategy| {
        let positions = match is_slow(&strategy.name()) {
            true => Positions::Last,
            false => Positions::All,
        };
        (strategy, positions)
    });
    let asked: Vec<(Arc<dyn Strategy>, Positions)> = asked.collect();
    let model = trained.map(|StoredModel { model, params, .. }| (model, &params[..]));
    let done = |end| progress.set_position(end);
    let mut rows = compare::<Failure>(recipe, task, &asked, model, sequences, done)?;
    progress.finish_and_clear();
    // The first reference is the truth itself, whose divergence from the model is the model's own.
    let truth = rows.remove(0);
    let model = truth.to_model.map(|of_model| {
        Row(Comparison {
            truth: of_model,
            to_model: None,
            effective_samples: None,
            ..truth
        })
    });
    let named = |row: Comparison| (row.name.clone(), Row(row));
    Ok((model, rows.into_iter().map(named).collect()))
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut numbers = Vec::new();
        let mut put = |name: &str, se: &str, divergence: &Divergence| {
            for (suffix, moments) in [("", Some(divergence.last)), ("_all", divergence.all)] {
                if let Some(Estimate { mean, se: error }) = moments.map(|m| m.estimate()) {
                    numbers.push((format!("{name}{suffix}"), mean));
                    numbers.push((format!("{se}{suffix}"), error));
                }
            }
        };
        put("kl_truth", "se", &self.0.truth);
        if let Some(divergence) = &self.0.to_model {
            put("kl_to_model", "kl_to_model_se", divergence);
        }
        let samples = self.0.effective_samples;
        numbers.extend(samples.map(|samples| ("effective_samples".to_owned(), samples)));
        object(&numbers, serializer)
    }
}

impl Evaluation {
    fn text(&self) -> String {
        let of = self.step.map_or(String::new(), |step| {
            format!("the model after step {step}: ")
        });
        let mut text = format!(
            "{of}{} fresh sequences, {}; nats, ± one standard error\n\n",
            self.sequences, self.task,
        );
        let cell = |moments: Option<Moments>| match moments.map(|m| m.estimate()) {
            Some(estimate) => format!("{} ± {}", fixed(estimate.mean, 5), fixed(estimate.se, 5)),
            None => String::new(),
        };
        let headings = [
            "",
            "KL(truth ‖ ·)",
            "at all positions",
            "KL(strategy ‖ model)",
        ];
        let mut table = Table::new(headings);
        let mut add = |name: &str, row: &Row| {
            table.row([
                name.to_owned(),
                cell(Some(row.0.truth.last)),
                cell(row.0.truth.all),
                cell(row.0.to_model.map(|kl| kl.last)),
            ]);
        };
        self.model.iter().for_each(|row| add("model", row));
        self.strategies
            .iter()
            .for_each(|(name, row)| add(name, row));
        text += &table.text("");
        for (name, row) in &self.strategies {
            if let Some(samples) = row.0.effective_samples {
                text += &format!("\n{name}: at least {samples:.0} effective samples\n");
            }
        }
        text
    }
}
