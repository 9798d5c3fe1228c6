//! What a run is told to.

use std::ops::ControlFlow;

use crate::probe::History;
use crate::train::{StepLoss, TrainState};

/// How far training has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Steps done.
    pub step: u64,
    /// Loss of the last of them.
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

/// All that is needed to go on from a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Weights and optimiser.
    pub state: TrainState,
    /// The last recorded weights whose loss was a number, unless the recipe keeps them as a snapshot: what is left if the run diverges.
    pub sound: Option<(u64, Vec<f32>)>,
}

/// Whoever receives what a run leaves.
///
/// Only [`record`](Sink::record) must be written; everything else has a default that keeps nothing and goes on.
pub trait Sink: Send {
    /// What can go wrong with it. An error ends the run.
    type Error: Send;

    /// Told of every recorded step, in order.
    fn record(&mut self, record: &Record) -> Result<(), Self::Error>;

    /// Told of weights that the recipe wants kept, after the record of the same step.
    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Self::Error> {
        let _ = (step, params);
        Ok(())
    }

    /// Told of every step. Break to stop the run: it then ends with a checkpoint.
    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        let _ = progress;
        ControlFlow::Continue(())
    }

    /// Asked after every step, and maybe more often, whether it is time for a checkpoint. The answer is to stay the same until
    /// [`checkpoint`](Sink::checkpoint) is called.
    fn wants_checkpoint(&mut self) -> bool {
        false
    }

    /// Told of all that is needed to go on from here. Everything up to this step has been recorded.
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Self::Error> {
        let _ = checkpoint;
        Ok(())
    }
}
