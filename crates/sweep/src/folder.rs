//! The folder of a sweep.
//!
//! ```text
//! sweep.json            the plan, …
//! sweep.copy.json       … and the same again, should one of them be damaged
//! journals/….journal    rows of one worker
//! results.parquet       one row per run, made by `gather`
//! runs/0f3a…            runs kept whole, named by their identity
//! slurm/                script, jobs and logs
//! ```
//!
//! Any number of workers may be at work in it at once. Each of them writes a journal of its own, so none can harm
//! another: the worst that happens is that a run is done twice, with the same result.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use induct_store::{Mark, OutputFolder, Storage, StoreError, read_regular};

use crate::error::SweepError;
use crate::journal::{self, JournalContent};
use crate::plan::{MADE_BY, Plan};

/// Marks a folder as a sweep's.
const MARK: Mark = Mark {
    file: "sweep.json",
    made_by: MADE_BY,
    holds: "sweep",
};

/// The plan again, below the sweep's folder.
const COPY: &str = "sweep.copy.json";

/// The most bytes of a plan: enough for a million points.
const PLAN_LIMIT: u64 = 1 << 28;

pub(crate) const JOURNALS: &str = "journals";

/// A sweep in its folder.
#[derive(Clone, Debug)]
pub struct Sweep {
    path: PathBuf,
    /// Its plan.
    pub plan: Plan,
    /// What is wrong with the file of the plan, if its copy was read instead.
    pub remark: Option<String>,
}

impl Sweep {
    /// Opens a sweep.
    pub fn open(path: &Path) -> Result<Self, SweepError> {
        match read_plan(path)? {
            Some((plan, remark)) => Ok(Self {
                path: path.to_owned(),
                plan,
                remark,
            }),
            None => Err(SweepError::NoSweep {
                path: path.to_owned(),
            }),
        }
    }

    /// Puts a plan into a folder: a new one, or one whose sweep is the same. With `extend`, that sweep may grow by other
    /// runs. The cost of new runs is measured.
    pub fn put(path: &Path, plan: Plan, extend: bool) -> Result<Self, SweepError> {
        // A refused attempt must write nothing, so check first.
        let there = read_undamaged_plan(path)?;
        MARK.check(path)?;
        if let Some(there) = there {
            grow(path, &there, &plan, extend)?;
        }
        let folder = claim(path)?;
        let keep = plan.asked.runs;
        // Another process may have come between the check and the lock.
        let (mut plan, new) = match read_undamaged_plan(path)? {
            None => (plan, true),
            Some(there) => match grow(path, &there, &plan, extend)? {
                Some(grown) => (grown, true),
                None => (there, false),
            },
        };
        if new {
            plan.measure()?;
        }
        let keep = keep.filter(|&keep| keep != plan.kept.runs);
        if let Some(keep) = keep {
            plan.keep(keep);
        }
        if new || keep.is_some() {
            let text = plan.to_json();
            folder.write(MARK.file, text.as_bytes())?;
            folder.write(COPY, text.as_bytes())?;
        }
        Ok(Self {
            path: path.to_owned(),
            plan,
            remark: None,
        })
    }

    /// Writes those files of the plan anew that are damaged or missing; returns their names.
    pub fn repair(&self) -> Result<Vec<&'static str>, SweepError> {
        let text = self.plan.to_json();
        let mut repaired = Vec::new();
        for name in [MARK.file, COPY] {
            let path = self.path.join(name);
            let found = read_regular(&path, PLAN_LIMIT);
            if found.is_ok_and(|bytes| bytes == text.as_bytes()) {
                continue;
            }
            // Without a claim: a folder whose mark is damaged cannot be claimed.
            Storage::on_disk(&self.path).write(name, text.as_bytes())?;
            repaired.push(name);
        }
        Ok(repaired)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the folder against others that change more than their own files.
    pub fn claim(&self) -> Result<OutputFolder, SweepError> {
        match &self.remark {
            Some(remark) => Err(SweepError::usage(remark.clone())),
            None => claim(&self.path),
        }
    }

    /// The folder of a run that is kept whole.
    pub fn run_folder(&self, name: &str) -> PathBuf {
        self.path.join("runs").join(name)
    }

