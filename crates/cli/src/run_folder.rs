//! The folder that a run leaves:
//!
//!     recipe.toml                          complete: enough to repeat the run
//!     metrics.csv                          one row a recorded step
//!     snapshots/step-000100.safetensors    the parameters after 100 steps
//!     checkpoint.safetensors               while training: where --resume goes on
//!     summary.json                         when the run has ended
//!
//! Every file is written under a temporary name and renamed, so none is ever half-written.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use induct::model::Model;
use induct::probe::{History, STEP};
use induct::train::{Recipe, TrainState};

use crate::failure::Failure;
use crate::recipes;
use crate::tensors;
use crate::whole_file::{TEMPORARY, cannot, is_empty_or_absent, write_whole};

/// A run's folder.
pub struct RunFolder {
    path: PathBuf,
    /// Held while training: the recipe's file, locked against a second trainer. The system lets go of it when the
    /// process ends, however it ends.
    lock: Option<fs::File>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All steps done.
    Complete,
    /// The loss became no number at this step.
    Diverged(u64),
}

impl RunFolder {
    /// Makes a folder for a new run of `recipe`, ready to train in.
    pub fn create(path: &Path, recipe: &Recipe) -> Result<Self, Failure> {
        let mut folder = Self::at(path);
        if folder.recipe_path().exists() {
            return Err(Failure::mistake(format!(
                "{} already holds a run; add --resume to go on with it, or give another --out",
                path.display()
            )));
        }
        if !is_empty_or_absent(path)? {
            return Err(Failure::mistake(format!(
                "{} is not empty and holds no run; give another --out",
                path.display()
            )));
        }
        let make = |path: &Path| {
            fs::create_dir_all(path)
                .map_err(|error| cannot("create", path, &error, Failure::Failed))
        };
        make(path)?;
        let filled = write_whole(&folder.recipe_path(), recipe.to_toml().as_bytes())
            .and_then(|()| make(&folder.snapshots_path()));
        if filled.is_err() {
            // Leave nothing that would look like somebody's work; what cannot be removed does no harm.
            let _ = fs::remove_file(folder.recipe_path());
            let _ = fs::remove_dir(path);
        }
        filled?;
        folder.lock()?;
        Ok(folder)
    }

