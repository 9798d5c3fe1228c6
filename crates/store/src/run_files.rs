//! The files of a run as bytes.

use std::path::Path;

use induct::Invalid;
use induct::probe::History;
use induct::recipe::Recipe;
use induct::run::{Checkpoint, Summary};

use crate::error::StoreError;
use crate::layout::{CHECKPOINT, METRICS, RECIPE, SUMMARY, snapshot_name};
use crate::metrics;
use crate::run_folder::{RunFolder, Stamp, summary_file};
use crate::storage::{RunFiles, Storage};
use crate::tensors;

/// The files of a run, byte for byte those that training leaves: of one that has ended with its outcome, of one that
/// can go on with the state that training resumes from.
///
/// # Panics
///
/// If weights are not as many as the model has.
pub fn files_of(
    recipe: &Recipe,
    history: &History,
    snapshots: &[(u64, Vec<f32>)],
    checkpoint: Option<&Checkpoint>,
    summary: Option<&Summary>,
) -> Result<RunFiles, Invalid> {
    let (stamp, model) = (Stamp::current(recipe), recipe.model()?);
    let lineage = &stamp.identity.lineage;
    let mut files = RunFiles::new();
    files.insert(RECIPE.into(), stamp.recipe_file(recipe));
    files.insert(METRICS.into(), metrics::file(history, lineage).into_bytes());
    for (step, params) in snapshots {
        let bytes = tensors::encode_snapshot(&model, lineage, *step, params);
        files.insert(snapshot_name(*step), bytes);
    }
    if let Some(checkpoint) = checkpoint {
        let bytes = tensors::encode_checkpoint(&model, lineage, checkpoint);
        files.insert(CHECKPOINT.into(), bytes);
    }
    if let Some(summary) = summary {
        files.insert(SUMMARY.into(), summary_file(summary));
    }
    Ok(files)
}

/// What shows a run, without the state that training resumes from and with some of its snapshots.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// All files, checked.
    pub files: RunFiles,
    /// The number of snapshots.
    pub snapshots: usize,
    /// The number of those that are left out.
    pub left_out: usize,
}

impl RunFolder {
    /// All files of the run.
    pub fn files(&self) -> Result<RunFiles, StoreError> {
        // The run may go on meanwhile. Whatever a summary or a checkpoint promises is there before it, so they are read
        // first.
        let mut files = RunFiles::new();
        let mut take = |name: String| -> Result<(), StoreError> {
            files.extend(self.read(&name)?.map(|bytes| (name, bytes)));
            Ok(())
        };
        for name in [RECIPE, SUMMARY, CHECKPOINT, METRICS] {
            take(name.to_owned())?;
        }
        for step in self.snapshot_steps()? {
            take(snapshot_name(step))?;
        }
        Ok(files)
    }

    /// What shows the run, all of it checked. Of its snapshots it has at most as many as `most` says, given their number
    /// and their bytes together; they are evenly spread, the last always among them, and the first from two on.
    pub fn excerpt(&self, most: impl FnOnce(usize, usize) -> usize) -> Result<Excerpt, StoreError> {
        let mut files = self.files()?;
        files.remove(CHECKPOINT);
        // These very bytes: on disk, a run in training may have changed since.
        let run = Self::of_files(&self.path().to_string_lossy(), files.clone())?;
        let steps = run.snapshot_steps()?;
        // Of a run that has ended, none may be missing.
        if run.recording()?.is_none() {
            run.history()?;
            for &step in &steps {
                run.snapshot(Some(step))?;
            }
        }
        run.snapshot(None)?;
        let names: Vec<String> = steps.into_iter().map(snapshot_name).collect();
        let bytes = names.iter().map(|name| files[name].len()).sum();
        let kept: Vec<usize> = spread(names.len(), most(names.len(), bytes)).collect();
        for (at, name) in names.iter().enumerate() {
            if kept.binary_search(&at).is_err() {
                files.remove(name);
            }
        }
        Ok(Excerpt {
            files,
            snapshots: kept.len(),
            left_out: names.len() - kept.len(),
        })
    }

    /// Writes it into a folder that holds nothing yet. The bytes are those that training there would have left.
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        Storage::on_disk(path).fill(self.files()?)
    }

    /// Makes a run that was stopped that of another recipe, with which it would have come to the same state: one
    /// with more interventions, which begin only now. Every file names its run, so all are made anew.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written. Then the run is what it was.
    pub fn rededicate(&self, recipe: &Recipe) -> Result<(), StoreError> {
        let checkpoint = self.checkpoint()?;
        let checkpoint =
            checkpoint.ok_or_else(|| self.storage.damaged(CHECKPOINT, "there is no such file"))?;
        let last = checkpoint.state.step;
        let mut history = self.history()?;
        history.retain(|step| step <= last);
        let steps = self.snapshot_steps()?.into_iter();
        let snapshots = steps.filter(|step| *step <= last);
        let snapshots = snapshots.map(|step| self.snapshot(Some(step)));
        let snapshots = snapshots.collect::<Result<Vec<_>, _>>()?;
        let files = files_of(recipe, &history, &snapshots, Some(&checkpoint), None);
        self.storage
            .replace(files.map_err(|error| self.storage.different(error))?)
    }
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
