//! One session of training in a run's folder: the loop, the writer of its files, and a progress display.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use induct::Invalid;
use induct::digest;
use induct::probe::Instruments;
use induct::run::{Checkpoint, Ending, Progress, Record, Run, Sink, Summary, level_with};
use induct::train::{FromSpec, OptimizerSpec, Recipe, TrainError, WeightsSpec};
use induct_store::{Begun, How, RunFolder, RunWriter, StoreError};

use crate::commands::note;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run_at::RunAt;

/// What became of a run.
pub enum Outcome {
    /// It has ended, now or in an earlier session.
    Ended {
        /// Its summary.
        summary: Box<Summary>,
        /// Whether it had ended before, so that there was nothing left to do.
        earlier: bool,
    },
    /// It was stopped after this many steps, and can be resumed.
    Stopped(u64),
}

/// A run to train.
pub struct Session<'a> {
    /// What to train.
    pub recipe: &'a Recipe,
    /// The run's folder.
    pub path: &'a Path,
    /// What the folder may hold already.
    pub how: How,
    /// The instruments to measure with, if they exist already.
    pub instruments: Option<Arc<Instruments>>,
    /// Whether to stop.
    pub interrupt: &'a Interrupt,
}

impl Session<'_> {
    /// Trains to the end on the current thread pool. `follow` is called first with the step that training
    /// starts from, then with every step.
    pub fn train(&self, follow: impl FnMut(&Progress) + Send) -> Result<Outcome, Failure> {
        if matches!(self.how, How::Resume | How::Extend)
            && let Some(summary) = RunFolder::finished(self.path, self.recipe)
            && RunFolder::open(self.path).is_ok_and(|run| run.recording().is_ok())
        {
            return Ok(Outcome::Ended {
                summary: Box::new(summary),
                earlier: true,
            });
        }
        let started = Instant::now();
        // Anything that may be refused, or may not fit into memory, comes before the folder is touched.
        let instruments = match &self.instruments {
            Some(instruments) => Arc::clone(instruments),
            None => Arc::new(Instruments::new(self.recipe)?),
        };
        let from_start = || -> Result<Run, Failure> {
            let instruments = Arc::clone(&instruments);
            let run = Run::with_snapshots(self.recipe, instruments, &snapshot_weights);
            Ok(run?)
        };
        let resumes =
            RunFolder::open(self.path).is_ok_and(|run| run.checkpoint().is_ok_and(|c| c.is_some()));
        let fresh = match resumes {
            true => None,
            false => Some(from_start()?),
        };
        let begun = RunWriter::begin(self.path, self.recipe, self.how);
        let start = match begun.map_err(|error| self.advised(error))? {
            Begun::Training(start) => start,
            Begun::Ended(_, summary) => {
                return Ok(Outcome::Ended {
                    summary,
                    earlier: true,
                });
            }
        };
        if let Some(remark) = &start.remark {
            note(remark);
        }
        let mut run = match (start.from, fresh) {
            (Some((state, history)), _) => {
                let run = Run::resumed(self.recipe, instruments, state, history, &snapshot_weights);
                run.map_err(|unfit| Failure::mistake(format!("{}: {unfit}", self.path.display())))?
            }
            (None, Some(fresh)) => fresh,
            (None, None) => from_start()?,
        };
        let mut watched = Watched {
            writer: start.writer,
            follow,
            interrupt: self.interrupt,
        };
        (watched.follow)(&Progress {
            step: run.step(),
            loss: None,
            nearest: None,
        });
        let ending = run.drive(&mut watched)?;
        let mut writer = watched.writer;
        if let Ending::PriorFailed { step, error } = ending {
            writer.close()?;
            return Err(Failure::failed(
                TrainError::Prior { step, error }.to_string(),
            ));
        }
        match Summary::of(&run, &ending, started.elapsed().as_secs_f64()) {
            Some(summary) => {
                writer.finish(&summary)?;
                Ok(Outcome::Ended {
                    summary: Box::new(summary),
                    earlier: false,
                })
            }
            None => {
                writer.close()?;
                debug_assert!(matches!(ending, Ending::Stopped(_)));
                Ok(Outcome::Stopped(run.step()))
            }
        }
    }

    /// Adds advice on what to do about a folder that cannot be used.
    fn advised(&self, error: StoreError) -> Failure {
        let advice = match (&error, self.how) {
            (StoreError::HoldsARun { .. }, _) => {
                "add --resume to continue it, or choose another --out".to_owned()
            }
            (StoreError::OtherArithmetic { of_run, .. }, _) => match level_with(of_run) {
                Some(level) => {
                    format!("add --level {level} to continue it, or choose another --out")
                }
                None => "this machine cannot compute with that; choose another --out".to_owned(),
            },
            (StoreError::Foreign { .. }, How::New | How::Extend) => {
                "choose another --out".to_owned()
            }
            (StoreError::Different { .. } | StoreError::Damaged { .. }, How::New | How::Extend) => {
                "choose another --out to train a new run".to_owned()
            }
            _ => return error.into(),
        };
        Failure::from(error).with_advice(&advice)
    }
}

