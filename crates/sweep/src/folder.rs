//! The folder of a sweep.
//!
//! ```text
//! sweep.json            the plan
//! parts/….parquet       rows of a thousand runs or more; the name has a digest of the bytes
//! parts/….journal       rows of a process at work
//! results.parquet       one row per run, made by `gather`
//! runs/0f3a…            runs kept whole, named by their identity
//! slurm/                script, jobs and logs
//! ```
//!
//! Any number of processes may work in it at once. What each of them writes has a name of its own and appears whole, so
//! none can harm another: the worst that happens is that a run is done twice, with the same result.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use induct::digest;
use induct_store::{Disk, Mark, OutputFolder, StoreError};

use crate::error::SweepError;
use crate::growth::{Differs, grid_differences};
use crate::journal::{self, Author};
use crate::plan::{MADE_BY, Plan};
use crate::row::{self, Became, ERROR, NUMBER, RUN, Row};
use crate::table::Table;

/// Marks a folder as a sweep's.
const MARK: Mark = Mark {
    file: "sweep.json",
    made_by: MADE_BY,
    holds: "sweep",
};

/// A folder's name below the sweep's.
const PARTS: &str = "parts";

/// Parts with fewer rows are joined.
pub(crate) const SMALL_PART: usize = 1_000;

/// A process that has not written for so long is taken for dead where the file system has no locks, and what an interrupted
/// write has left is removed.
const SILENT: Duration = Duration::from_secs(300);

/// A sweep in its folder.
#[derive(Clone, Debug)]
pub struct Sweep {
    path: PathBuf,
    /// Its plan.
    pub plan: Plan,
}

/// What may become of a sweep that is in a folder already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It may grow by a plan with other runs.
    Grow,
    /// It must be the same.
    Same,
}

/// Everything in a sweep's folder, at some moment.
#[derive(Debug, Default)]
pub struct Contents {
    /// Rows of parts and journals, in the columns asked for.
    pub tables: Vec<Table>,
    /// Processes at work.
    pub workers: Vec<WorkerSeen>,
    /// Parts that are not as they were written.
    pub damaged: Vec<PathBuf>,
    /// Parts that belong to another sweep.
    pub foreign: Vec<PathBuf>,
    /// Number of files.
    pub files: usize,
}

/// A process at work, as its journal shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSeen {
    /// Who it is.
    pub author: Author,
    /// Whether it is alive; `None` if it is not known.
    pub alive: Option<bool>,
    /// Runs it is at.
    pub begun: Vec<u64>,
}

impl Sweep {
    /// Opens a sweep.
    pub fn open(path: &Path) -> Result<Self, SweepError> {
        match read_plan(path)? {
            Some(plan) => Ok(Self {
                path: path.to_owned(),
                plan,
            }),
            None => Err(SweepError::NoSweep {
                path: path.to_owned(),
            }),
        }
    }

