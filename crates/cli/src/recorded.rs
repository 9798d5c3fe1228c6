//! Runs with their records: one by its folder, or all in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use induct::probe::{History, Instruments};
use induct::run::{RunView, Summary};
use induct_pictures::groups;
use induct_pictures::panels::RunCurves;
use induct_store::RunFolder;

use crate::commands::{Threads, note};
use crate::failure::Failure;

pub struct RecordedRun {
    pub folder: RunFolder,
    pub history: History,
}

/// How far below a folder runs are looked for: REPORT/runs/NAME/SEED.
const DEPTH: usize = 3;

impl RecordedRun {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let folder = RunFolder::open(path)?;
        let history = folder.history()?;
        Ok(Self { folder, history })
    }

    /// The run in a folder, or all runs below it, by name: those of a sweep, of a report or of any other
    /// folder. A run below it that cannot be read is left out with a note.
    pub fn find(path: &Path) -> Result<Vec<Self>, Failure> {
        if is_run(path) || !path.is_dir() {
            return Ok(vec![Self::open(path)?]);
        }
        let open = |path: PathBuf| match Self::open(&path) {
            Ok(run) => Some(run),
            Err(why) => {
                note(&format!("left out: {why}"));
                None
            }
        };
        let runs: Vec<Self> = below(path, DEPTH).into_iter().filter_map(open).collect();
        match runs.is_empty() {
            true => Err(Failure::usage(format!(
                "{} is not a run and holds none: give the folder of a run (with a recipe.toml), a sweep or \
                 a folder of runs",
                path.display()
            ))),
            false => Ok(runs),
        }
    }

    /// Its path, as the user gave it.
    pub fn path(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// What there is to compare of it, with its outcome.
    pub fn compared<'a>(&'a self, summary: &'a Summary) -> RunView<'a> {
        RunView {
            recipe: self.folder.recipe(),
            history: &self.history,
            summary,
        }
    }

    /// Its outcome; of a run that has not ended, what its records say so far.
    pub fn summary(&self, threads: &Threads) -> Result<Summary, Failure> {
        if let Some(summary) = self.folder.summary()? {
            return Ok(summary);
        }
        let recipe = self.folder.recipe();
        // The strategies' levels are written only at the end.
        threads.run(|| {
            // The code of measures that another program added is not here, and levels do not need it. What
            // another program's strategies predict is known only there.
            let mut measured = recipe.clone();
            measured.record.custom_measures.clear();
            let levels = match measured.check_parts() {
                Ok(()) => Instruments::new(&measured)?.levels().to_vec(),
                Err(_) => Vec::new(),
            };
            Ok(Summary::of_records(recipe, &self.history, &levels))
        })
    }
}

impl groups::Recorded for RecordedRun {
    fn curves(&self) -> RunCurves<'_> {
        RunCurves {
            history: &self.history,
            recipe: self.folder.recipe(),
        }
    }
}

fn is_run(path: &Path) -> bool {
    path.join("recipe.toml").is_file()
}

/// The folders of runs below a folder, by name.
fn below(path: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|inner| inner.is_dir());
    folders.sort();
    let runs = |inner: PathBuf| match is_run(&inner) {
        true => vec![inner],
        false if depth > 1 => below(&inner, depth - 1),
        false => Vec::new(),
    };
    folders.into_iter().flat_map(runs).collect()
}
