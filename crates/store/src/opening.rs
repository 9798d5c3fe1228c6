//! A run's folder before training: whether it can be used, what is resumed, and what is cleared away.

use induct::internal::{check_records, kept_steps};
use induct::probe::{self, History};
use induct::recipe::{Difference, Recipe};
use induct::run::{Checkpoint, Ended, Summary};

use crate::error::StoreError;
use crate::layout::{
    CHECKPOINT, METRICS, RECIPE, SNAPSHOTS, SUMMARY, snapshot_name, snapshot_step,
};
use crate::lock::Lock;
use crate::metrics;
use crate::run_folder::{RunFolder, Stamp};
use crate::storage::Storage;
use crate::writer::{How, Opening, RunWriter, Start};

/// Whether a folder holds a run. Refuses a folder that `how` does not allow. Changes nothing.
pub fn holds_run(storage: &Storage, how: How) -> Result<bool, StoreError> {
    let contents = storage.contents()?;
    let Some(found) = contents.first() else {
        return Ok(false);
    };
    let has_recipe = contents.iter().any(|name| name == RECIPE);
    // A run that lost its recipe may be replaced, but not resumed.
    let ours = [METRICS, SNAPSHOTS, CHECKPOINT, SUMMARY];
    let remains = contents.iter().all(|name| ours.contains(&name.as_str()));
    let path = storage.path().to_owned();
    match (has_recipe || (remains && how == How::Replace), how) {
        (true, How::New) => Err(StoreError::HoldsARun { path }),
        (true, _) => Ok(true),
        (false, _) => Err(StoreError::Foreign {
            path,
            expected: "run",
            found: found.clone(),
        }),
    }
}

/// The summary of a run of `recipe` that has ended, if all of it is intact and this program would repeat it to the byte.
pub fn ended(storage: &Storage, recipe: &Recipe) -> Option<Summary> {
    let folder = RunFolder::open_in(storage.clone()).ok()?;
    let summary = folder.finished_as(recipe)?;
    folder.recording().is_ok().then_some(summary)
}

/// Prepares a folder for a run of `recipe`, or resumes the run in it.
pub fn open(storage: &Storage, recipe: &Recipe, how: How) -> Result<Opening, StoreError> {
    storage.bring_back()?;
    holds_run(storage, how)?;
    let lock = storage.lock()?;
    // Another process may have come between the check and the lock.
    let there = holds_run(storage, how)?;
    storage.clean()?;
    let mut folder = Preparation {
        storage,
        recipe,
        stamp: Stamp::current(recipe),
        lock,
        remark: None,
    };
    if there {
        // A damaged summary is rewritten: everything in it follows from the files that are checked.
        if let Some(summary) = ended(storage, recipe) {
            return Ok(Opening::Ended(Box::new(summary)));
        }
        match folder.resume(how) {
            Ok(Some(start)) => return Ok(Opening::Training(Box::new(start))),
            Ok(None) => {}
            Err(error) if how == How::Replace && error.is_damage() => {
                folder.remark = Some(format!("{error}; training starts over"));
            }
            Err(error) => return Err(error),
        }
    }
    let start = folder.start_over()?;
    Ok(Opening::Training(Box::new(start)))
}

/// A locked folder, before training.
struct Preparation<'a> {
    storage: &'a Storage,
    recipe: &'a Recipe,
    stamp: Stamp,
    lock: Lock,
    remark: Option<String>,
}

