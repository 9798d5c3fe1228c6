//! A run kept in memory.

use std::convert::Infallible;

use super::sink::{Record, Sink};
use super::summary::Summary;
use crate::probe::History;
use crate::train::Recipe;

/// All that is kept of a run that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Its recipe.
    pub recipe: Recipe,
    /// One row per recorded step.
    pub history: History,
    /// What it came to.
    pub summary: Summary,
    /// Steps and weights, in order; each step is a recorded one.
    pub snapshots: Vec<(u64, Vec<f32>)>,
}

impl Recording {
    /// The weights of the last snapshot: those at the end, unless the run diverged.
    pub fn weights(&self) -> &[f32] {
        let last = self.snapshots.last();
        last.map_or(&[], |(_, weights)| weights)
    }
}

/// A sink that keeps snapshots in memory; the run itself has the records.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Steps and weights, in order.
    pub snapshots: Vec<(u64, Vec<f32>)>,
}

impl Sink for Recorder {
    type Error = Infallible;

    fn record(&mut self, _: &Record) -> Result<(), Infallible> {
        Ok(())
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Infallible> {
        self.snapshots.push((step, params.to_vec()));
        Ok(())
    }
}

impl Recorder {
    /// Trains a recipe to its end and keeps all of it, over the current thread pool.
    pub fn record(
        recipe: &Recipe,
        instruments: std::sync::Arc<crate::probe::Instruments>,
    ) -> Result<Recording, crate::Invalid> {
        let mut run = super::Run::new(recipe, instruments)?;
        let mut recorder = Self::default();
        let Ok(ending) = run.drive(&mut recorder);
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
///
/// # Errors
///
/// If the recipe is impossible.
pub fn train(recipe: &Recipe) -> Result<Recording, crate::Invalid> {
    let instruments = crate::probe::Instruments::new(recipe)?;
    Recorder::record(recipe, std::sync::Arc::new(instruments))
}