    /// Puts a plan into a folder: a new one, or one whose sweep is the same or may grow by it. `measure` fills in the
    /// cost of a plan that is new.
    pub fn put(
        path: &Path,
        plan: Plan,
        growth: Growth,
        measure: impl FnOnce(&mut Plan) -> Result<(), SweepError>,
    ) -> Result<Self, SweepError> {
        // A refused attempt must write nothing, so check first.
        MARK.check(path)?;
        check_growth(path, read_plan(path)?.as_ref(), &plan, growth)?;
        let folder = claim(path)?;
        // Another process may have come between the check and the lock.
        let there = read_plan(path)?;
        let grown = check_growth(path, there.as_ref(), &plan, growth)?;
        let mut asked = plan;
        let keep = asked.asked.runs;
        let mut changed = true;
        let mut plan = match (there, grown) {
            (None, _) => {
                measure(&mut asked)?;
                asked
            }
            (Some(_), Some(mut grown)) => {
                measure(&mut asked)?;
                grown.set_cost(asked.costs.swap_remove(0));
                grown
            }
            (Some(there), None) => {
                changed = false;
                there
            }
        };
        if let Some(keep) = keep.filter(|&keep| keep != plan.kept.runs) {
            plan.keep(keep);
            changed = true;
        }
        if changed {
            folder.write(MARK.file, plan.to_json().as_bytes())?;
        }
        let path = path.to_owned();
        Ok(Self { path, plan })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the folder against others that change more than their own files.
    pub fn claim(&self) -> Result<OutputFolder, SweepError> {
        claim(&self.path)
    }

    /// The folder of a run that is kept whole.
    pub fn run_folder(&self, name: &str) -> PathBuf {
        self.path.join("runs").join(name)
    }

    /// The folder of parts and journals.
    pub(crate) fn parts(&self) -> PathBuf {
        self.path.join(PARTS)
    }

    /// Writes rows as a part; returns its path, unless there is nothing to write.
    pub(crate) fn write_part(&self, table: &Table) -> Result<Option<PathBuf>, SweepError> {
        if table.is_empty() {
            return Ok(None);
        }
        let bytes = table.to_parquet();
        let sum = &digest::hex(&[&bytes])[..16];
        let name = format!("{}-{sum}-{}.parquet", self.plan.id(), table.len());
        let path = self.parts().join(name);
        match Disk::default().write(&path, &bytes) {
            // Another process has written the same.
            Err(_) if path.is_file() => {}
            written => written?,
        }
        Ok(Some(path))
    }

    /// Everything that is there, in the columns that `wants` names.
    pub fn contents(&self, wants: impl Fn(&str) -> bool) -> Result<Contents, SweepError> {
        // A journal that becomes a part goes away after the part has come: whoever misses it looks again. Parts never
        // change, so they are read once.
        let mut known = HashMap::new();
        for attempt in 0..50 {
            if let Some(contents) = self.contents_now(&wants, &mut known)? {
                return Ok(contents);
            }
            std::thread::sleep(Duration::from_millis(10 * attempt.min(20)));
        }
        Err(SweepError::Failed(format!(
            "{} changes faster than it can be read; try again",
            self.parts().display()
        )))
    }

    fn contents_now(
        &self,
        wants: &impl Fn(&str) -> bool,
        known: &mut HashMap<String, Table>,
    ) -> Result<Option<Contents>, SweepError> {
        let mut contents = Contents::default();
        let folder = self.parts();
        let names = induct_store::names(&folder)?.unwrap_or_default();
        let ids = self.plan.ids();
        // Journals first: their rows may be in a part by the time that parts are read, but not the other way round.
        for name in names.iter().filter(|name| name.ends_with(journal::ENDING)) {
            contents.files += 1;
            let path = folder.join(name);
            let alive = journal::is_alive(&path).or_else(|| Some(self.age(&path)? < SILENT));
            let Some(mut told) = journal::read(&path)? else {
                return Ok(None);
            };
            if alive == Some(false) {
                let lost = told.begun.iter().map(|&number| lost(number, name));
                told.rows.extend(lost);
            }
            let mut table = row::table(&told.rows, &self.plan.kept);
            table.columns.retain(|(name, _)| wants(name));
            contents.tables.push(table);
            if let Some(author) = told.author {
                contents.workers.push(WorkerSeen {
                    author,
                    alive,
                    begun: told.begun,
                });
            }
        }
        for name in names.iter().filter(|name| is_part(name)) {
            contents.files += 1;
            if known.contains_key(name) {
                continue;
            }
            let path = folder.join(name);
            match read_part(&path, name, &ids, wants)? {
                PartRead::Table(table) => {
                    known.insert(name.clone(), table);
                }
                PartRead::Gone => return Ok(None),
                PartRead::Damaged => contents.damaged.push(path),
                PartRead::Foreign => contents.foreign.push(path),
            }
        }
        // Parts that have gone since are inputs of others.
        let parts = names.iter().filter_map(|name| known.remove(name));
        contents.tables.extend(parts);
        Ok(Some(contents))
    }

    /// Joins small parts and the journals of dead processes. Does nothing if another process is at it for longer than
    /// `patience`, or if the file system has no locks.
    pub fn tidy(&self, patience: Duration) -> Result<(), SweepError> {
        let folder = self.parts();
        if !folder.is_dir() {
            return Ok(());
        }
        let Some(_lock) = lock(&folder, patience)? else {
            return Ok(());
        };
        // The sweep may have grown, and journals of others have columns that this process does not know.
        let now = Self::open(&self.path)?;
        let ids = now.plan.ids();
        let mut inputs: Vec<(PathBuf, Table)> = Vec::new();
        let mut held: Vec<File> = Vec::new();
        for name in induct_store::names(&folder)?.unwrap_or_default() {
            let path = folder.join(&name);
            if name.ends_with(journal::ENDING) {
                let Some(file) = journal::take_over(&path) else {
                    continue;
                };
                if let Some(mut told) = journal::read(&path)? {
                    let lost = told.begun.iter().map(|&number| lost(number, &name));
                    told.rows.extend(lost);
                    inputs.push((path, row::table(&told.rows, &now.plan.kept)));
                    held.push(file);
                }
            } else if rows_in(&name).is_some_and(|rows| rows < SMALL_PART) {
                if let PartRead::Table(table) = read_part(&path, &name, &ids, &|_: &str| true)? {
                    inputs.push((path, table));
                }
            } else if name.starts_with('.') && name.ends_with(".part") {
                // Left by a write that was interrupted; one that goes on has a fresher file.
                if self.age(&path).is_some_and(|age| age > SILENT) {
                    let _ = fs::remove_file(&path);
                }
            }
        }
        if inputs.len() < 2 && held.is_empty() {
            return Ok(());
        }
        let (paths, tables): (Vec<PathBuf>, Vec<Table>) = inputs.into_iter().unzip();
        let written = now.write_part(&Table::joined(&tables, &distinct(&tables)))?;
        for path in paths {
            // If there was nothing to add to a part, it is written under its own name.
            if written.as_ref() == Some(&path) {
                continue;
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(SweepError::io("remove", &path)(error));
                }
                _ => {}
            }
        }
        drop(held);
        Ok(())
    }

