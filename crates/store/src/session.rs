//! One session of training in a run's folder: the loop, and the writer of its files.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use induct::Invalid;
use induct::probe::{Instruments, ProbeError};
use induct::recipe::{FromSpec, Recipe};
use induct::run::{Ending, Progress, Run, Sink, SinkPair, Summary, Unfit, WatchError};
use induct::train::TrainError;

use crate::error::StoreError;
use crate::layout::RECIPE;
use crate::opening;
use crate::run_folder::RunFolder;
use crate::sources::snapshot_weights;
use crate::storage::Storage;
use crate::writer::{How, Opening};

/// What became of a run.
#[derive(Debug)]
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

/// Why a run could not be trained. `W` is the error of the sink that watches it.
#[derive(Debug, thiserror::Error)]
pub enum SessionError<W = Infallible> {
    /// The recipe is impossible.
    #[error(transparent)]
    Recipe(#[from] Invalid),
    /// There is nothing to measure it with.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// Its folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the folder holds does not fit the recipe.
    #[error("{path}: {unfit}")]
    #[expect(missing_docs, reason = "the message says what fields are")]
    Unfit { path: String, unfit: Unfit },
    /// A prior of another program failed in mid-run. All before that is kept, with a checkpoint.
    #[error(transparent)]
    Prior(TrainError),
    /// The sink that watches it failed.
    #[error("{0}")]
    Watcher(W),
}

/// A run to train in a folder.
pub struct Session<'a> {
    /// What to train.
    pub recipe: &'a Recipe,
    /// The run's folder.
    pub path: &'a Path,
    /// What the folder may hold already.
    pub how: How,
    /// The instruments to measure with, if they exist already.
    pub instruments: Option<Arc<Instruments>>,
    /// Finds the weights of snapshots that the recipe names; [`snapshot_weights`](crate::snapshot_weights) looks for
    /// them in the folders of their runs.
    pub snapshots: &'a (dyn Fn(&FromSpec) -> Result<Vec<f32>, Invalid> + Sync),
    /// Told why an earlier run in the folder is not resumed, if that is the case.
    pub remark: &'a (dyn Fn(&str) + Sync),
}

/// Trains a recipe to its end in a folder, as `induct train` does; from its last checkpoint on, if the folder holds one
/// of this run. Commands can then show it.
pub fn train(recipe: &Recipe, path: &Path) -> Result<Summary, SessionError> {
    let session = Session {
        recipe,
        path,
        how: match path.join(RECIPE).exists() {
            true => How::Resume,
            false => How::New,
        },
        instruments: None,
        snapshots: &snapshot_weights,
        remark: &|_| {},
    };
    match session.train(&mut |_: &Progress| ControlFlow::Continue(()))? {
        Outcome::Ended { summary, .. } => Ok(*summary),
        Outcome::Stopped(_) => unreachable!("nothing stops it"),
    }
}

impl Session<'_> {
    /// Trains to the end on the current thread pool. `watcher` is told of the step that training starts from,
    /// then of every step, record and snapshot; it may stop the run.
    pub fn train<W: Sink>(&self, watcher: &mut W) -> Result<Outcome, SessionError<W::Error>> {
        self.train_in(&Storage::on_disk(self.path), watcher)
    }

    /// The same with the run's files anywhere.
    pub fn train_in<W: Sink>(
        &self,
        storage: &Storage,
        watcher: &mut W,
    ) -> Result<Outcome, SessionError<W::Error>> {
        let earlier = |summary| Outcome::Ended {
            summary,
            earlier: true,
        };
        if matches!(self.how, How::Resume | How::Extend)
            && let Some(summary) = opening::ended(storage, self.recipe)
        {
            return Ok(earlier(Box::new(summary)));
        }
        let started = Instant::now();
        // Anything that may be refused, or may not fit into memory, comes before the folder is touched.
        let instruments = match &self.instruments {
            Some(instruments) => Arc::clone(instruments),
            None => Arc::new(Instruments::new(self.recipe)?),
        };
        let from_start =
            || Run::with_snapshots(self.recipe, Arc::clone(&instruments), self.snapshots);
        let checkpoint = RunFolder::open_in(storage.clone()).and_then(|run| run.checkpoint());
        let fresh = match checkpoint {
            Ok(Some(_)) => None,
            _ => Some(from_start()?),
        };
        let start = match opening::open(storage, self.recipe, self.how)? {
            Opening::Training(start) => start,
            Opening::Ended(summary) => return Ok(earlier(summary)),
        };
        if let Some(remark) = &start.remark {
            (self.remark)(remark);
        }
        let mut run = match (start.from, fresh) {
            (Some((state, history)), _) => {
                let instruments = Arc::clone(&instruments);
                let run = Run::resumed(self.recipe, instruments, state, history, self.snapshots);
                run.map_err(|unfit| SessionError::Unfit {
                    path: storage.path().display().to_string(),
                    unfit,
                })?
            }
            (None, Some(fresh)) => fresh,
            (None, None) => from_start()?,
        };
        let mut writer = start.writer;
        // Whoever wants to stop before the first step can do so after it.
        let _ = watcher.step(&Progress {
            step: run.step(),
            loss: None,
            nearest: None,
        });
        let ending = run.drive(&mut SinkPair {
            watcher,
            keeper: &mut writer,
        });
        let ending = ending.map_err(|error| match error {
            WatchError::Watcher(error) => SessionError::Watcher(error),
            WatchError::Keeper(error) => SessionError::Store(error),
        })?;
        if let Ending::PriorFailed { step, error } = ending {
            writer.close()?;
            return Err(SessionError::Prior(TrainError::Prior { step, error }));
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
}
