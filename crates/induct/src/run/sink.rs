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
    /// Nearest strategy at the last record.
    pub nearest: Option<&'a str>,
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
    pub sound: Option<(u64, Vec<f32>)>,
}

/// Receives what a run produces.
///
/// Only [`record`](Sink::record) must be implemented; every other method has a default that keeps nothing and
/// continues.
pub trait Sink: Send {
    /// The sink's error. An error ends the run.
    type Error: Send;

    /// Called for every recorded step, in order.
    fn record(&mut self, record: &Record) -> Result<(), Self::Error>;

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

/// Two sinks as one: a sink that keeps what a run produces, and one that watches it. Either may stop the run.
pub struct Watched<'a, K, W> {
    /// Told of everything.
    pub keeper: &'a mut K,
    /// Told of steps, records and snapshots.
    pub watcher: &'a mut W,
}

impl<K: Sink, W: Sink<Error = Infallible>> Sink for Watched<'_, K, W> {
    type Error = K::Error;

    fn record(&mut self, record: &Record) -> Result<(), K::Error> {
        self.keeper.record(record)?;
        let Ok(()) = self.watcher.record(record);
        Ok(())
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), K::Error> {
        self.keeper.snapshot(step, params)?;
        let Ok(()) = self.watcher.snapshot(step, params);
        Ok(())
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        let kept = self.keeper.step(progress);
        let watched = self.watcher.step(progress);
        match kept.is_break() || watched.is_break() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.keeper.wants_checkpoint()
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), K::Error> {
        self.keeper.checkpoint(checkpoint)
    }
}
