//! A run kept in memory.

use std::convert::Infallible;
use std::sync::Arc;

use super::drive::Ending;
use super::sink::Sink;
use super::summary::Summary;
use crate::Invalid;
use crate::probe::{History, Instruments, ProbeError};
use crate::recipe::Recipe;
use crate::train::TrainError;

/// Everything kept from a run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its recipe.
    pub recipe: Recipe,
    /// One row per recorded step.
    pub history: History,
    /// Its summary.
    pub summary: Summary,
    /// Steps and weights, in order; each step is a recorded step.
    pub snapshots: Vec<(u64, Vec<f32>)>,
}

impl Recording {
    /// The weights of the last snapshot: those at the end, unless the run diverged.
    pub fn weights(&self) -> &[f32] {
        let last = self.snapshots.last();
        last.map_or(&[], |(_, weights)| weights)
    }
}

/// Why there is no recording.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The recipe is impossible.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is nothing to measure it with.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// It could not be trained to its end.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// A sink that keeps snapshots in memory; the run itself has the records.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Steps and weights, in order.
    pub snapshots: Vec<(u64, Vec<f32>)>,
}

impl Sink for Recorder {
    type Error = Infallible;

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Infallible> {
        self.snapshots.push((step, params.to_vec()));
        Ok(())
    }
}

impl Recorder {
    /// Trains a recipe to its end on the current thread pool, and keeps everything.
    pub fn record(recipe: &Recipe, instruments: Arc<Instruments>) -> Result<Recording, RunError> {
        let mut run = super::Run::new(recipe, instruments)?;
        let mut recorder = Self::default();
        let Ok(ending) = run.drive(&mut recorder);
        if let Ending::PriorFailed { step, error } = ending {
            return Err(TrainError::Prior { step, error }.into());
        }
        let summary = Summary::of(&run, &ending, 0.0).expect("nothing stops it");
        Ok(Recording {
            recipe: recipe.clone(),
            history: run.history().clone(),
            summary,
            snapshots: recorder.snapshots,
        })
    }
}

/// Trains a recipe to its end and keeps all of it in memory, over the current thread pool.
pub fn train(recipe: &Recipe) -> Result<Recording, RunError> {
    let instruments = Instruments::new(recipe)?;
    Recorder::record(recipe, Arc::new(instruments))
}
