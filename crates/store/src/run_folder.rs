//! Reading a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use induct::measure::KL_TRUTH;
use induct::model::Model;
use induct::probe::{self, History};
use induct::run::{
    Checkpoint, Ended, Identity, NUMERICS, Recording, Summary, arithmetic, check_records,
    kept_steps,
};
use induct::train::Recipe;
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::StoreError;
use crate::layout::{self, CHECKPOINT, METRICS, RECIPE, SNAPSHOTS, SUMMARY};
use crate::metrics;
use crate::run_files::RunFiles;
use crate::saved::bring_back;
use crate::seal;
use crate::tensors;

/// A run's folder, for reading. The run may be in training: every read sees the files as they are at that
/// moment.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Its files, if they are in memory rather than on disk.
    files: Option<Arc<RunFiles>>,
    recipe: Recipe,
    model: Model,
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
struct Sealed<S> {
    checksum: String,
    #[serde(flatten)]
    summary: S,
}

/// The bytes of `summary.json`.
pub fn summary_file(summary: &Summary) -> Vec<u8> {
    let sealed = Sealed {
        checksum: seal::blank(),
        summary,
    };
    let text = serde_json::to_string_pretty(&sealed).expect("plain data");
    seal::seal((text + "\n").into_bytes())
}

/// Reads a file of a run from memory, or from the folder at `path`.
fn read(files: Option<&RunFiles>, path: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    match files {
        Some(files) => Ok(files.get(name).map(<[u8]>::to_vec)),
        None => disk::read(&path.join(name)),
    }
}

