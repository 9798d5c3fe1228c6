//! A run that was trained elsewhere, put into a folder.

use std::fs;
use std::path::{Path, PathBuf};

use induct::probe::History;
use induct::run::{Checkpoint, Record, Sink, Summary};
use induct::train::Recipe;

use crate::error::StoreError;
use crate::run_folder::RunFolder;
use crate::writer::{Begun, How, RunWriter};

/// Everything that a folder holds of a run.
#[derive(Clone, Debug)]
pub struct Saved<'a> {
    /// What was trained.
    pub recipe: &'a Recipe,
    /// What was recorded.
    pub history: &'a History,
    /// Steps and weights, in order.
    pub snapshots: Vec<(u64, &'a [f32])>,
    /// The state that training resumes from.
    pub checkpoint: Option<&'a Checkpoint>,
    /// The outcome, if it has ended.
    pub summary: Option<&'a Summary>,
}

impl Saved<'_> {
    /// Writes all of it into a new or empty folder. The bytes are those that training there would have left.
    ///
    /// # Errors
    ///
    /// If the folder holds something already, or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        let Begun::Training(start) = RunWriter::begin(path, self.recipe, How::New)? else {
            unreachable!("a new folder holds no run that has ended");
        };
        let mut writer = start.writer;
        let mut snapshots = self.snapshots.iter().peekable();
        for row in self.history.rows() {
            let step = row[0] as u64;
            let history = self.history;
            writer.record(&Record { step, row, history })?;
            while let Some((step, params)) = snapshots.next_if(|(at, _)| *at <= step) {
                writer.snapshot(*step, params)?;
            }
        }
        if let Some(checkpoint) = self.checkpoint {
            writer.checkpoint(checkpoint)?;
        }
        match self.summary {
            Some(summary) => writer.finish(summary),
            None => writer.close(),
        }
    }
}

impl RunFolder {
    /// Makes a run that was stopped that of another recipe, with which it would have come to the same state: one
    /// with more interventions, which begin only now. Every file names its run, so all are written anew, beside the
    /// folder, which is replaced when they are complete.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written. Then the folder is what it was.
    pub fn rededicate(&self, recipe: &Recipe) -> Result<(), StoreError> {
        let checkpoint = self.checkpoint()?;
        let Some(checkpoint) = checkpoint else {
            return Err(StoreError::damaged(self.path(), "it has no checkpoint"));
        };
        let mut history = self.history()?;
        history.retain(|step| step <= checkpoint.state.step);
        let mut snapshots = Vec::new();
        for step in self.snapshot_steps()? {
            if step <= checkpoint.state.step {
                snapshots.push(self.snapshot(Some(step))?);
            }
        }
        let saved = Saved {
            recipe,
            history: &history,
            snapshots: snapshots
                .iter()
                .map(|(at, w)| (*at, w.as_slice()))
                .collect(),
            checkpoint: Some(&checkpoint),
            summary: None,
        };
        // Links and dots have nothing beside them.
        let path = fs::canonicalize(self.path()).map_err(StoreError::io("use", self.path()))?;
        let next = beside(&path, NEXT);
        let before = beside(&path, BEFORE);
        remove(&next)?;
        if let Err(error) = saved.write(&next) {
            remove(&next)?;
            return Err(error);
        }
        remove(&before)?;
        rename(&path, &before)?;
        rename(&next, &path)?;
        remove(&before)
    }
}

/// What stands beside a folder while it is replaced.
const NEXT: &str = "next";
const BEFORE: &str = "before";

/// Brings back a run whose folder was being replaced when the machine stopped.
pub fn bring_back(path: &Path) -> Result<(), StoreError> {
    let before = beside(path, BEFORE);
    match path.exists() || !before.exists() {
        true => Ok(()),
        false => rename(&before, path),
    }
}

/// A hidden folder beside another one.
fn beside(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{what}"))
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(StoreError::io("rename", from))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match path.exists() {
        true => fs::remove_dir_all(path).map_err(StoreError::io("remove", path)),
        false => Ok(()),
    }
}
