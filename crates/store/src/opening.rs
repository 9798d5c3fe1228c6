//! A run's folder before training: whether it can be used, what is resumed, and what is cleared away.

use std::fs;
use std::path::Path;

use induct::probe::{self, History};
use induct::run::{Checkpoint, Ended, check_longer, check_records, kept_steps};
use induct::train::{Difference, Recipe};

use crate::disk::Disk;
use crate::error::StoreError;
use crate::layout::{self, CHECKPOINT, METRICS, RECIPE, SNAPSHOTS, SUMMARY};
use crate::lock::{self, Lock};
use crate::metrics;
use crate::run_folder::{RunFolder, Stamp};
use crate::writer::{Begun, How, RunWriter, Start};

/// Whether a folder holds a run. Refuses a folder that `how` does not allow. Changes nothing.
pub fn holds_run(path: &Path, how: How) -> Result<bool, StoreError> {
    let contents = lock::contents(path)?;
    let Some(found) = contents.first() else {
        return Ok(false);
    };
    let has_recipe = contents.iter().any(|name| name == RECIPE);
    // A run that lost its recipe may be replaced, but not resumed.
    let ours = [METRICS, SNAPSHOTS, CHECKPOINT, SUMMARY];
    let remains = contents.iter().all(|name| ours.contains(&name.as_str()));
    match (has_recipe || (remains && how == How::Replace), how) {
        (true, How::New) => Err(StoreError::HoldsARun {
            path: path.to_owned(),
        }),
        (true, _) => Ok(true),
        (false, _) => Err(StoreError::Foreign {
            path: path.to_owned(),
            expected: "run",
            found: found.clone(),
        }),
    }
}

/// A locked folder, before training.
pub struct Opening<'a> {
    pub disk: Disk,
    pub path: &'a Path,
    pub recipe: &'a Recipe,
    pub stamp: Stamp,
    pub lock: Lock,
    pub remark: Option<String>,
}

