//! One sitting of training: steps, records, snapshots and checkpoints, in a run's folder.

use std::time::{Duration, Instant};

use induct::probe::{History, Instruments, KL_TRUTH};
use induct::train::{Diverged, Recipe, Trainer};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::run_folder::RunFolder;
use crate::story::Story;

/// Time between two checkpoints: all that an interrupted run can lose.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(500);

/// How far training has come.
pub struct Progress<'a> {
    /// Steps done.
    pub step: u64,
    /// Loss of the last of them.
    pub loss: Option<f64>,
    /// Nearest strategy at the last record.
    pub nearest: Option<&'a str>,
}

/// One sitting of training.
pub struct Training {
    folder: RunFolder,
    trainer: Trainer,
    instruments: Instruments,
    history: History,
    snapshot_steps: Vec<u64>,
    started: Instant,
    resumed_at: Option<u64>,
    /// Nearest strategy at the last record.
    nearest: Option<String>,
}

impl Training {
    /// Makes ready: from the folder's checkpoint if it has one, else from the start.
    pub fn start(
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
            folder,
            trainer,
            instruments,
            history,
            started: Instant::now(),
            resumed_at,
            nearest: None,
        })
    }

    /// Where it stands.
    pub fn trainer(&self) -> &Trainer {
        &self.trainer
    }

    /// Trains to the end, telling `follow` of every step.
    pub fn run(&mut self, mut follow: impl FnMut(&Progress)) -> Result<(), Failure> {
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
            follow(&Progress {
                step: step + 1,
                loss,
                nearest: self.nearest.as_deref(),
            });
        }
        self.folder.save_history(&self.history)?;
        self.folder.save_summary(&self.summary(None))
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
            self.nearest = self.history.nearest(self.instruments.strategies());
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

    /// Phases and the last divergence, in two lines.
    pub fn report(&self) -> String {
        let (phases, _) = self.history.phases(self.instruments.strategies());
        let story: Vec<String> = phases
            .iter()
            .map(|phase| format!("{} (from step {})", phase.strategy, phase.onset))
            .collect();
        let kl = self.history.last(KL_TRUTH).unwrap_or(f64::NAN);
        format!(
            "{} steps in {:.1} s: {}\nKL(truth || model) at the last position: {kl:.4} nats\n",
            self.trainer.step(),
            self.started.elapsed().as_secs_f64(),
            story.join(" -> "),
        )
    }
}

/// Refuses to go on with a run of another recipe.
pub fn check_same(folder: &RunFolder, recipe: &Recipe) -> Result<(), Failure> {
    if folder.recipe(&[])? == *recipe {
        return Ok(());
    }
    let path = folder.path().display();
    Err(Failure::mistake(format!(
        "{path} was made by another recipe than this one; go on with it by \
         `induct train {path}/recipe.toml --resume`, or give another --out"
    )))
}
