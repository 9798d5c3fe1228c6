//! `induct reproduce`: the paper's figures and claims, trained, drawn and decided.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Args;
use induct::probe::Instruments;
use induct::train::{Recipe, many};
use induct_store::{How, Mark, OutputFolder, RunFolder, StoreError};
use induct_studies::{
    Changes, Decided, Drawn, Experiment, Making, PaperFigure, Results, Run, Scale, Selection,
    report,
};
use rayon::prelude::*;
use serde_json::json;

use super::{Threads, level_option, note, numbers, print, print_json};
use crate::failure::Failure;
use crate::figure_files::write_figure;
use crate::interrupt::Interrupt;
use crate::progress::{Progress, Task};
use crate::session::{Outcome, Session};
use crate::words::count;

/// Marks a folder as a report's.
const MARK: Mark = Mark {
    file: "report.json",
    made_by: "induct reproduce",
    holds: "report of `induct reproduce`",
};

/// Train everything, draw every figure of the paper and decide every claim, in one report
#[derive(Args)]
pub struct Arguments {
    /// A few seeds per experiment, about two minutes on two cores; the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// At least twenty seeds per claim, about a quarter of an hour on two cores
    #[arg(long)]
    full: bool,
    /// Only these figures and claims, by number or name, separated by commas: 1, phases, C5, …
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Train this many seeds per experiment instead
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1000))]
    seeds: Option<u64>,
    /// Override one key of every recipe, such as train.batch=128; may be repeated
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Folder of the report; runs that it holds already are not trained again
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// Print {"claims": [{"id", "verdict", "effect", "interval", "seeds", "parts", …}, …]}, as in claims.json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let started = Instant::now();
    let selection = select(&arguments.only)?;
    let scale = match arguments.full {
        true => Scale::Full,
        false => Scale::Quick,
    };
    let changes = Changes {
        seeds: arguments.seeds,
        set: arguments.set.clone(),
    };
    let is_seed = |set: &&String| {
        set.trim_start().starts_with("seeds.init") || set.trim_start().starts_with("seeds.data")
    };
    if let Some(seed) = arguments.set.iter().find(is_seed) {
        return Err(Failure::mistake(format!(
            "--set {seed}: every experiment runs with seeds 0, 1, …; choose how many with --seeds"
        )));
    }
    let experiments = selection
        .experiments(scale, &changes)
        .map_err(|unsound| Failure::mistake(unsound.to_string()))?;
    let interrupt = Interrupt::watch()?;
    let folder = OutputFolder::claim(&arguments.out, MARK)
        .map_err(|error| Failure::from(error).with_advice("choose another --out"))?;
    arguments.threads.run(|| {
        let resumed = !folder.names("runs")?.is_empty();
        let runs = train_all(&folder, experiments, &interrupt)?;
        note("examining the final models, drawing the figures");
        let results = Results::new(runs)?;
        let (claims, figures) = rayon::join(
            || {
                let claims = selection.claims.par_iter().with_max_len(1);
                claims
                    .map(|claim| claim.decide(&results))
                    .collect::<Vec<Decided>>()
            },
            || draw_all(&folder, &selection.figures, &results),
        );
        let figures = figures?;
        let json = json!({ "claims": claims });
        folder.write("claims.json", format!("{json:#}\n").as_bytes())?;
        let making = Making {
            command: command_line(arguments),
            seconds: started.elapsed().as_secs_f64(),
            resumed,
            machine: machine(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let page = report(&results, &figures, &claims, &making);
        folder.write("index.html", page.as_bytes())?;
        match arguments.json {
            true => print_json(&json),
            false => print(&in_words(&claims, &folder, making.seconds)),
        }
    })
}

/// Draws figures and writes their files.
fn draw_all<'a>(
    folder: &OutputFolder,
    figures: &[&'a PaperFigure],
    results: &Results,
) -> Result<Vec<(&'a PaperFigure, Drawn)>, Failure> {
    let figures = figures.par_iter().with_max_len(1);
    let drawn = figures.map(|figure| {
        let drawn = figure.draw(results);
        let name = format!("figures/{}", figure.file());
        write_figure(folder, &name, &drawn.figure, WIDTH)?;
        Ok((*figure, drawn))
    });
    drawn.collect()
}

/// The figures and claims that `--only` asks for.
fn select(names: &[String]) -> Result<Selection, Failure> {
    if names.is_empty() {
        return Ok(Selection::all());
    }
    Selection::only(names).map_err(|unknown| {
        let all = Selection::all();
        let figures = all.figures.iter().map(|f| format!("{} {}", f.number, f.id));
        let claims = all.claims.iter().map(|claim| claim.id);
        Failure::mistake(format!(
            "--only {unknown}: no such figure or claim; the figures are {}; the claims are {}",
            figures.collect::<Vec<_>>().join(", "),
            claims.collect::<Vec<_>>().join(", ")
        ))
    })
}

/// Width of figures in files, in pixels; PNGs have twice as many.
const WIDTH: u32 = 1000;

/// The command that makes this report again.
fn command_line(arguments: &Arguments) -> String {
    let mut command = String::from("induct reproduce");
    if arguments.full {
        command += " --full";
    }
    if !arguments.only.is_empty() {
        command += &format!(" --only {}", arguments.only.join(","));
    }
    if let Some(seeds) = arguments.seeds {
        command += &format!(" --seeds {seeds}");
    }
    for set in &arguments.set {
        command += &format!(" --set '{set}'");
    }
    command + &level_option()
}

fn machine() -> String {
    format!(
        "{} threads of {} {}, {} instructions",
        rayon::current_num_threads(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        induct::lanes::instructions()
    )
}

/// The claims in words, one line per claim.
fn in_words(claims: &[Decided], folder: &OutputFolder, seconds: f64) -> String {
    let mut text = String::new();
    for claim in claims {
        let digits = |x: f64| format!("{x:.3}");
        let effect = claim.effect.map_or("-".into(), digits);
        let interval = claim.interval.map(|ends| ends.map(digits).join(", "));
        text += &format!(
            "{:<4} {:<14} {effect:>8} [{}], {}: {}\n",
            claim.id,
            claim.verdict.name(),
            interval.unwrap_or_default(),
            count(claim.seeds, "seed"),
            claim.title
        );
    }
    let page = folder.file("index.html");
    text + &format!("{} in {seconds:.0} s\n", page.display())
}

/// Trains the runs that are missing; returns all runs by experiment.
fn train_all(
    folder: &OutputFolder,
    experiments: Vec<Experiment>,
    interrupt: &Interrupt,
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
        let mut there = Vec::new();
        for seed in 0..experiment.seeds {
            let path = run_path(folder, experiment, seed);
            there.push(finished_run(&path, &experiment.with_seed(seed)));
        }
        let missing = (0..experiment.seeds).filter(|&seed| there[seed as usize].is_none());
        tasks.extend(missing.map(|seed| Task {
            experiment: index,
            seed,
            steps: recipe.train.steps,
            effort,
        }));
        runs.push(there);
    }
    // The longest first, so that no long run is left for the end.
    tasks.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
    let progress = Progress::new(&experiments, &tasks);
    // All seeds of an experiment are measured with the same instruments.
    let mut instruments: Vec<Option<Arc<Instruments>>> = Vec::new();
    for (index, experiment) in experiments.iter().enumerate() {
        let needed = tasks.iter().any(|task| task.experiment == index);
        let made = needed.then(|| Instruments::new(&experiment.recipe).map(Arc::new));
        instruments.push(made.transpose()?);
    }
    let stopped = AtomicUsize::new(0);
    let train = |index: usize| -> Result<Option<Run>, Failure> {
        let task = &tasks[index];
        let experiment = &experiments[task.experiment];
        if interrupt.asked() {
            stopped.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        let (recipe, path) = (
            experiment.with_seed(task.seed),
            run_path(folder, experiment, task.seed),
        );
        progress.begin(task);
        let session = Session {
            recipe: &recipe,
            path: &path,
            how: How::Replace,
            instruments: instruments[task.experiment].clone(),
            interrupt,
        };
        let mut last = 0;
        let outcome = session.train(|now| {
            progress.steps(task, now.step.saturating_sub(last));
            last = now.step;
        })?;
        if let Outcome::Stopped(_) = outcome {
            stopped.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        }
        // Report what the disk holds, not what memory holds.
        let run = load(&path)?;
        if let Some(run) = &run {
            progress.done(task, run);
        }
        Ok(run)
    };
    let trained = many(tasks.len(), train)
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
    progress.finish();
    for (task, run) in tasks.iter().zip(trained) {
        runs[task.experiment][task.seed as usize] = run?;
    }
    let stopped = stopped.into_inner();
    if stopped > 0 {
        return Err(Failure::Interrupted(format!(
            "stopped with {} unfinished; run the same command again to continue",
            count(stopped, "run")
        )));
    }
    let complete = |runs: Vec<Option<Run>>| runs.into_iter().flatten().collect();
    let runs = runs.into_iter().map(complete);
    Ok(experiments.into_iter().zip(runs).collect())
}

/// The folder of a seed's run.
fn run_path(folder: &OutputFolder, experiment: &Experiment, seed: u64) -> PathBuf {
    folder.file(&format!("runs/{}/{seed:03}", experiment.id))
}

/// The finished run in a folder, if it is intact and this program would repeat it to the byte.
fn finished_run(path: &std::path::Path, recipe: &Recipe) -> Option<Run> {
    RunFolder::finished(path, recipe)?;
    match load(path) {
        Ok(run) => run,
        Err(error) => {
            note(&format!("{error}; training that run again"));
            None
        }
    }
}

fn load(path: &std::path::Path) -> Result<Option<Run>, StoreError> {
    let recording = RunFolder::open(path)?.recording()?;
    Ok(recording.map(Run::from))
}