impl RunFolder {
    /// Opens the folder of a run.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        bring_back(path)?;
        Self::open_at(path, None)
    }

    /// Opens a run whose files are in memory. Errors call the folder `name`.
    pub fn of_files(name: &str, files: RunFiles) -> Result<Self, StoreError> {
        Self::open_at(Path::new(name), Some(Arc::new(files)))
    }

    fn open_at(path: &Path, files: Option<Arc<RunFiles>>) -> Result<Self, StoreError> {
        let file = path.join(RECIPE);
        let Some(bytes) = read(files.as_deref(), path, RECIPE)? else {
            return Err(StoreError::NotARun {
                path: path.to_owned(),
            });
        };
        let damaged = |what: String| StoreError::damaged(&file, what);
        seal::verify(&bytes).map_err(|what| damaged(what.into()))?;
        let text = String::from_utf8(bytes).map_err(|_| damaged("it is not UTF-8 text".into()))?;
        let stamp = Stamp::parse(&text)
            .ok_or_else(|| damaged(format!("its header is not that of run format {FORMAT}")))?;
        let recipe = Recipe::from_toml(&text, &[]).map_err(|error| damaged(error.to_string()))?;
        let model = recipe.model().map_err(|error| damaged(error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            files,
            recipe,
            model,
            stamp,
        })
    }

    /// The summary of a finished run of `recipe`, if this folder holds one that this program would repeat to
    /// the byte.
    pub fn finished(path: &Path, recipe: &Recipe) -> Option<Summary> {
        let folder = Self::open(path).ok()?;
        let same = folder.recipe == *recipe && folder.stamp == Stamp::current(recipe);
        same.then(|| folder.summary().ok()).flatten().flatten()
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its files are on disk rather than in memory.
    pub fn is_on_disk(&self) -> bool {
        self.files.is_none()
    }

    /// Its recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Its model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The run's identity, as its recipe.toml states it.
    pub fn identity(&self) -> &Identity {
        &self.stamp.identity
    }

    pub(crate) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Reads one of its files; `None` if there is no such file.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        read(self.files.as_deref(), &self.path, name)
    }

    /// The files that show what became of the run: recipe, records, outcome and snapshots, without the state that
    /// training resumes from.
    pub fn files(&self) -> Result<RunFiles, StoreError> {
        let mut files = RunFiles::default();
        let mut take = |name: String| -> Result<(), StoreError> {
            if let Some(bytes) = self.read(&name)? {
                files.insert(name, bytes);
            }
            Ok(())
        };
        // The run may end meanwhile. Whatever its summary promises is there before it, so it is read first.
        for name in [RECIPE, SUMMARY, METRICS] {
            take(name.to_owned())?;
        }
        for step in self.snapshot_steps()? {
            take(layout::snapshot_name(step))?;
        }
        Ok(files)
    }

    /// The run's summary; `None` if it has not ended.
    pub fn summary(&self) -> Result<Option<Summary>, StoreError> {
        let path = self.path.join(SUMMARY);
        let Some(bytes) = self.read(SUMMARY)? else {
            return Ok(None);
        };
        seal::verify(&bytes).map_err(|what| StoreError::damaged(&path, what))?;
        let sealed: Sealed<Summary> = serde_json::from_slice(&bytes)
            .map_err(|error| StoreError::damaged(&path, error.to_string()))?;
        // A summary written before the run was extended no longer applies.
        let current = sealed.summary.identity == self.stamp.identity.run;
        Ok(current.then_some(sealed.summary))
    }

    /// What was recorded so far. While the run is in training, its last line may be cut off: it does not
    /// count yet.
    pub fn history(&self) -> Result<History, StoreError> {
        let path = self.path.join(METRICS);
        let Some(read) = self.read_metrics()? else {
            return Err(match self.summary()? {
                Some(_) => StoreError::damaged(&path, "there is no such file"),
                None => StoreError::NothingRecorded {
                    path: self.path.clone(),
                },
            });
        };
        let summary = self.summary()?;
        if let Some(what) = read.wrong
            && (!read.torn || summary.is_some())
        {
            return Err(StoreError::damaged(&path, what));
        }
        // Whole rows may be missing too: check them against those that the recipe makes.
        let steps = read.history.steps();
        let last = match &summary {
            Some(summary) => summary.last_step(),
            None => steps.last().copied(),
        };
        if let Some(last) = last {
            check_records(&self.recipe, &read.history, last)
                .map_err(|unfit| StoreError::damaged(&path, unfit.to_string()))?;
        }
        Ok(read.history)
    }

    pub(crate) fn read_metrics(&self) -> Result<Option<metrics::Read>, StoreError> {
        let path = self.path.join(METRICS);
        let Some(bytes) = self.read(METRICS)? else {
            return Ok(None);
        };
        let damaged = |what: String| StoreError::damaged(&path, what);
        let columns = probe::columns(&self.recipe).map_err(|error| damaged(error.to_string()))?;
        let read = metrics::read(&bytes, columns, &self.stamp.identity.lineage);
        read.map(Some).map_err(damaged)
    }

    /// The steps of all snapshots, in increasing order.
    pub fn snapshot_steps(&self) -> Result<Vec<u64>, StoreError> {
        let names = match &self.files {
            Some(files) => files.names_in(SNAPSHOTS),
            None => disk::names(&self.path.join(SNAPSHOTS))?.unwrap_or_default(),
        };
        let steps = names.iter().filter_map(|name| layout::snapshot_step(name));
        let mut steps: Vec<u64> = steps.collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// The snapshot at `step`, or the last one if no step is given: its step and parameters.
    pub fn snapshot(&self, step: Option<u64>) -> Result<(u64, Vec<f32>), StoreError> {
        let steps = self.snapshot_steps()?;
        let Some(&last) = steps.last() else {
            return Err(StoreError::NoSnapshots {
                path: self.path.clone(),
            });
        };
        if step.is_none()
            && let Some(summary) = self.summary()?
            && summary.ended != Ended::Diverged
            && summary.steps != last
        {
            let path = layout::snapshot(&self.path, summary.steps);
            return Err(StoreError::damaged(&path, "there is no such file"));
        }
        let step = step.unwrap_or(last);
        if !steps.contains(&step) {
            let before = steps.iter().rev().find(|&&s| s < step);
            let after = steps.iter().find(|&&s| s > step);
            let near: Vec<String> = before
                .into_iter()
                .chain(after)
                .map(u64::to_string)
                .collect();
            return Err(StoreError::NoSnapshot {
                path: self.path.clone(),
                step,
                nearest: format!(
                    "the nearest: {} (there are {} from step {} to {last})",
                    near.join(", "),
                    steps.len(),
                    steps[0]
                ),
            });
        }
        let path = layout::snapshot(&self.path, step);
        let state = self.read_tensors(&layout::snapshot_name(step))?;
        match state {
            Some(Checkpoint { state, .. }) if state.step == step => Ok((step, state.params)),
            Some(Checkpoint { state, .. }) => {
                let what = format!("it holds the snapshot of step {}", state.step);
                Err(StoreError::damaged(&path, what))
            }
            None => Err(StoreError::damaged(&path, "there is no such file")),
        }
    }

    /// The last checkpoint, if one was written.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, StoreError> {
        self.read_tensors(CHECKPOINT)
    }

    fn read_tensors(&self, name: &str) -> Result<Option<Checkpoint>, StoreError> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        let state = tensors::decode(&self.model, &self.stamp.identity.lineage, &bytes);
        state
            .map(Some)
            .map_err(|what| StoreError::damaged(&self.path.join(name), what))
    }

    /// Everything kept from a run that has ended; `None` if it has not.
    pub fn recording(&self) -> Result<Option<Recording>, StoreError> {
        let Some(summary) = self.summary()? else {
            return Ok(None);
        };
        let history = self.history()?;
        let there = self.snapshot_steps()?;
        if let Some(missing) = self
            .kept_steps(&history, &summary)
            .find(|step| !there.contains(step))
        {
            let path = layout::snapshot(&self.path, missing);
            return Err(StoreError::damaged(&path, "there is no such file"));
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
    fn kept_steps(&self, history: &History, summary: &Summary) -> impl Iterator<Item = u64> {
        let planned = kept_steps(&self.recipe, history);
        let losses = history.column(&KL_TRUTH).unwrap_or_default();
        let steps = history.steps().into_iter().zip(losses);
        let sound: Vec<u64> = steps
            .filter(|(_, kl)| kl.is_finite())
            .map(|(s, _)| s)
            .collect();
        let last = sound.last().copied();
        let diverged = summary.ended == Ended::Diverged;
        let kept = move |step: &u64| {
            planned.binary_search(step).is_ok() || (diverged && Some(*step) == last)
        };
        sound.into_iter().filter(kept)
    }
}
