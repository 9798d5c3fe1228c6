//! `induct reproduce`: the paper's figures and claims, trained, drawn and decided.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use induct::recipe::Recipe;
use induct::train::many;
use induct_store::{
    How, Mark, Outcome, OutputFolder, RunFolder, Session, StoreError, snapshot_weights,
};
use induct_studies::{
    Changes, Decision, Experiment, Illustration, Making, Refusal, Reproduction, Results, Run,
    STUDIES, Scale, Study, StudyFigure, protocol, report as page,
};
use induct_sweep::Sweep;
use rayon::prelude::*;
use serde_json::json;

use super::{in_json, level_option, note, numbers, print};
use crate::failure::Failure;
use crate::figure_files::write_figure;
use crate::interrupt::Interrupt;
use crate::options::{Json, Overrides, Threads};
use crate::progress::{Progress, Task};
use crate::session;
use crate::words::count;

const MARK: Mark = Mark {
    file: "report.json",
    made_by: "induct reproduce",
    holds: "report of `induct reproduce`",
};

/// Train everything, draw every figure of a study and decide every claim, in one report
#[derive(Args)]
pub struct Arguments {
    /// The study to reproduce
    #[arg(value_name = "NAME", default_value = STUDIES[0].name, value_parser = study_named)]
    study: &'static Study,
    /// A few seeds per experiment, less than two minutes on two cores; the default
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Batches of seeds until every core part of a claim is decided or has all its seeds, in all variants; at
    /// most 40 minutes on two cores
    #[arg(long)]
    full: bool,
    /// Only these figures and claims, by number or name, separated by commas: 1, phases, C5, …
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Train this many seeds per experiment instead
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1000))]
    seeds: Option<u64>,
    /// The first seed of every experiment; the study's own if not given
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(0..=1_000_000_000))]
    first_seed: Option<u64>,
    #[command(flatten)]
    overrides: Overrides,
    /// A sweep that has runs of the study, kept whole: they are taken from it and not trained; may be repeated
    #[arg(long = "sweep", value_name = "SWEEP")]
    sweeps: Vec<PathBuf>,
    /// Folder of the report; runs that it holds already are not trained again
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    #[command(flatten)]
    json: Json,
    /// Print the protocol (every claim's measures, limits and their reasons) and train nothing
    #[arg(long, conflicts_with_all = ["full", "quick", "only", "seeds", "first_seed", "set", "json"])]
    protocol: bool,
    #[command(flatten)]
    threads: Threads,
}

