//! One sitting of training: steps, records, snapshots and checkpoints, in a run's folder.

use std::time::{Duration, Instant};

use induct::model::Model;
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
    trainer: Trainer,
    records: Records,
    started: Instant,
    resumed_at: Option<u64>,
    checkpoint_every: Duration,
}

/// What is kept of a run, and where.
struct Records {
    folder: RunFolder,
    recipe: Recipe,
    model: Model,
    instruments: Instruments,
    history: History,
    snapshot_steps: Vec<u64>,
    /// Nearest strategy at the last record.
    nearest: Option<String>,
}

/// What a step leaves to be kept.
struct Due {
    step: u64,
    loss: Option<f64>,
    params: Vec<f32>,
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
            records: Records {
                snapshot_steps: recipe.record.snapshot_steps(recipe.train.steps),
                folder,
                model: trainer.model().clone(),
                instruments,
                history,
                nearest: None,
                recipe,
            },
            trainer,
            started: Instant::now(),
            resumed_at,
            checkpoint_every: CHECKPOINT_EVERY,
        })
    }

    /// Where it stands.
    pub fn trainer(&self) -> &Trainer {
        &self.trainer
    }

    /// Trains to the end, telling `follow` of every step.
    ///
    /// What a step leaves is measured and written while the next steps are done, so that threads which would wait for one
    /// another have something else to do.
    pub fn run(&mut self, mut follow: impl FnMut(&Progress) + Send) -> Result<(), Failure> {
        let mut saved = Instant::now();
        let mut loss = None;
        // What belongs to the step of a checkpoint was written before it.
        let mut kept = self.resumed_at;
        loop {
            let step = self.trainer.step();
            let wanted = kept.replace(step) != Some(step) && self.records.wants(step);
            let mut due = wanted.then(|| Due {
                step,
                loss,
                params: self.trainer.params().to_vec(),
            });
            if self.trainer.is_done() || saved.elapsed() >= self.checkpoint_every {
                let row = self.records.keep(due.take())?;
                self.take(row)?;
                if self.trainer.is_done() {
                    break;
                }
                self.save()?;
                saved = Instant::now();
            }
            let Self {
                trainer,
                records,
                checkpoint_every,
                ..
            } = &mut *self;
            let stop = records.next_wanted(step);
            let train = || {
                loop {
                    loss = Some(trainer.advance()?);
                    follow(&Progress {
                        step: trainer.step(),
                        loss,
                        nearest: records.nearest.as_deref(),
                    });
                    if trainer.step() >= stop || saved.elapsed() >= *checkpoint_every {
                        return Ok(());
                    }
                }
            };
            let (row, trained) = rayon::join(|| records.keep(due), train);
            self.take(row?)?;
            if let Err(diverged) = trained {
                return self.give_up(&diverged);
            }
        }
        self.records.save_history()?;
        self.records.folder.save_summary(&self.summary(None))
    }

    /// Takes in a row, unless it shows that the run has come to nothing.
    fn take(&mut self, row: Option<Vec<Option<f64>>>) -> Result<(), Failure> {
        let Some(row) = row else { return Ok(()) };
        let records = &mut self.records;
        records.history.push(row);
        records.nearest = records.history.nearest(records.instruments.strategies());
        let kl = records.history.last(KL_TRUTH).unwrap_or(f64::NAN);
        if !kl.is_finite() {
            let step = records.history.steps().last().copied().unwrap_or_default();
            return self.give_up(&Diverged { step, loss: kl });
        }
        Ok(())
    }

    /// Rows first: a checkpoint promises that they are there.
    fn save(&self) -> Result<(), Failure> {
        self.records.save_history()?;
        let folder = &self.records.folder;
        folder.save_checkpoint(self.trainer.model(), &self.trainer.state())
    }

    /// Keeps what there is of a run that came to nothing.
    fn give_up(&mut self, diverged: &Diverged) -> Result<(), Failure> {
        self.records.save_history()?;
        let folder = &self.records.folder;
        folder.save_summary(&self.summary(Some(diverged)))?;
        Err(Failure::failed(format!(
            "{diverged}; what was recorded before is in {}. A lower learning rate may help \
             (--set train.optimizer.lr={})",
            folder.path().display(),
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
        let story = Story::new(&self.records.instruments.sets()[0].1, &self.records.history).json();
        if let (Value::Object(summary), Value::Object(story)) = (&mut summary, story) {
            summary.extend(story);
        }
        summary
    }

    /// Phases and the last divergence, in two lines.
    pub fn report(&self) -> String {
        let Records {
            history,
            instruments,
            ..
        } = &self.records;
        let (phases, _) = history.phases(instruments.strategies());
        let story: Vec<String> = phases
            .iter()
            .map(|phase| format!("{} (from step {})", phase.strategy, phase.onset))
            .collect();
        let kl = history.last(KL_TRUTH).unwrap_or(f64::NAN);
        format!(
            "{} steps in {:.1} s: {}\nKL(truth || model) at the last position: {kl:.4} nats\n",
            self.trainer.step(),
            self.started.elapsed().as_secs_f64(),
            story.join(" -> "),
        )
    }
}

impl Records {
    /// Whether anything is to be kept after `step` steps.
    fn wants(&self, step: u64) -> bool {
        self.records(step) || self.snapshot_steps.binary_search(&step).is_ok()
    }

    fn records(&self, step: u64) -> bool {
        self.recipe.record.records(step, self.recipe.train.steps)
    }

    /// The next step after `step` that leaves anything, or the last.
    fn next_wanted(&self, step: u64) -> u64 {
        let end = self.recipe.train.steps;
        (step + 1..end)
            .find(|&step| self.wants(step))
            .unwrap_or(end)
    }

    /// Writes the snapshot and measures the row that are due.
    fn keep(&self, due: Option<Due>) -> Result<Option<Vec<Option<f64>>>, Failure> {
        let Some(Due { step, loss, params }) = due else {
            return Ok(None);
        };
        if self.snapshot_steps.binary_search(&step).is_ok() {
            self.folder.save_snapshot(&self.model, step, &params)?;
        }
        let measure = || self.instruments.measure(&self.model, &params, step, loss);
        Ok(self.records(step).then(measure))
    }

    fn save_history(&self) -> Result<(), Failure> {
        self.folder.save_history(&self.history)
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::*;

    fn training(folder: RunFolder) -> Training {
        let recipe = folder.recipe(&[]).unwrap();
        let instruments = Instruments::new(&recipe).unwrap();
        Training::start(folder, Trainer::new(&recipe).unwrap(), instruments).unwrap()
    }

    /// A checkpoint falls due at every step, so at every record, too. Each is kept once, and so it is when a run goes on from
    /// such a checkpoint.
    #[test]
    fn a_checkpoint_at_a_record_does_not_repeat_it() {
        let text = "task.length = 8\nmodel.width = 4\ntrain.batch = 8\ntrain.steps = 12\n\
                    record.every = 4\nrecord.snapshots = 5\nrecord.test_sequences = 8";
        let recipe = Recipe::from_toml(text, &[]).unwrap();
        let temporary = TempDir::new().unwrap();
        let path = |name: &str| temporary.path().join(name);
        let metrics = |run: &Path| fs::read_to_string(run.join("metrics.csv")).unwrap();

        let seldom = path("seldom");
        let mut run = training(RunFolder::create(&seldom, &recipe).unwrap());
        run.run(|_| ()).unwrap();
        assert_eq!(run.records.history.steps(), [0, 4, 8, 12]);

        let (always, broken_off) = (path("always"), path("broken-off"));
        let mut run = training(RunFolder::create(&always, &recipe).unwrap());
        run.checkpoint_every = Duration::ZERO;
        let keep_a_copy = |progress: &Progress| {
            // The checkpoint of the step before is there: that of a record.
            if progress.step == 9 {
                fs::create_dir_all(broken_off.join("snapshots")).unwrap();
                for name in ["recipe.toml", "metrics.csv", "checkpoint.safetensors"] {
                    fs::copy(always.join(name), broken_off.join(name)).unwrap();
                }
            }
        };
        run.run(keep_a_copy).unwrap();
        assert_eq!(metrics(&always), metrics(&seldom));

        let mut run = training(RunFolder::reopen(&broken_off).unwrap().unwrap());
        assert_eq!(run.resumed_at, Some(8));
        run.run(|_| ()).unwrap();
        assert_eq!(metrics(&broken_off), metrics(&seldom));
    }
}
