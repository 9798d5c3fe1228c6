//! Reading a run, one file at a time: weights are large, and whoever shows a summary needs none.

use std::path::Path;

use induct::Invalid;
use induct::internal::{arithmetic, check_records, columns_named, kept_steps};
use induct::measure::{Column, KL_TRUTH};
use induct::model::Model;
use induct::probe::{self, History};
use induct::recipe::Recipe;
use induct::run::{Checkpoint, Ended, Identity, NUMERICS, Recording, Summary};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::layout::{
    CHECKPOINT, METRICS, MOST_RECIPE, MOST_SUMMARY, RECIPE, SNAPSHOTS, SUMMARY, most_metrics,
    most_tensors, snapshot_name, snapshot_step,
};
use crate::metrics;
use crate::seal;
use crate::storage::{RunFiles, Storage};
use crate::tensors;

/// The files of a run, for reading: on disk or in memory. The run may be in training: every read sees the files as they
/// are at that moment.
#[derive(Clone, Debug)]
pub struct RunFolder {
    pub(crate) storage: Storage,
    recipe: Recipe,
    /// Or the block that only another program has.
    model: Result<Model, Invalid>,
    stamp: Stamp,
}

/// What the header of `recipe.toml` says about the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Identifies the run.
    pub identity: Identity,
    /// The numerics version it was computed with.
    pub numerics: u32,
    /// The arithmetic it was computed with.
    pub arithmetic: String,
}

/// The most columns of a run whose model only another program has.
const MANY_COLUMNS: usize = 1 << 12;

/// Version of the run folder format.
const FORMAT: u32 = 1;

impl Stamp {
    /// The stamp of a run that this program trains on this machine.
    pub fn current(recipe: &Recipe) -> Self {
        Self {
            identity: Identity::of(recipe),
            numerics: NUMERICS,
            arithmetic: arithmetic().to_owned(),
        }
    }

    /// The bytes of `recipe.toml`: the stamp in comments, then the recipe.
    pub fn recipe_file(&self, recipe: &Recipe) -> Vec<u8> {
        let Identity { run, lineage } = &self.identity;
        let text = format!(
            "# Induct run, format {FORMAT}, checksum {}\n\
             # identity {run}, lineage {lineage}, numerics {}, arithmetic {}, version {}\n\
             # All files in this folder belong to this recipe. To train something else, edit a copy.\n\n{}",
            seal::blank(),
            self.numerics,
            self.arithmetic,
            env!("CARGO_PKG_VERSION"),
            recipe.to_toml()
        );
        seal::seal(text.into_bytes())
    }

    /// Reads the stamp from the text of `recipe.toml`.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let format = lines.next()?.strip_prefix("# Induct run, format ")?;
        if format.split(',').next()?.parse() != Ok(FORMAT) {
            return None;
        }
        let entries = lines.next()?.strip_prefix("# ")?;
        let entry = |key: &str| {
            let mut entries = entries.split(", ");
            entries.find_map(|entry| entry.strip_prefix(key)?.strip_prefix(' '))
        };
        Some(Self {
            identity: Identity {
                run: entry("identity")?.to_owned(),
                lineage: entry("lineage")?.to_owned(),
            },
            numerics: entry("numerics")?.parse().ok()?,
            arithmetic: entry("arithmetic")?.to_owned(),
        })
    }
}

/// `summary.json`: a checksum, then the summary.
#[derive(Serialize, Deserialize)]
struct WithChecksum<S> {
    checksum: String,
    #[serde(flatten)]
    summary: S,
}

/// The bytes of `summary.json`.
pub fn summary_file(summary: &Summary) -> Vec<u8> {
    let file = WithChecksum {
        checksum: seal::blank(),
        summary,
    };
    let text = serde_json::to_string_pretty(&file).expect("plain data");
    seal::seal((text + "\n").into_bytes())
}