    /// Opens the folder of an earlier run.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let folder = Self::at(path);
        if folder.recipe_path().is_file() {
            return Ok(folder);
        }
        Err(Failure::mistake(format!(
            "{} is not a run: it has no recipe.toml (runs are made by `induct train`)",
            path.display()
        )))
    }

    /// Opens the folder of an earlier run to train on in it. None if there is nothing to go on with.
    pub fn reopen(path: &Path) -> Result<Option<Self>, Failure> {
        if is_empty_or_absent(path)? {
            return Ok(None);
        }
        let mut folder = Self::open(path)?;
        folder.lock()?;
        folder.clean();
        Ok(Some(folder))
    }

    fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            lock: None,
        }
    }

    fn lock(&mut self) -> Result<(), Failure> {
        let path = self.recipe_path();
        let file = fs::File::open(&path)
            .map_err(|error| cannot("read", &path, &error, Failure::Mistake))?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Err(Failure::mistake(format!(
                "another process is training in {}; wait for it, or give another --out",
                self.path.display()
            ))),
            // A file system without locks is no reason not to train.
            Err(fs::TryLockError::Error(_)) | Ok(()) => {
                self.lock = Some(file);
                Ok(())
            }
        }
    }

    /// Removes what an interrupted write may have left.
    fn clean(&self) {
        for folder in [&self.path, &self.snapshots_path()] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                    // What cannot be removed does no harm.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn recipe_path(&self) -> PathBuf {
        self.path.join("recipe.toml")
    }

    fn metrics_path(&self) -> PathBuf {
        self.path.join("metrics.csv")
    }

    fn snapshots_path(&self) -> PathBuf {
        self.path.join("snapshots")
    }

    fn snapshot_path(&self, step: u64) -> PathBuf {
        self.snapshots_path()
            .join(format!("step-{step:06}.safetensors"))
    }

    fn checkpoint_path(&self) -> PathBuf {
        self.path.join("checkpoint.safetensors")
    }

    fn summary_path(&self) -> PathBuf {
        self.path.join("summary.json")
    }

    /// The run's recipe, with overrides.
    pub fn recipe(&self, overrides: &[String]) -> Result<Recipe, Failure> {
        let path = self.recipe_path();
        let text = fs::read_to_string(&path)
            .map_err(|error| cannot("read", &path, &error, Failure::Mistake))?;
        recipes::read(&path, &text, overrides)
    }

    /// How the run ended, if it has.
    pub fn ending(&self) -> Option<Ending> {
        let text = fs::read_to_string(self.summary_path()).ok()?;
        let summary: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(match summary["diverged_at"].as_u64() {
            Some(step) => Ending::Diverged(step),
            None => Ending::Complete,
        })
    }

    /// The summary of an ended run.
    pub fn summary(&self) -> Result<serde_json::Value, Failure> {
        let path = self.summary_path();
        let text = fs::read_to_string(&path)
            .map_err(|error| cannot("read", &path, &error, Failure::Mistake))?;
        serde_json::from_str(&text)
            .map_err(|error| Failure::mistake(format!("{}: {error}", path.display())))
    }

    /// Saves the summary of an ended run; its checkpoint is no longer needed.
    pub fn save_summary(&self, summary: &serde_json::Value) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(summary).expect("plain data");
        write_whole(&self.summary_path(), (text + "\n").as_bytes())?;
        let path = self.checkpoint_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(cannot("remove", &path, &error, Failure::Failed))
            }
            _ => Ok(()),
        }
    }

    /// Saves all recorded rows.
    pub fn save_history(&self, history: &History) -> Result<(), Failure> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let fill = |writer: &mut csv::Writer<Vec<u8>>| -> csv::Result<()> {
            writer.write_record(history.columns())?;
            for row in history.rows() {
                let cell = |value: &Option<f64>| value.map_or(String::new(), |v| v.to_string());
                writer.write_record(row.iter().map(cell))?;
            }
            Ok(())
        };
        fill(&mut writer).expect("writing to memory");
        let bytes = writer.into_inner().expect("writing to memory");
        write_whole(&self.metrics_path(), &bytes)
    }

    /// Loads the recorded rows.
    pub fn history(&self) -> Result<History, Failure> {
        let path = self.metrics_path();
        let bytes =
            fs::read(&path).map_err(|error| cannot("read", &path, &error, Failure::Mistake))?;
        let damaged = |what: String| {
            Failure::mistake(format!(
                "{}: damaged or not Induct's: {what}",
                path.display()
            ))
        };
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let columns = reader
            .headers()
            .map_err(|error| damaged(error.to_string()))?;
        let mut history = History::new(columns.iter().map(String::from).collect());
        for record in reader.records() {
            let record = record.map_err(|error| damaged(error.to_string()))?;
            let number = |cell: &str| match cell {
                "" => Ok(None),
                _ => cell.parse().map(Some),
            };
            let row: Result<Vec<Option<f64>>, _> = record.iter().map(number).collect();
            let line = record.position().map_or(0, csv::Position::line);
            let row =
                row.map_err(|_| damaged(format!("line {line} has a cell that is no number")))?;
            history.push(row);
        }
        let steps = history.column(STEP).unwrap_or_default();
        if steps.is_empty() || !steps.is_sorted_by(|a, b| a < b) {
            return Err(damaged("it has no increasing steps".into()));
        }
        Ok(history)
    }

    /// Saves the parameters after `step` steps.
    pub fn save_snapshot(&self, model: &Model, step: u64, params: &[f32]) -> Result<(), Failure> {
        let bytes = tensors::encode(model, step, params, &[]);
        write_whole(&self.snapshot_path(step), &bytes)
    }

    /// The steps of all snapshots, in order.
    pub fn snapshot_steps(&self) -> Vec<u64> {
        let entries = fs::read_dir(self.snapshots_path())
            .into_iter()
            .flatten()
            .flatten();
        let mut steps: Vec<u64> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let name = name.to_str()?.strip_prefix("step-")?;
                name.strip_suffix(".safetensors")?.parse().ok()
            })
            .collect();
        steps.sort_unstable();
        steps
    }

    /// The snapshot at `step`, or the last one: its step and parameters.
    pub fn snapshot(&self, model: &Model, step: Option<u64>) -> Result<(u64, Vec<f32>), Failure> {
        let steps = self.snapshot_steps();
        let Some(&last) = steps.last() else {
            return Err(Failure::mistake(format!(
                "{} has no snapshots yet",
                self.path.display()
            )));
        };
        let step = step.unwrap_or(last);
        if !steps.contains(&step) {
            let before = steps.iter().rev().find(|&&s| s < step);
            let after = steps.iter().find(|&&s| s > step);
            let near: Vec<String> = before
                .into_iter()
                .chain(after)
                .map(u64::to_string)
                .collect();
            return Err(Failure::mistake(format!(
                "--step {step}: {} has no snapshot there; the nearest: {} ({} from {} to {last})",
                self.path.display(),
                near.join(", "),
                steps.len(),
                steps[0],
            )));
        }
        let path = self.snapshot_path(step);
        let bytes =
            fs::read(&path).map_err(|error| cannot("read", &path, &error, Failure::Mistake))?;
        let state = tensors::decode(model, &bytes)
            .map_err(|what| Failure::mistake(format!("{}: {what}", path.display())))?;
        Ok((step, state.params))
    }

    /// Saves where training stands.
    pub fn save_checkpoint(&self, model: &Model, state: &TrainState) -> Result<(), Failure> {
        let bytes = tensors::encode(model, state.step, &state.params, &state.moments);
        write_whole(&self.checkpoint_path(), &bytes)
    }

    /// Where training stood, if it had got anywhere.
    pub fn checkpoint(&self, model: &Model) -> Result<Option<TrainState>, Failure> {
        let path = self.checkpoint_path();
        match fs::read(&path) {
            Ok(bytes) => tensors::decode(model, &bytes)
                .map(Some)
                .map_err(|what| Failure::mistake(format!("{}: {what}", path.display()))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot("read", &path, &error, Failure::Mistake)),
        }
    }
}