    pub(crate) fn journals(&self) -> PathBuf {
        self.path.join(JOURNALS)
    }

    /// Reads all journals, one after the other; returns what is wrong with files, in words.
    pub(crate) fn read_journals(
        &self,
        mut take: impl FnMut(JournalContent),
    ) -> Result<Vec<String>, SweepError> {
        let mut remarks: Vec<String> = self.remark.iter().cloned().collect();
        let folder = self.journals();
        for name in Storage::on_disk(&self.path).names(JOURNALS)? {
            if !name.ends_with(journal::ENDING) {
                continue;
            }
            let path = folder.join(name);
            match journal::read(&path) {
                Ok(journaled) => {
                    if journaled.damaged > 0 {
                        remarks.push(format!(
                            "{} has {} damaged lines, which are left out",
                            path.display(),
                            journaled.damaged
                        ));
                    }
                    take(journaled);
                }
                // An empty one that its worker has removed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    remarks.push(format!("{} is left out: {error}", path.display()));
                }
            }
        }
        Ok(remarks)
    }
}

fn claim(path: &Path) -> Result<OutputFolder, SweepError> {
    // Whoever has it will be done in a moment.
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        match OutputFolder::claim(path, MARK) {
            Err(StoreError::InUse { .. }) if Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(50));
            }
            claimed => return Ok(claimed?),
        }
    }
}

/// The plan in a folder, and what is wrong if it comes from the copy; `None` if there is none.
fn read_plan(path: &Path) -> Result<Option<(Plan, Option<String>)>, SweepError> {
    let read = |name: &str| -> Result<Option<Plan>, String> {
        let bytes = match read_regular(&path.join(name), PLAN_LIMIT) {
            Err(error) if absent(error.kind()) => return Ok(None),
            bytes => bytes.map_err(|error| error.to_string())?,
        };
        let text = String::from_utf8_lossy(&bytes);
        // Only the mark: a first attempt was interrupted, or an earlier version of the program left it.
        let about: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        match about.is_object() && about.get("grids").is_none() {
            true => Ok(None),
            false => Plan::from_json(&text).map(Some),
        }
    };
    let file = path.join(MARK.file);
    let what = match read(MARK.file) {
        Ok(Some(plan)) => return Ok(Some((plan, None))),
        Ok(None) => "it is missing".to_owned(),
        Err(what) => what,
    };
    match read(COPY) {
        Ok(Some(plan)) => {
            let remark = format!(
                "{}: {what}; its copy is whole, and `induct sweep repair {}` writes it anew",
                file.display(),
                path.display()
            );
            Ok(Some((plan, Some(remark))))
        }
        _ if what == "it is missing" => Ok(None),
        _ => Err(StoreError::Damaged { path: file, what }.into()),
    }
}

/// The plan in a folder that is about to change; `None` if there is none. Refuses a damaged one, even if its copy is whole.
fn read_undamaged_plan(path: &Path) -> Result<Option<Plan>, SweepError> {
    match read_plan(path)? {
        Some((_, Some(remark))) => Err(SweepError::usage(remark)),
        Some((plan, None)) => Ok(Some(plan)),
        None => Ok(None),
    }
}

fn absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The plan in a folder after it has grown by another one, if it has to; refuses a plan that it cannot take.
fn grow(path: &Path, there: &Plan, plan: &Plan, extend: bool) -> Result<Option<Plan>, SweepError> {
    let path = path.display();
    match there.grown(plan) {
        Err(differs) => Err(SweepError::usage(format!(
            "{path} holds a sweep of another recipe, which cannot grow by this one:\n  {}\nchoose another --out",
            differs.join("\n  ")
        ))),
        Ok(Some(grown)) if !extend => {
            let (runs, new) = (there.runs().len(), &grown.runs()[there.runs().len()..]);
            let mut first = grown.overrides(&new[0]);
            first.push(format!("seed {}", new[0].key.seed));
            Err(SweepError::usage(format!(
                "{path} holds a sweep of {runs} runs, and this plan has {} more, the first with {}; \
                 add --extend to let it grow by them (nothing is done again), or choose another --out for a new sweep",
                new.len(),
                first.join(", ")
            )))
        }
        Ok(grown) => Ok(grown),
    }
}
