//! `induct train`: a run from its recipe to its folder.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use induct::probe::{History, Instruments};
use induct::train::{Diverged, Trainer};
use serde_json::{Value, json};

use super::{Threads, print};
use crate::failure::Failure;
use crate::recipes;
use crate::run_folder::RunFolder;
use crate::story::Story;

/// Train a model and keep what is measured on the way
#[derive(Args)]
pub struct Arguments {
    /// A recipe's file, or the name of a preset (see `induct presets`)
    recipe: String,
    /// Override one key of the recipe, such as train.steps=100 or task.states=3
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Folder of the run; runs/NAME if not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with an interrupted run in the same folder
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Time between two checkpoints: all that an interrupted run can lose.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(500);

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let recipe = recipes::load(&arguments.recipe, &arguments.set)?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => PathBuf::from("runs").join(&recipe.name),
    };
    let threads = arguments.threads.start()?;
    let folder = if arguments.resume && out.exists() {
        let folder = RunFolder::open(&out)?;
        if folder.recipe(&[])? != recipe {
            return Err(Failure::mistake(format!(
                "{} was made by another recipe than this one; resume it with its own \
                 ({}/recipe.toml), or give another --out",
                out.display(),
                out.display()
            )));
        }
        if folder.has_ended() {
            return print(&format!(
                "{} has already ended; see `induct show`\n",
                out.display()
            ));
        }
        folder
    } else {
        RunFolder::create(&out, &recipe)?
    };
    let mut session = Session::start(folder, Trainer::new(&recipe)?, threads)?;
    session.run()
}

/// One sitting of training.
struct Session {
    folder: RunFolder,
    trainer: Trainer,
    instruments: Instruments,
    history: History,
    snapshot_steps: Vec<u64>,
    threads: usize,
    started: Instant,
    resumed_at: Option<u64>,
    progress: Progress,
}

impl Session {
    fn start(folder: RunFolder, mut trainer: Trainer, threads: usize) -> Result<Self, Failure> {
        let recipe = trainer.recipe().clone();
        let instruments = Instruments::new(&recipe)?;
        let mut history = History::new(instruments.columns().to_vec());
        folder.clean();
        let mut resumed_at = None;
        if let Some(state) = folder.checkpoint(trainer.model())? {
            let step = state.step;
            if !trainer.restore(state) {
                return Err(Failure::mistake(format!(
                    "{}: its checkpoint does not fit its recipe",
                    folder.path().display()
                )));
            }
            history = folder.history()?;
            history.truncate_after(step);
            resumed_at = Some(step);
        }
        Ok(Self {
            snapshot_steps: recipe.record.snapshot_steps(recipe.train.steps),
            progress: Progress::new(recipe.train.steps, trainer.step()),
            folder,
            trainer,
            instruments,
            history,
            threads,
            started: Instant::now(),
            resumed_at,
        })
    }

    fn run(&mut self) -> Result<(), Failure> {
        let mut saved = Instant::now();
        let mut loss = None;
        loop {
            let step = self.trainer.step();
            // What belongs to the step of a checkpoint was written before it.
            if self.resumed_at != Some(step) {
                self.keep(step, loss)?;
            }
            if self.trainer.is_done() {
                break;
            }
            if saved.elapsed() >= CHECKPOINT_EVERY {
                self.save()?;
                saved = Instant::now();
            }
            match self.trainer.advance() {
                Ok(value) => loss = Some(value),
                Err(diverged) => return self.give_up(&diverged),
            }
            self.progress.step(step + 1, loss);
        }
        self.progress.finish();
        self.folder.save_history(&self.history)?;
        self.folder.save_summary(&self.summary(None), true)?;
        self.report()
    }

    /// Records and keeps what is due after `step` steps.
    fn keep(&mut self, step: u64, loss: Option<f64>) -> Result<(), Failure> {
        let (model, params) = (self.trainer.model(), self.trainer.params());
        if self.snapshot_steps.binary_search(&step).is_ok() {
            self.folder.save_snapshot(model, step, params)?;
        }
        let recipe = self.trainer.recipe();
        if recipe.record.records(step, recipe.train.steps) {
            let row = self.instruments.measure(model, params, step, loss);
            self.history.push(row);
            self.progress.phase = self.nearest().unwrap_or_default();
        }
        Ok(())
    }