    /// Puts damaged parts aside; returns what was done, in words.
    pub fn put_aside(&self, damaged: &[PathBuf]) -> Result<Vec<String>, SweepError> {
        let mut said = Vec::new();
        for path in damaged {
            let aside = path.with_extension("parquet.damaged");
            match fs::rename(path, &aside) {
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                renamed => renamed.map_err(SweepError::io("rename", path))?,
            }
            said.push(format!(
                "{} is damaged, and its runs will be done again; it is kept as {}",
                path.display(),
                aside.display()
            ));
        }
        Ok(said)
    }

    /// How long ago a file was written, by the clock of the file system, which need not be that of this machine.
    fn age(&self, path: &Path) -> Option<Duration> {
        let written = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
        let probe = self.parts().join(format!(".{}.part", std::process::id()));
        fs::write(&probe, b"").ok()?;
        let now = written(&probe);
        let _ = fs::remove_file(&probe);
        now?.duration_since(written(path)?).ok()
    }
}

/// What is wrong with parts, in words.
pub(crate) fn remarks(damaged: &[PathBuf], foreign: &[PathBuf]) -> Vec<String> {
    let damaged = damaged.iter().map(|path| {
        format!(
            "{} is damaged; `induct sweep work` does its runs again",
            path.display()
        )
    });
    let foreign = foreign.iter().map(|path| {
        format!(
            "{} belongs to another sweep, and is left out",
            path.display()
        )
    });
    damaged.chain(foreign).collect()
}

/// The number of rows that a part's name says it has.
fn rows_in(name: &str) -> Option<usize> {
    let stem = name.strip_suffix(".parquet").filter(|_| is_part(name))?;
    stem.rsplit('-').next()?.parse().ok()
}