fn study_named(name: &str) -> Result<&'static Study, String> {
    Study::named(name).ok_or_else(|| {
        let known = STUDIES
            .iter()
            .map(|study| format!("{} ({})", study.name, study.about));
        format!(
            "no such study; the studies are {}",
            known.collect::<Vec<_>>().join(", ")
        )
    })
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.protocol {
        return print(&protocol(arguments.study));
    }
    let started = Instant::now();
    let mut reproduction = plan(arguments)?;
    let interrupt = Interrupt::watch()?;
    let sweeps = arguments.sweeps.iter().map(|path| Sweep::open(path));
    let sweeps = sweeps.collect::<Result<Vec<Sweep>, _>>()?;
    let folder = OutputFolder::claim(&arguments.out, MARK)
        .map_err(|error| Failure::from(error).with_advice("choose another --out"))?;
    arguments.threads.run(|| {
        let resumed = !folder.names("runs")?.is_empty();
        for experiment in &reproduction.experiments {
            let name = format!("recipes/{}.toml", experiment.id);
            folder.write(&name, experiment.recipe.to_toml().as_bytes())?;
        }
        let mut results = Results::new(&reproduction.experiments)?;
        loop {
            let batch = Batch::new(&folder, &sweeps, &reproduction, &results)?;
            let runs = batch.train(&interrupt)?;
            note("examining the final models");
            for (index, runs) in runs.into_iter().enumerate() {
                results.add(index, runs)?;
            }
            if !reproduction.extend(&results) {
                break;
            }
            note("some claims are undecided: training more seeds");
        }
        note("deciding the claims, drawing the figures");
        let (claims, figures) = rayon::join(
            || reproduction.decide(&results),
            || draw_all(&folder, &reproduction.figures, &results),
        );
        let figures = figures?;
        let seconds = started.elapsed().as_secs_f64();
        let value = json!({ "study": reproduction.study().name, "claims": claims });
        folder.write("claims.json", in_json(&value).as_bytes())?;
        let making = Making {
            command: command_line(arguments),
            full: arguments.full,
            set: arguments.overrides.set.clone(),
            seconds,
            resumed,
            machine: machine(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let page = page(&reproduction, &results, &figures, &claims, &making);
        folder.write("index.html", page.as_bytes())?;
        let made = format!(
            "{} in {seconds:.0} s\n",
            folder.file("index.html").display()
        );
        arguments.json.print(&value, &(table(&claims) + &made))
    })
}

fn plan(arguments: &Arguments) -> Result<Reproduction, Failure> {
    let scale = match arguments.full {
        true => Scale::Full,
        false => Scale::Quick,
    };
    let set = &arguments.overrides.set;
    if let Some(seed) = set.iter().find(|set| set.trim_start().starts_with("seeds")) {
        return Err(Failure::usage(format!(
            "--set {seed}: every run has its own seed; choose them with --first-seed and --seeds"
        )));
    }
    let study = arguments.study;
    let changes = Changes {
        seeds: arguments.seeds,
        first_seed: arguments.first_seed.unwrap_or(study.first_seed),
        set: set.clone(),
    };
    let planned = Reproduction::new(study, &arguments.only, scale, &changes);
    planned.map_err(|refused| match refused {
        Refusal::InvalidExperiment(invalid) => Failure::usage(invalid.to_string()),
        Refusal::Unknown(_) => {
            let figures = study
                .figures
                .iter()
                .map(|f| format!("{} {}", f.number, f.id));
            let claims = study.claims().iter().map(|claim| claim.id.as_str());
            Failure::usage(format!(
                "--only {refused}; the figures are {}; the claims are {}",
                figures.collect::<Vec<_>>().join(", "),
                claims.collect::<Vec<_>>().join(", ")
            ))
        }
    })
}

fn draw_all<'a>(
    folder: &OutputFolder,
    figures: &[&'a StudyFigure],
    results: &Results,
) -> Result<Vec<(&'a StudyFigure, Illustration)>, Failure> {
    let figures = figures.par_iter().with_max_len(1);
    let drawn = figures.map(|figure| {
        let drawn = (figure.draw)(results);
        let name = format!("figures/{}", figure.file());
        write_figure(folder, &name, &drawn.figure, WIDTH)?;
        Ok((*figure, drawn))
    });
    drawn.collect()
}

/// Width of figures in files, in pixels; PNGs have twice as many.
const WIDTH: u32 = 1000;

/// The command that makes this report again.
fn command_line(arguments: &Arguments) -> String {
    let mut command = String::from("induct reproduce");
    if arguments.study.name != STUDIES[0].name {
        command += &format!(" {}", arguments.study.name);
    }
    if arguments.full {
        command += " --full";
    }
    if !arguments.only.is_empty() {
        command += &format!(" --only {}", arguments.only.join(","));
    }
    if let Some(seeds) = arguments.seeds {
        command += &format!(" --seeds {seeds}");
    }
    if let Some(first) = arguments.first_seed {
        command += &format!(" --first-seed {first}");
    }
    for sweep in &arguments.sweeps {
        command += &format!(" --sweep '{}'", sweep.display());
    }
    for set in &arguments.overrides.set {
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

/// A line per claim, with a verdict per variant.
fn table(claims: &[Decision]) -> String {
    let mut text = String::new();
    if let Some(claim) = claims.first() {
        let variants = claim.verdicts.iter().map(|v| format!("{:<14}", v.variant));
        text += &format!("     {}\n", variants.collect::<String>());
    }
    for claim in claims {
        let verdicts = claim.verdicts.iter();
        let verdicts: String = verdicts
            .map(|v| format!("{:<14}", v.verdict.name()))
            .collect();
        text += &format!("{:<4} {verdicts}{}\n", claim.id, claim.title);
    }
    text
}

/// The runs that a reproduction needs next.
struct Batch<'a> {
    folder: &'a OutputFolder,
    experiments: &'a [Experiment],
    /// By experiment, the index of each run and the run itself if it is there already.
    runs: Vec<Vec<(u64, Option<Run>)>>,
    tasks: Vec<Task>,
}

impl<'a> Batch<'a> {
    fn new(
        folder: &'a OutputFolder,
        sweeps: &[Sweep],
        reproduction: &'a Reproduction,
        results: &Results,
    ) -> Result<Self, Failure> {
        let experiments = &reproduction.experiments;
        let (mut runs, mut tasks) = (Vec::new(), Vec::new());
        let missing = reproduction.missing(results);
        let mut taken = 0;
        for (index, (experiment, range)) in experiments.iter().zip(missing).enumerate() {
            let recipe = &experiment.recipe;
            let effort = recipe.train.batch as f64 * recipe.model()?.multiplications();
            let there = |run: u64| {
                let (path, recipe) = (run_path(folder, experiment, run), experiment.recipe(run));
                let own = finished_run(&path, &recipe);
                let name = || induct_sweep::run_name(&recipe);
                let of = |sweep: &Sweep| finished_run(&sweep.run_folder(&name()), &recipe);
                let found = own.or_else(|| sweeps.iter().find_map(of).inspect(|_| taken += 1));
                (run, found)
            };
            let there: Vec<(u64, Option<Run>)> = range.map(there).collect();
            let missing = there.iter().filter(|(_, found)| found.is_none());
            tasks.extend(missing.map(|&(run, _)| Task {
                experiment: index,
                run,
                steps: recipe.train.steps,
                effort,
            }));
            runs.push(there);
        }
        if !sweeps.is_empty() {
            note(&format!("{} taken from sweeps", count(taken, "run")));
        }
        // The longest first, so that no long run is left for the end.
        tasks.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
        Ok(Self {
            folder,
            experiments,
            runs,
            tasks,
        })
    }

    /// Trains the runs that are missing; returns all runs by experiment.
    fn train(self, interrupt: &Interrupt) -> Result<Vec<Vec<Run>>, Failure> {
        let progress = Progress::new(self.experiments, &self.tasks);
        let train = |index: usize| match interrupt.asked() {
            true => Ok(None),
            false => self.train_one(&self.tasks[index], &progress, interrupt),
        };
        let trained = many(self.tasks.len(), train)
            .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
        progress.finish();
        let mut runs = self.runs;
        let mut unfinished = 0;
        for (task, run) in self.tasks.iter().zip(trained) {
            let (_, place) = runs[task.experiment]
                .iter_mut()
                .find(|(index, _)| *index == task.run)
                .expect("tasks are runs that are missing");
            *place = run?;
            unfinished += usize::from(place.is_none());
        }
        if unfinished > 0 {
            return Err(Failure::interrupted(format!(
                "stopped with {} unfinished; run the same command again to continue",
                count(unfinished, "run")
            )));
        }
        let complete = |runs: Vec<(u64, Option<Run>)>| runs.into_iter().filter_map(|(_, run)| run);
        Ok(runs
            .into_iter()
            .map(|runs| complete(runs).collect())
            .collect())
    }

    /// Trains one run; `None` if it was interrupted.
    fn train_one(
        &self,
        task: &Task,
        progress: &Progress,
        interrupt: &Interrupt,
    ) -> Result<Option<Run>, Failure> {
        let experiment = &self.experiments[task.experiment];
        let recipe = experiment.recipe(task.run);
        let path = run_path(self.folder, experiment, task.run);
        let session = Session {
            recipe: &recipe,
            path: &path,
            how: How::Replace,
            instruments: None,
            snapshots: &snapshot_weights,
            remark: &note,
        };
        let mut last = 0;
        let outcome = session::train(&session, interrupt, |now| {
            progress.steps(task, now.step.saturating_sub(last));
            last = now.step;
        })?;
        if let Outcome::Stopped(_) = outcome {
            return Ok(None);
        }
        // Report what the disk holds, not what memory holds.
        let run = load(&path)?;
        if let Some(run) = &run {
            progress.done(task, run);
        }
        Ok(run)
    }
}

fn run_path(folder: &OutputFolder, experiment: &Experiment, run: u64) -> PathBuf {
    folder.file(&format!(
        "runs/{}/{:03}",
        experiment.id,
        experiment.seed(run)
    ))
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