    /// The strategy that the model is nearest to now.
    fn nearest(&self) -> Option<String> {
        let distance = |name: &String| self.history.last(&induct::probe::kl_column(name));
        let names = self.instruments.strategies().iter();
        names
            .filter_map(|name| Some((distance(name)?, name)))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name.clone())
    }

    /// Rows first: a checkpoint promises that they are there.
    fn save(&self) -> Result<(), Failure> {
        self.folder.save_history(&self.history)?;
        self.folder
            .save_checkpoint(self.trainer.model(), &self.trainer.state())
    }

    /// Keeps what there is of a run that came to nothing.
    fn give_up(&mut self, diverged: &Diverged) -> Result<(), Failure> {
        self.progress.finish();
        let (model, params) = (self.trainer.model(), self.trainer.params());
        self.folder.save_snapshot(model, diverged.step, params)?;
        self.folder.save_history(&self.history)?;
        self.folder
            .save_summary(&self.summary(Some(diverged)), true)?;
        Err(Failure::failed(format!(
            "{diverged}; what was recorded before is in {}. A lower learning rate may help \
             (--set train.optimizer.lr={})",
            self.folder.path().display(),
            self.trainer.recipe().train.optimizer.lr() / 10.0,
        )))
    }

    fn summary(&self, diverged: Option<&Diverged>) -> Value {
        let mut summary = json!({
            "name": self.trainer.recipe().name,
            "version": env!("CARGO_PKG_VERSION"),
            "steps": self.trainer.step(),
            "diverged_at": diverged.map(|diverged| diverged.step),
            "threads": self.threads,
            "resumed_at": self.resumed_at,
            "seconds": self.started.elapsed().as_secs_f64(),
        });
        let story = Story::new(&self.instruments, &self.history).json();
        if let (Value::Object(summary), Value::Object(story)) = (&mut summary, story) {
            summary.extend(story);
        }
        summary
    }

    fn report(&self) -> Result<(), Failure> {
        let path = self.folder.path().display();
        let (phases, _) = self.history.phases(self.instruments.strategies());
        let story: Vec<String> = phases
            .iter()
            .map(|phase| format!("{} (from step {})", phase.strategy, phase.onset))
            .collect();
        let kl = self
            .history
            .last(induct::probe::KL_TRUTH)
            .unwrap_or(f64::NAN);
        print(&format!(
            "{} steps in {:.1} s: {}\nKL(truth || model) at the last position: {kl:.4} nats\n\
             `induct show {path}` tells the story\n",
            self.trainer.step(),
            self.started.elapsed().as_secs_f64(),
            story.join(" -> "),
        ))
    }
}

/// A bar on a terminal; a line now and then elsewhere.
struct Progress {
    bar: ProgressBar,
    steps: u64,
    first: u64,
    started: Instant,
    /// Nearest strategy at the last record.
    phase: String,
}

impl Progress {
    fn new(steps: u64, first: u64) -> Self {
        let template = "{bar:30} {pos}/{len} steps, {msg}, {eta} left";
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        let bar = ProgressBar::new(steps)
            .with_style(style)
            .with_position(first);
        bar.reset_eta();
        Self {
            bar,
            steps,
            first,
            started: Instant::now(),
            phase: String::new(),
        }
    }

    fn step(&self, step: u64, loss: Option<f64>) {
        let loss = loss.unwrap_or(f64::NAN);
        if !self.bar.is_hidden() {
            self.bar
                .set_message(format!("loss {loss:.3}, near {}", self.phase));
            self.bar.set_position(step);
        } else if step.is_multiple_of((self.steps / 10).max(1)) {
            let pace = self.started.elapsed().as_secs_f64() / (step - self.first) as f64;
            let left = pace * (self.steps - step) as f64;
            eprintln!(
                "{step}/{} steps, loss {loss:.3}, near {}, {left:.0} s left",
                self.steps, self.phase
            );
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