/// The sink of the command line: writes the files, and reports progress.
struct Watched<'a, F> {
    writer: RunWriter,
    follow: F,
    interrupt: &'a Interrupt,
}

impl<F: FnMut(&Progress) + Send> Sink for Watched<'_, F> {
    type Error = StoreError;

    fn record(&mut self, record: &Record) -> Result<(), StoreError> {
        self.writer.record(record)
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), StoreError> {
        self.writer.snapshot(step, params)
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        (self.follow)(progress);
        match self.interrupt.asked() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.writer.wants_checkpoint()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.writer.checkpoint(checkpoint)
    }
}

/// The `from` entry of a recipe that starts from a snapshot of another run.
pub fn start_from(source: &str, recipe: &Recipe) -> Result<FromSpec, Failure> {
    let RunAt { path, step } =
        RunAt::parse(source).map_err(|failure| failure.while_at("--from"))?;
    let found = snapshot(&path, step, recipe);
    let (step, weights) = found.map_err(|failure| failure.while_at(&format!("--from {source}")))?;
    Ok(FromSpec {
        run: path.to_string_lossy().into_owned(),
        step,
        weights: digest::weights(&weights),
    })
}

/// Completes what a recipe says of the snapshots that its interventions take weights from: the digest of their
/// weights, which people need not write.
pub fn complete(recipe: &mut Recipe) -> Result<(), Failure> {
    let model = recipe.clone();
    for (index, spec) in recipe.intervene.iter_mut().enumerate() {
        if let Some(WeightsSpec::Snapshot(from)) = spec.weights_mut()
            && from.weights.is_empty()
        {
            let place = format!("intervene[{index}]: {}@{}", from.run, from.step);
            let found = snapshot(Path::new(&from.run), Some(from.step), &model);
            let (_, weights) = found.map_err(|failure| failure.while_at(&place))?;
            from.weights = digest::weights(&weights);
        }
    }
    Ok(())
}

/// A snapshot of a run whose model has the same tensors as the recipe's.
fn snapshot(run: &Path, step: Option<u64>, recipe: &Recipe) -> Result<(u64, Vec<f32>), Failure> {
    let folder = RunFolder::open(run)?;
    let shape = |model: &induct::model::Model| -> Vec<(String, Vec<usize>)> {
        let tensors = model.layout().tensors().iter();
        tensors.map(|t| (t.name.clone(), t.shape.clone())).collect()
    };
    let (theirs, ours) = (shape(folder.model()), shape(&recipe.model()?));
    if theirs != ours {
        let text = |tensor: Option<&(String, Vec<usize>)>| match tensor {
            Some((name, shape)) => format!("{name} {shape:?}"),
            None => "none".to_owned(),
        };
        let differs = (0..theirs.len().max(ours.len())).find(|&i| theirs.get(i) != ours.get(i));
        let index = differs.unwrap_or(0);
        return Err(Failure::mistake(format!(
            "its model differs: it has tensor {} where this recipe's model has {}; \
             choose a run with the same model settings",
            text(theirs.get(index)),
            text(ours.get(index))
        )));
    }
    Ok(folder.snapshot(step)?)
}

/// The weights of a snapshot that a recipe names.
pub fn snapshot_weights(from: &FromSpec) -> Result<Vec<f32>, Invalid> {
    let folder = RunFolder::open(Path::new(&from.run));
    let weights = folder.and_then(|folder| folder.snapshot(Some(from.step)));
    let place = format!("{}@{}", from.run, from.step);
    weights
        .map(|(_, weights)| weights)
        .map_err(|error| Invalid::new("run", place, error.to_string()))
}

/// Advice for a run that has diverged.
pub fn advice(recipe: &Recipe) -> String {
    let optimizer = &recipe.train.optimizer;
    // Far above the usual rates, a tenth would be no better: suggest the usual one.
    let usual = match optimizer {
        OptimizerSpec::Sgd(_) => 2e-3,
        OptimizerSpec::Adamw(_) | OptimizerSpec::Custom(_) => 1e-3,
    };
    let lower = optimizer.lr().map_or(usual, |lr| (lr / 10.0).min(usual));
    format!("A lower learning rate may help: --set train.optimizer.lr={lower:e}")
}
