//! `induct train`: a run from its recipe to its folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use induct::probe::{History, Instruments, KL_TRUTH};
use induct::train::{Diverged, Recipe, Trainer};
use serde_json::{Value, json};

use super::{Threads, note, print};
use crate::failure::Failure;
use crate::recipes;
use crate::run_folder::{Ending, RunFolder};
use crate::story::Story;

/// Train a model and keep what is measured on the way
#[derive(Args)]
pub struct Arguments {
    /// A recipe's file, or the name of a preset (see `induct presets`)
    recipe: String,
    /// Override one key of the recipe, such as train.steps=100; may be given many times. The value is TOML, or a
    /// plain word such as absolute
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
    let out = out_folder(arguments, &recipe);
    let mut earlier = None;
    if arguments.resume {
        earlier = RunFolder::reopen(&out)?;
        match &earlier {
            Some(folder) => check_same(folder, &recipe)?,
            None => note(&format!(
                "nothing to resume in {}: starting anew",
                out.display()
            )),
        }
    }
    match earlier.as_ref().and_then(RunFolder::ending) {
        None => {}
        Some(Ending::Complete) => {
            return print(&format!(
                "{} is complete; see `induct show`\n",
                out.display()
            ));
        }
        Some(Ending::Diverged(step)) => {
            return Err(Failure::failed(format!(
                "{} has ended: its loss became no number at step {step}",
                out.display()
            )));
        }
    }
    arguments.threads.run(|| {
        // Whatever may be refused or not fit into memory comes before the folder.
        let trainer = Trainer::new(&recipe)?;
        let instruments = Instruments::new(&recipe)?;
        let folder = match earlier {
            Some(folder) => folder,
            None => RunFolder::create(&out, &recipe)?,
        };
        Training::start(folder, trainer, instruments)?.run()
    })
}

/// Where the run goes: `--out`, or runs/NAME; to resume a run by its own recipe.toml, the folder of that.
fn out_folder(arguments: &Arguments, recipe: &Recipe) -> PathBuf {
    let source = Path::new(&arguments.recipe);
    let own_recipe = source.file_name().is_some_and(|name| name == "recipe.toml");
    match (&arguments.out, source.parent()) {
        (Some(out), _) => out.clone(),
        (None, Some(folder)) if arguments.resume && own_recipe => Path::new(".").join(folder),
        _ => Path::new("runs").join(&recipe.name),
    }
}

fn check_same(folder: &RunFolder, recipe: &Recipe) -> Result<(), Failure> {
    if folder.recipe(&[])? == *recipe {
        return Ok(());
    }
    let path = folder.path().display();
    Err(Failure::mistake(format!(
        "{path} was made by another recipe than this one; go on with it by \
         `induct train {path}/recipe.toml --resume`, or give another --out"
    )))
}

/// One sitting of training.
struct Training {
    folder: RunFolder,
    trainer: Trainer,
    instruments: Instruments,
    history: History,
    snapshot_steps: Vec<u64>,
    started: Instant,
    resumed_at: Option<u64>,
    progress: Progress,
}

impl Training {
    fn start(
        folder: RunFolder,
        mut trainer: Trainer,
        instruments: Instruments,
    ) -> Result<Self, Failure> {
        let recipe = trainer.recipe().clone();
        let mut history = History::new(instruments.columns().to_vec());
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
            let due = (0..=step).filter(|&step| recipe.record.records(step, recipe.train.steps));
            if history.columns() != instruments.columns()
                || history.steps() != due.collect::<Vec<_>>()
            {
                return Err(Failure::mistake(format!(
                    "{}: its metrics.csv is not what this recipe records up to step {step}",
                    folder.path().display()
                )));
            }
            resumed_at = Some(step);
        }
        Ok(Self {
            snapshot_steps: recipe.record.snapshot_steps(recipe.train.steps),
            progress: Progress::new(recipe.train.steps, trainer.step()),
            folder,
            trainer,
            instruments,
            history,
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
        self.folder.save_summary(&self.summary(None))?;
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
            self.progress.phase = self.history.nearest(self.instruments.strategies());
            let kl = self.history.last(KL_TRUTH).unwrap_or(f64::NAN);
            if !kl.is_finite() {
                return self.give_up(&Diverged { step, loss: kl });
            }
        }
        Ok(())
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
        self.folder.save_history(&self.history)?;
        self.folder.save_summary(&self.summary(Some(diverged)))?;
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
            "threads": rayon::current_num_threads(),
            "instructions": induct::model::instructions(),
            "resumed_at": self.resumed_at,
            "seconds": self.started.elapsed().as_secs_f64(),
        });
        let story = Story::new(&self.instruments.sets()[0].1, &self.history).json();
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
    phase: Option<String>,
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
            phase: None,
        }
    }

    fn step(&self, step: u64, loss: Option<f64>) {
        let loss = loss.unwrap_or(f64::NAN);
        let near = self
            .phase
            .as_ref()
            .map_or(String::new(), |phase| format!(", near {phase}"));
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("loss {loss:.3}{near}"));
            self.bar.set_position(step);
        } else if step.is_multiple_of((self.steps / 10).max(1)) {
            let pace = self.started.elapsed().as_secs_f64() / (step - self.first) as f64;
            let left = pace * (self.steps - step) as f64;
            note(&format!(
                "{step}/{} steps, loss {loss:.3}{near}, {left:.0} s left",
                self.steps
            ));
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
