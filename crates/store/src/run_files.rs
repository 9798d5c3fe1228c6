//! The files of a run in memory, for programs without a disk: a page in a browser.

use std::collections::BTreeMap;

use induct::Invalid;
use induct::probe::History;
use induct::run::{Checkpoint, Recording, Summary};
use induct::train::Recipe;

use crate::error::StoreError;
use crate::layout::{
    CHECKPOINT, METRICS, RECIPE, SNAPSHOTS, SUMMARY, snapshot_name, snapshot_step,
};
use crate::metrics;
use crate::run_folder::{RunFolder, Stamp, summary_file};
use crate::tensors;

/// The files of a run by their names within its folder, such as `metrics.csv`. They are byte for byte those
/// that [`RunWriter`](crate::RunWriter) writes, and [`RunFolder::of_files`](crate::RunFolder::of_files)
/// reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFiles(BTreeMap<String, Vec<u8>>);

impl RunFiles {
    /// All files of a run that has ended, except the state that training resumes from.
    ///
    /// # Errors
    ///
    /// If its recipe has no model.
    pub fn of(recording: &Recording) -> Result<Self, Invalid> {
        let recipe = &recording.recipe;
        let mut files = Self::default();
        files.insert(RECIPE, Self::recipe(recipe));
        files.insert(METRICS, Self::metrics(recipe, &recording.history));
        files.insert(SUMMARY, summary_file(&recording.summary));
        for (step, params) in &recording.snapshots {
            files.insert(snapshot_name(*step), Self::snapshot(recipe, *step, params)?);
        }
        Ok(files)
    }

    /// The bytes of `recipe.toml`.
    pub fn recipe(recipe: &Recipe) -> Vec<u8> {
        Stamp::current(recipe).recipe_file(recipe)
    }

    /// The bytes of `metrics.csv`.
    pub fn metrics(recipe: &Recipe, history: &History) -> Vec<u8> {
        metrics::file(history, &Stamp::current(recipe).identity.lineage).into_bytes()
    }

    /// The bytes of `summary.json`.
    pub fn summary(summary: &Summary) -> Vec<u8> {
        summary_file(summary)
    }

    /// The name of the snapshot at `step`.
    pub fn snapshot_name(step: u64) -> String {
        snapshot_name(step)
    }

    /// The bytes of the snapshot at `step`.
    ///
    /// # Errors
    ///
    /// If the recipe has no model.
    ///
    /// # Panics
    ///
    /// If the weights are not as many as the model has.
    pub fn snapshot(recipe: &Recipe, step: u64, params: &[f32]) -> Result<Vec<u8>, Invalid> {
        let lineage = Stamp::current(recipe).identity.lineage;
        let model = recipe.model()?;
        Ok(tensors::encode_snapshot(&model, &lineage, step, params))
    }

    /// Adds the state that training resumes from.
    ///
    /// # Errors
    ///
    /// If the recipe has no model.
    pub fn insert_checkpoint(
        &mut self,
        recipe: &Recipe,
        checkpoint: &Checkpoint,
    ) -> Result<(), Invalid> {
        let lineage = Stamp::current(recipe).identity.lineage;
        let bytes = tensors::encode_checkpoint(&recipe.model()?, &lineage, checkpoint);
        self.insert(CHECKPOINT, bytes);
        Ok(())
    }

    /// Adds a file; a name is relative to the folder, with `/` between its parts.
    pub fn insert(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.0.insert(name.into(), bytes);
    }

    /// Keeps only the snapshots at these steps, in increasing order, and all other files.
    pub fn keep_snapshots(&mut self, steps: &[u64]) {
        self.0.retain(|name, _| {
            snapshot_of(name).is_none_or(|step| steps.binary_search(&step).is_ok())
        });
    }

    /// The steps of its snapshots, in increasing order, once everything has been read and checked: these very bytes.
    /// On disk, a run in training may have changed since. `name` is what errors call the run.
    ///
    /// # Errors
    ///
    /// If a file is damaged or missing, or there is no snapshot.
    pub fn checked_steps(&self, name: &str) -> Result<Vec<u64>, StoreError> {
        let folder = RunFolder::of_files(name, self.clone())?;
        let steps = folder.snapshot_steps()?;
        // Of a run that has ended, none may be missing.
        if folder.recording()?.is_none() {
            folder.history()?;
            for &step in &steps {
                folder.snapshot(Some(step))?;
            }
        }
        folder.snapshot(None)?;
        Ok(steps)
    }

    /// How many bytes its snapshots take.
    pub fn snapshot_bytes(&self) -> usize {
        let snapshots = self
            .0
            .iter()
            .filter(|(name, _)| snapshot_of(name).is_some());
        snapshots.map(|(_, bytes)| bytes.len()).sum()
    }

    /// Keeps at most `most` of the snapshots at these steps, evenly spread: the last always, the first from two on.
    /// Returns how many are left.
    pub fn spread_snapshots(&mut self, steps: &[u64], most: usize) -> usize {
        let kept: Vec<u64> = spread(steps.len(), most).map(|at| steps[at]).collect();
        self.keep_snapshots(&kept);
        kept.len()
    }

    /// The bytes of a file.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// All files, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// The names in one of its folders, in order.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let inside = |name: &String| Some(name.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
        self.0.keys().filter_map(inside).collect()
    }
}

/// The step of the snapshot with this name within a run's folder.
fn snapshot_of(name: &str) -> Option<u64> {
    snapshot_step(name.strip_prefix(SNAPSHOTS)?.strip_prefix('/')?)
}

/// At most `most` of the numbers below `count`, evenly spread: the last always, the first from two on.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let last = count.saturating_sub(1);
    let kept = most.min(count);
    (0..kept).map(move |at| match kept {
        1 => last,
        _ => (at * last + (kept - 1) / 2) / (kept - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_spread_from_the_first_to_the_last() {
        let spread = |count, most| spread(count, most).collect::<Vec<_>>();
        assert_eq!(spread(5, 9), [0, 1, 2, 3, 4]);
        assert_eq!(spread(5, 3), [0, 2, 4]);
        assert_eq!(spread(6, 4), [0, 2, 3, 5]);
        assert_eq!(spread(5, 2), [0, 4]);
        assert_eq!(spread(5, 1), [4]);
        assert_eq!(spread(1, 7), [0]);
        assert!(spread(0, 7).is_empty());
        for count in 2..60 {
            for most in 2..=count {
                let kept = spread(count, most);
                assert!(kept.is_sorted_by(|a, b| a < b), "{count}, {most}: {kept:?}");
                assert_eq!((kept[0], kept[kept.len() - 1]), (0, count - 1));
                assert_eq!(kept.len(), most);
            }
        }
    }
}
