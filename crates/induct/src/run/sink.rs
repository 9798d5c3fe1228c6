//! What receives the results of a run.

use std::convert::Infallible;
use std::ops::ControlFlow;

use crate::probe::History;
use crate::train::{StepLoss, TrainState};

/// How far training has got.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Steps done.
    pub step: u64,
    /// Loss of the last step.
    pub loss: Option<StepLoss>,
    /// Nearest strategy at the last record, and its step.
    pub nearest: Option<(&'a str, u64)>,
}

/// A recorded step.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Steps done.
    pub step: u64,
    /// One number per column of the history; NaN where one is missing.
    pub row: &'a [f64],
    /// All rows so far, this one included.
    pub history: &'a History,
}

/// Everything needed to resume from a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The weights and the optimiser's state.
    pub state: TrainState,
    /// The last recorded weights whose loss was a number, with their step: what remains if the run diverges.
    /// `None` if the recipe keeps them as a snapshot anyway.
    pub last_finite: Option<(u64, Vec<f32>)>,
}

/// Receives what a run produces.
///
/// Every method has a default that keeps nothing and continues. A function of [`Progress`] is a sink that is told of
/// steps alone.
pub trait Sink: Send {
    /// The sink's error. An error ends the run.
    type Error: Send;

    /// Called for every recorded step, in order.
    fn record(&mut self, record: &Record) -> Result<(), Self::Error> {
        let _ = record;
        Ok(())
    }

    /// Called with weights that the recipe keeps, after the record of the same step.
    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Self::Error> {
        let _ = (step, params);
        Ok(())
    }

    /// Called after every step. Break to stop the run: it then ends with a checkpoint.
    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        let _ = progress;
        ControlFlow::Continue(())
    }

    /// Whether training waits for a record before it goes on. If so, a sink that stops the run because of a record
    /// stops it one step later; otherwise training goes on to the next record meanwhile, which is faster.
    fn waits(&self) -> bool {
        false
    }

    /// Whether it is time for a checkpoint. Called after every step, and possibly more often. Once true, the
    /// answer must stay true until [`checkpoint`](Sink::checkpoint) is called.
    fn wants_checkpoint(&mut self) -> bool {
        false
    }

    /// Called with everything needed to resume from here. Everything up to this step has been recorded.
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Self::Error> {
        let _ = checkpoint;
        Ok(())
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()> + Send> Sink for F {
    type Error = Infallible;

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        self(progress)
    }
}

/// Two sinks as one: one that watches a run, and one that keeps what it produces. Either may stop the run.
pub struct SinkPair<'a, W, K> {
    /// Told of records, snapshots and steps, before the other.
    pub watcher: &'a mut W,
    /// Told of everything.
    pub keeper: &'a mut K,
}

/// The error of one of two sinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchError<W, K> {
    /// That of the one that watches. The keeper was not told of what it was about.
    Watcher(W),
    /// That of the one that keeps.
    Keeper(K),
}

impl<W: Sink, K: Sink> Sink for SinkPair<'_, W, K> {
    type Error = WatchError<W::Error, K::Error>;

    fn record(&mut self, record: &Record) -> Result<(), Self::Error> {
        self.watcher.record(record).map_err(WatchError::Watcher)?;
        self.keeper.record(record).map_err(WatchError::Keeper)
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Self::Error> {
        let watched = self.watcher.snapshot(step, params);
        watched.map_err(WatchError::Watcher)?;
        let kept = self.keeper.snapshot(step, params);
        kept.map_err(WatchError::Keeper)
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        let watched = self.watcher.step(progress);
        let kept = self.keeper.step(progress);
        match watched.is_break() || kept.is_break() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn waits(&self) -> bool {
        self.watcher.waits() || self.keeper.waits()
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.keeper.wants_checkpoint()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Self::Error> {
        let kept = self.keeper.checkpoint(checkpoint);
        kept.map_err(WatchError::Keeper)
    }
}
