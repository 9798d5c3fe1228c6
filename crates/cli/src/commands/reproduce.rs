//! `induct reproduce`: the paper's figures and claims, trained, drawn and decided.

use std::path::PathBuf;

use clap::Args;
use induct::probe::Instruments;
use induct::train::many;
use induct_paper::{Experiment, Results, Run, Scale, claims, experiments, watch};
use serde_json::json;

use super::{Threads, print};
use crate::failure::Failure;
use crate::progress::{Progress, Task};
use crate::report_folder::ReportFolder;

/// Train everything, draw every figure of the paper and decide every claim, into one report
#[derive(Args)]
pub struct Arguments {
    /// A few seeds of everything: about two minutes on two cores. This is the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// At least twenty seeds a claim: about a quarter of an hour on two cores
    #[arg(long)]
    full: bool,
    /// Only these figures and claims, by number or name, separated by commas: 1, phases, C5, …
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    only: Vec<String>,
    /// This many seeds of every experiment instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Folder of the report; runs that are there already are not trained again
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scale = if arguments.full {
        Scale::Full
    } else {
        Scale::Quick
    };
    let wanted = experiments(scale, arguments.seeds);
    let folder = ReportFolder::open(&arguments.out)?;
    let results = arguments.threads.run(|| {
        let runs = train_all(&folder, wanted)?;
        Ok(Results::new(runs)?)
    })?;
    let decided: Vec<_> = claims()
        .iter()
        .map(|claim| claim.decide(&results))
        .collect();
    let text = serde_json::to_string_pretty(&json!({ "claims": decided })).expect("plain data");
    folder.write("claims.json", text.as_bytes())?;
    print(&text)
}

/// Trains what is not there yet; returns all runs by experiment.
fn train_all(
    folder: &ReportFolder,
    experiments: Vec<Experiment>,
) -> Result<Vec<(Experiment, Vec<Run>)>, Failure> {
    let mut tasks = Vec::new();
    let mut runs: Vec<Vec<Option<Run>>> = Vec::new();
    for (index, experiment) in experiments.iter().enumerate() {
        let recipe = &experiment.recipe;
        folder.write(
            &format!("recipes/{}.toml", experiment.id),
            recipe.to_toml().as_bytes(),
        )?;
        let effort = recipe.train.batch as f64 * recipe.model()?.multiplications();
        let there: Vec<Option<Run>> = (0..experiment.seeds)
            .map(|seed| folder.run(experiment, seed))
            .collect();
        let missing = (0..experiment.seeds).filter(|&seed| there[seed as usize].is_none());
        tasks.extend(missing.map(|seed| Task {
            experiment: index,
            seed,
            steps: recipe.train.steps,
            effort,
        }));
        runs.push(there);
    }
    // The longest first, so that none is left for the end.
    tasks.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    let progress = Progress::new(&experiments, &tasks);
    // All seeds of an experiment are measured with the same instruments.
    let mut instruments: Vec<Option<Instruments>> = Vec::new();
    for (index, experiment) in experiments.iter().enumerate() {
        let needed = tasks.iter().any(|task| task.experiment == index);
        let made = needed.then(|| Instruments::new(&experiment.recipe));
        instruments.push(made.transpose()?);
    }
    let train = |index: usize| -> Result<Run, Failure> {
        let task = &tasks[index];
        let experiment = &experiments[task.experiment];
        let instruments = instruments[task.experiment].as_ref().expect("made above");
        let recipe = experiment.with_seed(task.seed);
        progress.begin(task);
        let run = watch(&recipe, instruments, task.seed == 0, &|| {
            progress.step(task)
        })?;
        folder.save_run(experiment, task.seed, &run)?;
        progress.done(task, &run);
        Ok(run)
    };
    let trained = many(tasks.len(), train)
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
    progress.finish();
    for (task, run) in tasks.iter().zip(trained) {
        runs[task.experiment][task.seed as usize] = Some(run?);
    }
    let complete = |runs: Vec<Option<Run>>| runs.into_iter().flatten().collect();
    Ok(experiments
        .into_iter()
        .zip(runs.into_iter().map(complete))
        .collect())
}