impl Opening<'_> {
    /// Resumes the run in the folder. `None` if it has to start over.
    pub fn resume(&mut self, how: How) -> Result<Option<Begun>, StoreError> {
        let folder = RunFolder::open(self.path)?;
        self.check_current(&folder)?;
        let longer = folder.recipe() != self.recipe;
        if longer {
            self.check_longer(&folder, how)?;
        }
        // A damaged summary is rewritten: everything in it follows from the files checked below.
        if let (Ok(Some(summary)), false) = (folder.summary(), longer)
            && folder.recording().is_ok()
        {
            return Ok(Some(Begun::Ended(Box::new(folder), Box::new(summary))));
        }
        let Some(checkpoint) = folder.checkpoint()? else {
            return Ok(None);
        };
        let (steps, step) = (self.recipe.train.steps, checkpoint.state.step);
        if step > steps {
            let what = format!("it is from step {step}, but the run has only {steps} steps");
            return Err(StoreError::damaged(&self.path.join(CHECKPOINT), what));
        }
        let history = self.records_until(&folder, step)?;
        let kept = kept_steps(self.recipe, &history);
        if let Some(missing) = missing_snapshot(&folder, &kept, step)? {
            self.remark = Some(format!(
                "{}: the snapshot at step {missing} is missing or damaged; training starts over",
                self.path.display()
            ));
            return Ok(None);
        }
        // Nothing is missing: from here on the folder belongs to the longer run.
        self.write_recipe()?;
        self.remove_later_snapshots(&folder, &kept, step)?;
        self.disk.remove(&self.path.join(SUMMARY))?;
        let file = metrics::file(&history, &self.stamp.identity.lineage);
        let path = self.path.join(METRICS);
        if fs::read(&path).ok().as_deref() != Some(file.as_bytes()) {
            self.disk.write(&path, file.as_bytes())?;
        }
        self.ready(Some((checkpoint, history))).map(Some)
    }

    /// Refuses a different recipe, unless the run may be extended and only the number of steps differs.
    fn check_longer(&self, folder: &RunFolder, how: How) -> Result<(), StoreError> {
        let different = |why: String| StoreError::Different {
            path: self.path.to_owned(),
            why,
        };
        let (old, new) = (folder.recipe(), self.recipe);
        let mut longer = old.clone();
        longer.train.steps = new.train.steps;
        if longer != *new || how != How::Extend {
            let keys = in_words(&old.differences(new));
            return Err(different(format!("it is a run of another recipe ({keys})")));
        }
        let summary = folder.summary()?;
        let diverged = summary.is_some_and(|summary| summary.ended == Ended::Diverged);
        let checkpoint = folder.checkpoint()?;
        let done = checkpoint.map_or(0, |checkpoint| checkpoint.state.step);
        let longer = check_longer(old, done, diverged, new.train.steps);
        longer.map_err(|why| different(why.to_string()))
    }

    /// Refuses a run that this program would not continue to the same bytes.
    fn check_current(&self, folder: &RunFolder) -> Result<(), StoreError> {
        let (old, new) = (folder.stamp(), &Stamp::current(folder.recipe()));
        if old == new {
            return Ok(());
        }
        if old.numerics == new.numerics && old.arithmetic != new.arithmetic {
            return Err(StoreError::OtherArithmetic {
                path: self.path.to_owned(),
                of_run: old.arithmetic.clone(),
                of_process: new.arithmetic.clone(),
            });
        }
        let why = if old.numerics != new.numerics {
            format!(
                "it was computed with numerics version {}, and this program has version {}, \
                 so the results would not match",
                old.numerics, new.numerics
            )
        } else {
            "it was made by another version of the program, which reads the recipe differently"
                .into()
        };
        Err(StoreError::Different {
            path: self.path.to_owned(),
            why,
        })
    }

    /// The records up to a checkpoint, which was written only after they had reached the disk.
    fn records_until(&self, folder: &RunFolder, step: u64) -> Result<History, StoreError> {
        let path = self.path.join(METRICS);
        let damaged = |what: String| StoreError::damaged(&path, what);
        let read = folder.read_metrics()?;
        let read = read.ok_or_else(|| damaged("there is no such file".into()))?;
        let mut history = read.history;
        let (record, steps) = (&self.recipe.record, self.recipe.train.steps);
        history.retain(|at| at <= step && record.records(at, steps));
        if let Err(unfit) = check_records(self.recipe, &history, step) {
            return Err(damaged(read.wrong.unwrap_or_else(|| unfit.to_string())));
        }
        Ok(history)
    }

    /// Removes snapshots that this run does not keep, or has not reached yet.
    fn remove_later_snapshots(
        &self,
        folder: &RunFolder,
        kept: &[u64],
        step: u64,
    ) -> Result<(), StoreError> {
        for at in folder.snapshot_steps()? {
            if at > step || kept.binary_search(&at).is_err() {
                self.disk.remove(&layout::snapshot(self.path, at))?;
            }
        }
        Ok(())
    }

    /// Clears away the remains of an earlier attempt, and starts over.
    pub fn start_over(mut self) -> Result<Begun, StoreError> {
        for name in [CHECKPOINT, SUMMARY, METRICS] {
            let path = self.path.join(name);
            if path.exists() {
                self.disk.remove(&path)?;
            }
        }
        let snapshots = self.path.join(SNAPSHOTS);
        for name in crate::disk::names(&snapshots)?.unwrap_or_default() {
            if layout::snapshot_step(&name).is_some() {
                self.disk.remove(&snapshots.join(name))?;
            }
        }
        self.write_recipe()?;
        let columns = probe::columns(self.recipe).map_err(|error| StoreError::Different {
            path: self.path.to_owned(),
            why: error.to_string(),
        })?;
        let header = metrics::header(&columns);
        self.disk
            .write_unsynced(&self.path.join(METRICS), header.as_bytes())?;
        self.disk.create_folder(&snapshots)?;
        self.disk.sync_folder(&snapshots)?;
        self.disk.sync_folder(self.path)?;
        self.ready(None)
    }

    fn write_recipe(&self) -> Result<(), StoreError> {
        let file = self.stamp.recipe_file(self.recipe);
        let path = self.path.join(RECIPE);
        match fs::read(&path).ok().as_deref() == Some(&file) {
            true => Ok(()),
            false => self.disk.write(&path, &file),
        }
    }

    fn ready(&mut self, from: Option<(Checkpoint, History)>) -> Result<Begun, StoreError> {
        self.disk.create_folder(&self.path.join(SNAPSHOTS))?;
        let metrics = self.disk.grow(&self.path.join(METRICS))?;
        let model = self.recipe.model().map_err(|error| StoreError::Different {
            path: self.path.to_owned(),
            why: error.to_string(),
        })?;
        let writer = RunWriter::start(
            self.disk.clone(),
            self.path,
            self.stamp.identity.lineage.clone(),
            model,
            metrics,
            self.lock.clone(),
        )?;
        Ok(Begun::Training(Box::new(Start {
            writer,
            from,
            remark: self.remark.take(),
        })))
    }
}

/// The first snapshot that the run should have by now and that is missing or damaged.
fn missing_snapshot(
    folder: &RunFolder,
    kept: &[u64],
    step: u64,
) -> Result<Option<u64>, StoreError> {
    for &at in kept.iter().take_while(|&&at| at <= step) {
        match folder.snapshot(Some(at)) {
            Ok(_) => {}
            Err(error) if error.is_damage() => return Ok(Some(at)),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The keys in which two recipes differ, in words: the new value, then the old one.
fn in_words(differences: &[Difference]) -> String {
    const SHOWN: usize = 3;
    let words = |Difference { key, old, new }: &Difference| {
        let old = old.as_deref().unwrap_or("unset");
        match new {
            Some(new) => format!("{key} = {new}, was {old}"),
            None => format!("{key} now unset, was {old}"),
        }
    };
    let shown: Vec<String> = differences.iter().take(SHOWN).map(words).collect();
    let shown = shown.join("; ");
    match differences.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}
