//! `induct train`: a run from its recipe to its folder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use induct::recipe::Recipe;
use induct::run::{Ended, Progress, Summary};
use induct_store::{How, Outcome, Session, complete, snapshot_weights, start_from};

use super::{level_option, note, plain, print};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::options::{Overrides, Threads};
use crate::progress::bar;
use crate::recipes;
use crate::run_at::RunAt;
use crate::session::{advice, train};
use crate::story::stopped;
use crate::words::{count, fixed};

/// Train a model, and record measures and snapshots on the way
#[derive(Args)]
pub struct Arguments {
    /// File of a recipe, or name of a preset (see `induct presets`)
    recipe: String,
    #[command(flatten)]
    overrides: Overrides,
    /// Change the model or its weights while it trains, in place of what the recipe says on that; may be
    /// repeated. Keys and values of one entry of [[intervene]], such as 'kind="clamp", at="layers.0",
    /// pattern="previous-token", until=500' (see docs/interventions.md)
    #[arg(long, value_name = "KEY=VALUE, …")]
    intervene: Vec<String>,
    /// Folder of the run; runs/NAME if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in that folder; with more steps (--set train.steps=…), extend a finished run
    #[arg(long)]
    resume: bool,
    /// Start from the weights of another run's snapshot; the last one if no step is given
    #[arg(long, value_name = "RUN[@STEP]")]
    from: Option<String>,
    #[command(flatten)]
    threads: Threads,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let overrides = recipes::with_interventions(&arguments.overrides.set, &arguments.intervene);
    let mut recipe = recipes::load(&arguments.recipe, &overrides)?;
    complete(&mut recipe).map_err(|(place, error)| Failure::from(error).while_at(&place))?;
    if let Some(source) = &arguments.from {
        let at = RunAt::parse(source).map_err(|failure| failure.while_at("--from"))?;
        let from = start_from(&at.path, at.step, &recipe).map_err(Failure::from);
        recipe.from = Some(from.map_err(|failure| failure.while_at(&format!("--from {source}")))?);
    }
    let out = out_folder(arguments, &recipe);
    let interrupt = Interrupt::watch()?;
    let session = Session {
        recipe: &recipe,
        path: &out,
        how: match arguments.resume {
            true => How::Extend,
            false => How::New,
        },
        instruments: None,
        snapshots: &snapshot_weights,
        remark: &note,
    };
    let bar = Bar::new(recipe.train.steps);
    let outcome = arguments
        .threads
        .run(|| train(&session, &interrupt, |progress| bar.show(progress)));
    bar.finish();
    let place = out.display();
    match outcome? {
        Outcome::Stopped(step) => Err(Failure::interrupted(format!(
            "stopped after {step} of {} steps; `induct train {place}/recipe.toml --resume{}` continues",
            recipe.train.steps,
            level_option()
        ))),
        Outcome::Ended { summary, earlier } => match (summary.ended, earlier) {
            (Ended::Complete, false) => print(&report(&summary, &out)),
            (Ended::Event, false) => {
                print(&(stopped(&recipe, &summary) + "\n" + &report(&summary, &out)))
            }
            (Ended::Complete | Ended::Event, true) => {
                print(&format!("{place} is complete; see `induct show {place}`\n"))
            }
            (Ended::Diverged, _) => Err(Failure::failed(format!(
                "{place}: the loss was not a number at step {}; everything recorded before is kept. {}",
                summary.diverged_at.unwrap_or(summary.steps),
                advice(&recipe)
            ))),
        },
    }
}

/// The phases and the last divergence, in three lines.
fn report(summary: &Summary, out: &Path) -> String {
    let phases = summary.phases.iter();
    let phases = phases.map(|phase| format!("{} (from step {})", phase.strategy, phase.onset));
    let phases: Vec<String> = phases.collect();
    let last = |name: &str| {
        let found = summary.last.iter().find(|(column, _)| column == name);
        found.and_then(|(_, value)| *value)
    };
    let kl = last("kl_truth").unwrap_or(f64::NAN);
    let se = last("kl_truth_se").map_or(String::new(), |se| format!(" ± {}", fixed(se, 4)));
    let phases = match phases.is_empty() {
        true => String::new(),
        false => format!(": {}", phases.join(" -> ")),
    };
    format!(
        "{} in {:.1} s{phases}\n\
         KL(truth ‖ model) at the last position: {}{se} nats\n\
         `induct show {}` tells the story\n",
        count(summary.steps, "step"),
        summary.seconds,
        fixed(kl, 4),
        out.display(),
    )
}

/// The run's folder: `--out`, or runs/NAME; a run resumed by its own recipe.toml stays in its folder.
fn out_folder(arguments: &Arguments, recipe: &Recipe) -> PathBuf {
    let source = Path::new(&arguments.recipe);
    let is_recipe_of_run = source.file_name().is_some_and(|name| name == "recipe.toml");
    match (&arguments.out, source.parent()) {
        (Some(out), _) => out.clone(),
        (None, Some(folder)) if arguments.resume && is_recipe_of_run => Path::new(".").join(folder),
        _ => Path::new("runs").join(&recipe.name),
    }
}

struct Bar {
    bar: ProgressBar,
    steps: u64,
    first: std::sync::OnceLock<(u64, Instant)>,
}

impl Bar {
    fn new(steps: u64) -> Self {
        Self {
            bar: bar(steps, "{bar:30} {pos}/{len} steps, {msg}{eta} left"),
            steps,
            first: std::sync::OnceLock::new(),
        }
    }

    /// Shows a step, and which strategy the model was nearest to at the last record.
    fn show(&self, progress: &Progress) {
        let step = progress.step;
        let (first, started) = self.first.get_or_init(|| {
            self.bar.set_position(step);
            self.bar.reset_eta();
            (step, Instant::now())
        });
        let Some(loss) = progress.loss else { return };
        let near = match progress.nearest {
            Some((strategy, recorded)) => format!(", near {strategy} at step {recorded}"),
            None => String::new(),
        };
        if !self.bar.is_hidden() {
            let message = format!("loss {:.3}{near}, ", loss.mean);
            self.bar.set_message(plain(&message).into_owned());
            self.bar.set_position(step);
        } else if step.is_multiple_of((self.steps / 10).max(1)) {
            let pace = started.elapsed().as_secs_f64() / (step - first) as f64;
            let left = pace * (self.steps - step) as f64;
            note(&format!(
                "{step}/{} steps, loss {:.3}{near}, {left:.0} s left",
                self.steps, loss.mean
            ));
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