impl Preparation<'_> {
    /// Resumes the run in the folder. `None` if it has to start over.
    fn resume(&mut self, how: How) -> Result<Option<Start>, StoreError> {
        let folder = RunFolder::open_in(self.storage.clone())?;
        check_current(&folder)?;
        if folder.recipe() != self.recipe {
            self.check_longer(&folder, how)?;
        }
        let Some(checkpoint) = folder.checkpoint()? else {
            return Ok(None);
        };
        let (steps, step) = (self.recipe.train.steps, checkpoint.state.step);
        if step > steps {
            let what = format!("it is from step {step}, but the run has only {steps} steps");
            return Err(self.storage.damaged(CHECKPOINT, what));
        }
        let history = self.records_until(&folder, step)?;
        let kept = kept_steps(self.recipe, &history);
        if let Some(missing) = missing_snapshot(&folder, &kept, step)? {
            self.remark = Some(format!(
                "{}: the snapshot at step {missing} is missing or damaged; training starts over",
                self.storage.path().display()
            ));
            return Ok(None);
        }
        // Nothing is missing: from here on the folder belongs to the longer run.
        let recipe = self.stamp.recipe_file(self.recipe);
        self.storage.update(RECIPE, &recipe)?;
        // Snapshots that this run does not keep, or has not reached yet.
        for at in folder.snapshot_steps()? {
            if at > step || kept.binary_search(&at).is_err() {
                self.storage.remove(&snapshot_name(at))?;
            }
        }
        self.storage.remove(SUMMARY)?;
        let metrics = metrics::file(&history, &self.stamp.identity.lineage);
        self.storage.update(METRICS, metrics.as_bytes())?;
        self.ready(Some((checkpoint, history))).map(Some)
    }

    /// Refuses a different recipe, unless the run may be extended and only the number of steps differs.
    fn check_longer(&self, folder: &RunFolder, how: How) -> Result<(), StoreError> {
        let (old, new) = (folder.recipe(), self.recipe);
        let mut longer = old.clone();
        longer.train.steps = new.train.steps;
        if longer != *new || how != How::Extend {
            let keys = in_words(&old.differences(new));
            return Err(folder
                .storage
                .different(format!("it is a run of another recipe ({keys})")));
        }
        let summary = folder.summary()?;
        let diverged = summary.is_some_and(|summary| summary.ended == Ended::Diverged);
        let checkpoint = folder.checkpoint()?;
        let done = checkpoint.map_or(0, |checkpoint| checkpoint.state.step);
        let (ends, wanted) = (old.train.steps, new.train.steps);
        let why = if old.train.schedule.depends_on_length() {
            format!(
                "it cannot be extended: its cosine schedule ends at step {ends}, so a run of {wanted} steps would \
                 have had other learning rates from the start"
            )
        } else if diverged {
            "it cannot be extended: it has diverged".to_owned()
        } else if wanted <= done {
            // The new last step would have to be recorded, but training has passed it.
            format!(
                "train.steps = {wanted} is not allowed: it has done {done} steps already (give {} or more)",
                done + 1
            )
        } else {
            return Ok(());
        };
        Err(folder.storage.different(why))
    }

    /// The records up to a checkpoint, which was written only after they had reached the disk.
    fn records_until(&self, folder: &RunFolder, step: u64) -> Result<History, StoreError> {
        let damaged = |what: String| self.storage.damaged(METRICS, what);
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

    /// Clears away the remains of an earlier attempt, and starts over.
    fn start_over(mut self) -> Result<Start, StoreError> {
        for name in [CHECKPOINT, SUMMARY, METRICS] {
            self.storage.remove(name)?;
        }
        for name in self.storage.names(SNAPSHOTS)? {
            if let Some(step) = snapshot_step(&name) {
                self.storage.remove(&snapshot_name(step))?;
            }
        }
        let recipe = self.stamp.recipe_file(self.recipe);
        self.storage.update(RECIPE, &recipe)?;
        let columns = probe::columns(self.recipe);
        let columns = columns.map_err(|error| self.storage.different(error))?;
        let header = metrics::header(&columns);
        self.storage.write_unsynced(METRICS, header.into_bytes())?;
        self.storage.create_folder(SNAPSHOTS)?;
        self.storage.sync_folder(SNAPSHOTS)?;
        self.storage.sync_folder("")?;
        self.ready(None)
    }

    fn ready(&mut self, from: Option<(Checkpoint, History)>) -> Result<Start, StoreError> {
        self.storage.create_folder(SNAPSHOTS)?;
        let model = self.recipe.model();
        let model = model.map_err(|error| self.storage.different(error))?;
        let lineage = self.stamp.identity.lineage.clone();
        Ok(Start {
            writer: RunWriter::start(self.storage, lineage, model, self.lock.clone())?,
            from,
            remark: self.remark.take(),
        })
    }
}

/// Refuses a run that this program would not continue to the same bytes.
fn check_current(folder: &RunFolder) -> Result<(), StoreError> {
    let (old, new) = (folder.stamp(), &Stamp::current(folder.recipe()));
    if old == new {
        return Ok(());
    }
    if old.numerics == new.numerics && old.arithmetic != new.arithmetic {
        return Err(StoreError::OtherArithmetic {
            path: folder.path().to_owned(),
            of_run: old.arithmetic.clone(),
            of_process: new.arithmetic.clone(),
        });
    }
    Err(folder.storage.different(match old.numerics != new.numerics {
        true => format!(
            "it was computed with numerics version {}, and this program has version {}, so the results would \
             not match",
            old.numerics, new.numerics
        ),
        false => {
            "it was made by another version of the program, which reads the recipe differently".into()
        }
    }))
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
