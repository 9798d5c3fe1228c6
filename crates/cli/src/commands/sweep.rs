//! `induct sweep`: one recipe over many seeds and variations, all cores at work.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use induct::probe::{Instruments, Moments};
use induct::train::{Recipe, Trainer, many};
use serde_json::{Value, json};

use super::{Threads, note, print, print_json};
use crate::failure::Failure;
use crate::recipes;
use crate::run_folder::{Ending, RunFolder};
use crate::training::{Training, check_same};

/// Train one recipe over many seeds and variations, several runs at a time
#[derive(Args)]
pub struct Arguments {
    /// A recipe's file, or the name of a preset (see `induct presets`)
    recipe: String,
    /// Number of seeds: 0, 1, … for both the weights' start and the data
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
    /// Values that one key takes, separated by semicolons, such as "train.optimizer.lr=1e-3;3e-3"; may be given many times, for
    /// all combinations
    #[arg(long, value_name = "KEY.PATH=V1;V2;…")]
    vary: Vec<String>,
    /// Override one key of the recipe in every run, such as train.steps=100; may be given many times
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Folder of the runs; sweeps/NAME if not given. Runs that are there already are not trained again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print {"runs": [{"run": "run-000", "overrides": […], "seed": n, "kl_truth": x, …}, …]}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// One run of the sweep.
struct Run {
    name: String,
    overrides: Vec<String>,
    seed: u64,
    recipe: Recipe,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runs = plan(arguments)?;
    let name = &runs[0].recipe.name;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| Path::new("sweeps").join(name));
    let bar = bar(&runs);
    let (steps, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let outcomes = arguments.threads.run(|| {
        let train = |index: usize| {
            let run = &runs[index];
            let outcome = train(run, &out.join(&run.name), &|more| {
                bar.set_position(more + steps.fetch_add(more, Ordering::Relaxed));
            });
            let count = 1 + done.fetch_add(1, Ordering::Relaxed);
            if bar.is_hidden() {
                note(&format!("{count} of {} runs done", runs.len()));
            }
            outcome
        };
        many(runs.len(), train)
            .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
    })?;
    bar.finish_and_clear();
    let summaries: Vec<Value> = outcomes.into_iter().collect::<Result<_, _>>()?;
    if arguments.json {
        let runs: Vec<Value> = runs.iter().zip(&summaries).map(row).collect();
        return print_json(&json!({ "out": out, "runs": runs }));
    }
    print(&table(&runs, &summaries, &out))
}

/// All combinations of the variations, with all seeds.
fn plan(arguments: &Arguments) -> Result<Vec<Run>, Failure> {
    let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
    for vary in &arguments.vary {
        let (key, values) = vary.split_once('=').ok_or_else(|| {
            Failure::mistake(format!("--vary {vary}: write KEY.PATH=VALUE;VALUE;…"))
        })?;
        combinations = combinations
            .iter()
            .flat_map(|combination| {
                values.split(';').map(move |value| {
                    let mut longer = combination.clone();
                    longer.push(format!("{}={}", key.trim(), value.trim()));
                    longer
                })
            })
            .collect();
    }
    let mut runs = Vec::new();
    for overrides in combinations {
        for seed in 0..arguments.seeds {
            let mut all = arguments.set.clone();
            all.extend([format!("seeds.init={seed}"), format!("seeds.data={seed}")]);
            all.extend(overrides.clone());
            let recipe = recipes::load(&arguments.recipe, &all)?;
            recipe.check()?;
            runs.push(Run {
                name: format!("run-{:03}", runs.len()),
                overrides: overrides.clone(),
                seed,
                recipe,
            });
        }
    }
    Ok(runs)
}

fn bar(runs: &[Run]) -> ProgressBar {
    let steps = runs.iter().map(|run| run.recipe.train.steps).sum();
    let template = "{bar:30} {pos}/{len} steps of all runs, {eta} left";
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::new(steps).with_style(style)
}

/// Trains one run to its end, from where it stands, and returns its summary. `advance` is told of steps that are done.
fn train(run: &Run, path: &Path, advance: &(dyn Fn(u64) + Sync)) -> Result<Value, Failure> {
    let earlier = RunFolder::reopen(path)?;
    if let Some(folder) = &earlier {
        check_same(folder, &run.recipe)?;
    }
    let ended = earlier.as_ref().and_then(RunFolder::ending);
    if let (Some(folder), Some(ending)) = (&earlier, ended) {
        advance(match ending {
            Ending::Complete => run.recipe.train.steps,
            Ending::Diverged(step) => step,
        });
        return folder.summary();
    }
    let trainer = Trainer::new(&run.recipe)?;
    let instruments = Instruments::new(&run.recipe)?;
    let folder = match earlier {
        Some(folder) => folder,
        None => RunFolder::create(path, &run.recipe)?,
    };
    let mut training = Training::start(folder, trainer, instruments)?;
    advance(training.trainer().step());
    let result = training.run(|_| advance(1));
    // A run that diverges says so in its summary; the others go on.
    let folder = RunFolder::open(path)?;
    match (folder.ending(), result) {
        (None, Err(failure)) => Err(failure),
        _ => folder.summary(),
    }
}

fn row((run, summary): (&Run, &Value)) -> Value {
    json!({
        "run": run.name,
        "overrides": run.overrides,
        "seed": run.seed,
        "kl_truth": summary["final"]["kl_truth"],
        "diverged_at": summary["diverged_at"],
        "phases": summary["phases"],
        "seconds": summary["seconds"],
    })
}

/// One line a combination: the last divergence and the onsets of phases, averaged over seeds.
fn table(runs: &[Run], summaries: &[Value], out: &Path) -> String {
    let mut text = format!(
        "{} runs in {}; KL(truth || model) at the last position in nats, onsets in steps, ± one standard error over seeds\n",
        runs.len(),
        out.display()
    );
    let all: Vec<(&Run, &Value)> = runs.iter().zip(summaries).collect();
    for group in all.chunk_by(|(a, _), (b, _)| a.overrides == b.overrides) {
        let overrides = &group[0].0.overrides;
        let title = match overrides.is_empty() {
            true => String::new(),
            false => format!("{}: ", overrides.join(", ")),
        };
        let diverged = group
            .iter()
            .filter(|(_, summary)| !summary["diverged_at"].is_null())
            .count();
        let sound = || {
            group
                .iter()
                .map(|(_, summary)| *summary)
                .filter(|summary| summary["diverged_at"].is_null())
        };
        text += &format!(
            "\n{title}{} seeds, KL {}",
            group.len(),
            mean(
                sound().filter_map(|summary| summary["final"]["kl_truth"].as_f64()),
                5
            )
        );
        if diverged > 0 {
            text += &format!(", {diverged} diverged");
        }
        text += "\n";
        for (phase, onsets) in onsets(sound()) {
            let reached = onsets.len();
            text += &format!(
                "  {phase:<10} from step {}, in {reached} of {} runs\n",
                mean(onsets.into_iter(), 0),
                group.len()
            );
        }
    }
    text
}

/// Onsets of every phase, by the strategy's name in the order they come.
fn onsets<'a>(summaries: impl Iterator<Item = &'a Value>) -> Vec<(String, Vec<f64>)> {
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    for phase in summaries.flat_map(|summary| summary["phases"].as_array().into_iter().flatten()) {
        let (Some(strategy), Some(onset)) = (phase["strategy"].as_str(), phase["onset"].as_f64())
        else {
            continue;
        };
        match found.iter_mut().find(|(name, _)| name == strategy) {
            Some((_, onsets)) => onsets.push(onset),
            None => found.push((strategy.to_owned(), vec![onset])),
        }
    }
    found
}

/// Mean ± standard error, as far as there are values for it.
fn mean(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let values: Vec<f64> = values.collect();
    let estimate = values.iter().copied().collect::<Moments>().estimate();
    match values.len() {
        0 => "unknown".to_owned(),
        1 => format!("{:.digits$}", estimate.mean),
        _ => format!("{:.digits$} ± {:.digits$}", estimate.mean, estimate.se),
    }
}