/// Reads those columns of a part that `wants` names; `ids` are those of the sweep.
fn read_part(
    path: &Path,
    name: &str,
    ids: &[String],
    wants: &impl Fn(&str) -> bool,
) -> Result<PartRead, SweepError> {
    let mut words = name.trim_end_matches(".parquet").split('-');
    let (Some(id), Some(sum)) = (words.next(), words.next()) else {
        return Ok(PartRead::Foreign);
    };
    if ids.iter().all(|own| own != id) {
        return Ok(PartRead::Foreign);
    }
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PartRead::Gone),
        bytes => bytes.map_err(SweepError::io("read", path))?,
    };
    if digest::hex(&[&bytes])[..16] != *sum {
        return Ok(PartRead::Damaged);
    }
    match Table::from_parquet(bytes, wants) {
        Ok(table) => Ok(PartRead::Table(table)),
        Err(error) => Err(SweepError::Failed(format!("{}: {error}", path.display()))),
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

enum PartRead {
    Table(Table),
    Gone,
    Damaged,
    Foreign,
}

fn is_part(name: &str) -> bool {
    name.ends_with(".parquet") && !name.starts_with('.')
}

/// A run whose process died. The journal's name tells one death from another.
fn lost(number: u64, journal: &str) -> Row {
    let why = format!("the process that trained it died, and left {journal}");
    Row::without(number, Became::Lost, why)
}

/// Each result once, and each failure.
fn distinct(tables: &[Table]) -> Vec<(usize, usize)> {
    let mut seen = HashSet::new();
    let mut picks = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let shown = |name: &str, row: usize| table.column(name).map(|column| column.shown(row));
        for row in 0..table.len() {
            let what = [NUMBER, RUN, ERROR].map(|name| shown(name, row));
            if seen.insert(what) {
                picks.push((index, row));
            }
        }
    }
    picks
}

/// Locks a folder's parts against others that join them; `None` if another process does.
fn lock(folder: &Path, patience: Duration) -> Result<Option<File>, SweepError> {
    let path = folder.join(".lock");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(SweepError::io("write", &path))?;
    let patience = Instant::now() + patience;
    // Many processes may end at the same moment.
    let pause = Duration::from_millis(50 + u64::from(std::process::id() % 100));
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < patience => {
                std::thread::sleep(pause);
            }
            // Without locks nobody may join parts while others work.
            Err(_) => return Ok(None),
        }
    }
}

/// The plan in a folder; `None` if there is none.
fn read_plan(path: &Path) -> Result<Option<Plan>, SweepError> {
    let file = path.join(MARK.file);
    let Some(bytes) = induct_store::read(&file)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    // Only the mark: a first attempt was interrupted, or an earlier version of the program left it.
    let about: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    if about.is_object() && about.get("grids").is_none() {
        return Ok(None);
    }
    match Plan::from_json(&text) {
        Ok(plan) => Ok(Some(plan)),
        Err(why) => Err(StoreError::Damaged {
            path: file,
            what: why,
        }
        .into()),
    }
}

/// The plan in a folder after it has grown by another one, if it has to; refuses a plan that it cannot take.
fn check_growth(
    path: &Path,
    there: Option<&Plan>,
    plan: &Plan,
    growth: Growth,
) -> Result<Option<Plan>, SweepError> {
    let Some(there) = there else { return Ok(None) };
    match (there.grown(plan), growth) {
        (Err(Differs(differs)), _) => Err(SweepError::mistake(format!(
            "{} holds a sweep of another recipe, which cannot grow by this one:\n  {}\nchoose another --out",
            path.display(),
            differs.join("\n  ")
        ))),
        (Ok(Some(grown)), Growth::Same) => Err(SweepError::mistake(format!(
            "{} holds a sweep of {} runs, and this plan has {} more:\n  {}\n\
             add --extend to let it grow by them (nothing is done again), or choose another --out for a new sweep",
            path.display(),
            there.runs(),
            grown.runs() - there.runs(),
            grid_differences(there, plan).join("\n  ")
        ))),
        (Ok(grown), _) => Ok(grown),
    }
}