impl RunFolder {
    /// Opens the folder of a run.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_in(Storage::on_disk(path))
    }

    /// Opens a run whose files are in memory. Errors call the folder `name`.
    pub fn of_files(name: &str, files: RunFiles) -> Result<Self, StoreError> {
        Self::open_in(Storage::in_memory(name, files))
    }

    /// Opens a run wherever its files are.
    pub fn open_in(storage: Storage) -> Result<Self, StoreError> {
        let storage = storage.where_it_is();
        let Some(bytes) = storage.read(RECIPE, MOST_RECIPE)? else {
            return Err(StoreError::NotARun {
                path: storage.path().to_owned(),
            });
        };
        let damaged = |what: String| storage.damaged(RECIPE, what);
        seal::verify(&bytes).map_err(|what| damaged(what.into()))?;
        let text = String::from_utf8(bytes).map_err(|_| damaged("it is not UTF-8 text".into()))?;
        let stamp = Stamp::parse(&text)
            .ok_or_else(|| damaged(format!("its header is not that of run format {FORMAT}")))?;
        let recipe = Recipe::from_toml(&text, &[]).map_err(|error| damaged(error.to_string()))?;
        let model = match recipe.model.check_code() {
            Ok(()) => Ok(recipe.model().map_err(|error| damaged(error.to_string()))?),
            Err(missing) => Err(missing.within("model")),
        };
        Ok(Self {
            storage,
            recipe,
            model,
            stamp,
        })
    }

    /// The summary of a finished run of `recipe`, if this folder holds one that this program would repeat to
    /// the byte.
    pub fn finished(path: &Path, recipe: &Recipe) -> Option<Summary> {
        Self::open(path).ok()?.finished_as(recipe)
    }

    pub(crate) fn finished_as(&self, recipe: &Recipe) -> Option<Summary> {
        let same = self.recipe == *recipe && self.stamp == Stamp::current(recipe);
        same.then(|| self.summary().ok()).flatten().flatten()
    }

    /// The folder's path, or what files in memory are called.
    pub fn path(&self) -> &Path {
        self.storage.path()
    }

    /// Where its files are.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Its recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Its model.
    ///
    /// # Errors
    ///
    /// If a block of it is another program's. Its records can be read all the same.
    pub fn model(&self) -> Result<&Model, StoreError> {
        let missing = |part: &Invalid| StoreError::MissingPart {
            path: self.path().to_owned(),
            what: part.to_string(),
        };
        self.model.as_ref().map_err(missing)
    }

    /// The run's identity, as its recipe.toml states it.
    pub fn identity(&self) -> &Identity {
        &self.stamp.identity
    }

    pub(crate) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Reads one of its files; `None` if there is no such file.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let most = match name {
            RECIPE => MOST_RECIPE,
            SUMMARY => MOST_SUMMARY,
            METRICS => most_metrics(
                &self.recipe,
                self.columns()?.map_or(MANY_COLUMNS, |c| c.len()),
            ),
            _ => most_tensors(self.model()?),
        };
        self.storage.read(name, most)
    }

    /// The columns that the recipe records, unless they follow from a model that another program has.
    fn columns(&self) -> Result<Option<Vec<Column>>, StoreError> {
        let columns = self
            .model
            .as_ref()
            .ok()
            .map(|_| probe::columns(&self.recipe));
        let columns = columns.transpose();
        columns.map_err(|error| self.storage.damaged(METRICS, error.to_string()))
    }

    /// The run's summary; `None` if it has not ended.
    pub fn summary(&self) -> Result<Option<Summary>, StoreError> {
        let Some(bytes) = self.read(SUMMARY)? else {
            return Ok(None);
        };
        let damaged = |what: String| self.storage.damaged(SUMMARY, what);
        seal::verify(&bytes).map_err(|what| damaged(what.into()))?;
        let file = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let WithChecksum::<Summary> { summary, .. } = file;
        // A summary written before the run was extended no longer applies.
        let current = summary.identity == self.stamp.identity.run;
        Ok(current.then_some(summary))
    }

    /// What was recorded so far. While the run is in training, its last line may be cut off: it does not
    /// count yet.
    pub fn history(&self) -> Result<History, StoreError> {
        let damaged = |what: String| self.storage.damaged(METRICS, what);
        // The run may end meanwhile. Whatever its summary promises is there before it.
        let (summary, read) = (self.summary()?, self.read_metrics()?);
        let Some(read) = read else {
            return Err(match summary {
                Some(_) => damaged("there is no such file".into()),
                None => StoreError::NothingRecorded {
                    path: self.path().to_owned(),
                },
            });
        };
        if let Some(what) = read.wrong
            && (!read.torn || summary.is_some())
        {
            return Err(damaged(what));
        }
        // Whole rows may be missing too: check them against those that the recipe makes.
        let steps = read.history.steps();
        let last = match &summary {
            Some(summary) => summary.last_step(),
            None => steps.last().copied(),
        };
        if let Some(last) = last {
            check_records(&self.recipe, &read.history, last)
                .map_err(|unfit| damaged(unfit.to_string()))?;
        }
        Ok(read.history)
    }

    pub(crate) fn read_metrics(&self) -> Result<Option<metrics::Rows>, StoreError> {
        let Some(bytes) = self.read(METRICS)? else {
            return Ok(None);
        };
        let damaged = |what| self.storage.damaged(METRICS, what);
        let columns = match self.columns()? {
            Some(columns) => columns,
            None => {
                let named = columns_named(&self.recipe, metrics::names(&bytes));
                named.ok_or_else(|| damaged(metrics::OTHER_COLUMNS.into()))?
            }
        };
        let rows = metrics::read(&bytes, columns, &self.stamp.identity.lineage);
        rows.map(Some).map_err(damaged)
    }

    /// The steps of all snapshots, in increasing order.
    pub fn snapshot_steps(&self) -> Result<Vec<u64>, StoreError> {
        let names = self.storage.names(SNAPSHOTS)?;
        let steps = names.iter().filter_map(|name| snapshot_step(name));
        let mut steps: Vec<u64> = steps.collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// The snapshot at `step`, or the last one if no step is given: its step and parameters.
    pub fn snapshot(&self, step: Option<u64>) -> Result<(u64, Vec<f32>), StoreError> {
        let steps = self.snapshot_steps()?;
        let Some(&last) = steps.last() else {
            return Err(StoreError::NoSnapshots {
                path: self.path().to_owned(),
            });
        };
        if step.is_none()
            && let Some(summary) = self.summary()?
            && summary.ended != Ended::Diverged
            && summary.steps != last
        {
            return Err(self.missing(summary.steps));
        }
        let step = step.unwrap_or(last);
        if !steps.contains(&step) {
            let before = steps.iter().rev().find(|&&s| s < step);
            let after = steps.iter().find(|&&s| s > step);
            let near: Vec<String> = before
                .iter()
                .chain(&after)
                .map(ToString::to_string)
                .collect();
            return Err(StoreError::NoSnapshot {
                path: self.path().to_owned(),
                step,
                nearest: format!(
                    "the nearest: {} (there are {} from step {} to {last})",
                    near.join(", "),
                    steps.len(),
                    steps[0]
                ),
            });
        }
        let name = snapshot_name(step);
        match self.read_tensors(&name)? {
            Some(Checkpoint { state, .. }) if state.step == step => Ok((step, state.params)),
            Some(Checkpoint { state, .. }) => {
                let what = format!("it holds the snapshot of step {}", state.step);
                Err(self.storage.damaged(&name, what))
            }
            None => Err(self.missing(step)),
        }
    }

    fn missing(&self, snapshot: u64) -> StoreError {
        let name = snapshot_name(snapshot);
        self.storage.damaged(&name, "there is no such file")
    }

    /// The last checkpoint, if one was written.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.read_tensors(CHECKPOINT)
    }

    fn read_tensors(&self, name: &str) -> Result<Option<Checkpoint>, StoreError> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        let state = tensors::decode(self.model()?, &self.stamp.identity.lineage, &bytes);
        let damaged = |what| self.storage.damaged(name, what);
        state.map(Some).map_err(damaged)
    }

    /// Everything kept from a run that has ended; `None` if it has not.
    pub fn recording(&self) -> Result<Option<Recording>, StoreError> {
        let Some(summary) = self.summary()? else {
            return Ok(None);
        };
        let history = self.history()?;
        let there = self.snapshot_steps()?;
        let kept = self.kept_steps(&history, &summary);
        if let Some(&missing) = kept.iter().find(|step| !there.contains(step)) {
            return Err(self.missing(missing));
        }
        let snapshot = |step| self.snapshot(Some(step));
        let snapshots: Result<_, _> = there.into_iter().map(snapshot).collect();
        Ok(Some(Recording {
            recipe: self.recipe.clone(),
            history,
            summary,
            snapshots: snapshots?,
        }))
    }

    /// The steps whose weights a finished run keeps: the recipe's snapshot steps at which the loss was a
    /// number. A run that diverged also keeps its last recorded step with such a loss.
    fn kept_steps(&self, history: &History, summary: &Summary) -> Vec<u64> {
        let planned = kept_steps(&self.recipe, history);
        let losses = history.column(&KL_TRUTH).unwrap_or_default();
        let mut finite = history.steps();
        let mut losses = losses.into_iter();
        finite.retain(|_| losses.next().is_some_and(f64::is_finite));
        let last = finite.last().copied();
        let last = last.filter(|_| summary.ended == Ended::Diverged);
        finite.retain(|step| planned.binary_search(step).is_ok() || Some(*step) == last);
        finite
    }
}
