//! Writing a run, as the sink of the training loop.
//!
//! Files are written by a thread of their own: training goes on while the disk is waited for, and waits only if it gets far ahead.
//! What a checkpoint promises is synced before it: rows, snapshots, their names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use induct::model::Model;
use induct::probe::{self, History};
use induct::run::{Checkpoint, Ended, Record, Sink, Summary};
use induct::train::Recipe;

use crate::disk::{Disk, Growing};
use crate::error::StoreError;
use crate::layout::{self, CHECKPOINT, METRICS, RECIPE, SNAPSHOTS, SUMMARY};
use crate::lock::{self, Lock};
use crate::metrics;
use crate::run_folder::{RunFolder, Stamp, summary_file};
use crate::tensors;

/// Time between two checkpoints: all that an interrupted run can lose.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(500);

/// Bytes that may wait for the disk, about, before training waits, too.
const WAITING_BYTES: usize = 64 << 20;

/// Files that are synced side by side.
const SYNCED_AT_ONCE: usize = 16;

/// What is allowed to be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nothing.
    New,
    /// A run of the same recipe, which is gone on with.
    Resume,
    /// The same, and its number of steps may be another one: a run is made longer.
    Extend,
    /// Anything that a run left, which is replaced if it cannot be gone on with.
    Replace,
}

/// A run's folder, ready.
pub enum Begun {
    /// To be trained.
    Training(Box<Start>),
    /// The run has ended already.
    Ended(Box<RunFolder>, Box<Summary>),
}

/// Where training starts.
pub struct Start {
    /// What writes it.
    pub writer: RunWriter,
    /// What it goes on from, with all that was recorded before; none at the start of a run.
    pub from: Option<(Checkpoint, History)>,
    /// Why what was there is not gone on with, if it is not.
    pub remark: Option<String>,
}

/// Writes a run into its folder; nobody else can while it is there.
pub struct RunWriter {
    path: PathBuf,
    disk: Disk,
    lineage: String,
    jobs: Option<SyncSender<Job>>,
    /// Whether something could not be written: nothing is, after that.
    failed: bool,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
    pub(crate) checkpoint_every: Duration,
    saved: Instant,
    _lock: Lock,
}

/// What is to be written.
enum Job {
    Row(String),
    Snapshot { step: u64, params: Vec<f32> },
    Checkpoint(Checkpoint),
}

impl RunWriter {
    /// Makes a folder ready for a run of `recipe`, or goes on in it.
    pub fn begin(path: &Path, recipe: &Recipe, how: How) -> Result<Begun, StoreError> {
        Self::begin_on(Disk::default(), path, recipe, how)
    }

    pub(crate) fn begin_on(
        disk: Disk,
        path: &Path,
        recipe: &Recipe,
        how: How,
    ) -> Result<Begun, StoreError> {
        holds_run(path, how)?;
        let lock = Lock::take(&disk, path)?;
        // Somebody may have come between the look and the lock.
        let there = holds_run(path, how)?;
        lock::clean(&disk, path)?;
        lock::clean(&disk, &path.join(SNAPSHOTS))?;
        let mut folder = Opening {
            stamp: Stamp::current(recipe),
            disk,
            path,
            recipe,
            lock,
            remark: None,
        };
        if there {
            match folder.go_on(how) {
                Ok(Some(begun)) => return Ok(begun),
                Ok(None) => {}
                Err(error) if how == How::Replace && error.is_damage() => {
                    folder.remark = Some(format!("{error}: trained anew"));
                }
                Err(error) => return Err(error),
            }
        }
        folder.start_anew()
    }

    /// Where the run is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn send(&mut self, job: Job) -> Result<(), StoreError> {
        let sent = self
            .jobs
            .as_ref()
            .is_some_and(|jobs| jobs.send(job).is_ok());
        match sent {
            true => Ok(()),
            // The thread ends early only with an error.
            false => self.close(),
        }
    }

    /// Waits until all is written.
    pub fn close(&mut self) -> Result<(), StoreError> {
        self.jobs = None;
        let result = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None if self.failed => {
                let earlier = std::io::Error::other("an earlier write failed");
                Err(StoreError::io("write", &self.path)(earlier))
            }
            None => Ok(()),
        };
        self.failed |= result.is_err();
        result
    }

    /// Writes what the run came to, once all else is written.
    pub fn finish(mut self, summary: &Summary) -> Result<(), StoreError> {
        self.close()?;
        self.disk
            .write(&self.path.join(SUMMARY), &summary_file(summary))
    }
}

/// The folder is free again only when all is written.
impl Drop for RunWriter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Whoever lets a writer go without closing it does not ask how that went.
            let _ = thread.join();
        }
    }
}

impl Sink for RunWriter {
    type Error = StoreError;

    fn record(&mut self, record: &Record) -> Result<(), StoreError> {
        let line = metrics::line(record.row, &self.lineage);
        self.send(Job::Row(line))
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), StoreError> {
        let params = params.to_vec();
        self.send(Job::Snapshot { step, params })
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.saved.elapsed() >= self.checkpoint_every
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.saved = Instant::now();
        self.send(Job::Checkpoint(checkpoint.clone()))
    }
}

/// Whether a folder holds a run. Changes nothing; refuses what must not be there.
fn holds_run(path: &Path, how: How) -> Result<bool, StoreError> {
    let contents = lock::contents(path)?;
    let Some(found) = contents.first() else {
        return Ok(false);
    };
    let has_recipe = contents.iter().any(|name| name == RECIPE);
    // What is left of a run that lost its recipe may be replaced, but not gone on with.
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

/// A folder that is held, before training.
struct Opening<'a> {
    disk: Disk,
    path: &'a Path,
    recipe: &'a Recipe,
    stamp: Stamp,
    lock: Lock,
    remark: Option<String>,
}

impl Opening<'_> {
    /// Takes up a run that is there. None if it has to start from the beginning.
    fn go_on(&mut self, how: How) -> Result<Option<Begun>, StoreError> {
        let folder = RunFolder::open(self.path)?;
        self.check_current(&folder)?;
        let longer = folder.recipe() != self.recipe;
        if longer {
            self.check_longer(&folder, how)?;
        }
        // A damaged summary is written again: all that it says follows from what is checked below.
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
            let what = format!("it is of step {step}, and the run has {steps}");
            return Err(StoreError::damaged(&self.path.join(CHECKPOINT), what));
        }
        let history = self.records_until(&folder, step)?;
        if let Some(missing) = self.missing_snapshot(&folder, step)? {
            self.remark = Some(format!(
                "{}: the snapshot at step {missing}, which this run keeps, is not there: training from the start",
                self.path.display()
            ));
            return Ok(None);
        }
        // All that is needed is there: from here on the folder is that of the longer run.
        self.write_recipe()?;
        self.remove_later_snapshots(&folder, step)?;
        self.disk.remove(&self.path.join(SUMMARY))?;
        let file = metrics::file(&history, &self.stamp.identity.lineage);
        let path = self.path.join(METRICS);
        if fs::read(&path).ok().as_deref() != Some(file.as_bytes()) {
            self.disk.write(&path, file.as_bytes())?;
        }
        self.ready(Some((checkpoint, history))).map(Some)
    }

    /// Refuses another recipe, unless the run may be made longer and nothing else differs.
    fn check_longer(&self, folder: &RunFolder, how: How) -> Result<(), StoreError> {
        let different = |why: String| StoreError::Different {
            path: self.path.to_owned(),
            why,
        };
        let (old, new) = (folder.recipe(), self.recipe);
        let mut longer = old.clone();
        longer.train.steps = new.train.steps;
        if longer != *new || how != How::Extend {
            let keys = differing_keys(old, new);
            return Err(different(format!("it is a run of another recipe ({keys})")));
        }
        if old.train.schedule.depends_on_length() {
            return Err(different(format!(
                "it cannot be made longer: its learning rate falls along a cosine that ends at step {}, so a run of {} steps is another one from the start",
                old.train.steps, new.train.steps
            )));
        }
        if let Some(summary) = folder.summary()?
            && summary.ended == Ended::Diverged
        {
            return Err(different(
                "it cannot be made longer: it has diverged".into(),
            ));
        }
        let done = folder
            .checkpoint()?
            .map_or(0, |checkpoint| checkpoint.state.step);
        // Its last step would have to be recorded, and is behind.
        if new.train.steps <= done {
            return Err(different(format!(
                "it cannot be made to end at step {}: {done} steps that are done already are not taken back",
                new.train.steps
            )));
        }
        Ok(())
    }

    /// Refuses a run whose rest would not have the bytes that this program computes.
    fn check_current(&self, folder: &RunFolder) -> Result<(), StoreError> {
        let (old, new) = (folder.stamp(), &Stamp::current(folder.recipe()));
        if old == new {
            return Ok(());
        }
        let why = if old.numerics != new.numerics {
            format!(
                "it was computed by numerics version {}, and this program has {}: the rest would not fit",
                old.numerics, new.numerics
            )
        } else if old.arithmetic != new.arithmetic {
            format!(
                "it was computed with {} arithmetic, and this machine has {}: the rest would not fit",
                old.arithmetic, new.arithmetic
            )
        } else {
            "it was made by another version of the program, which reads its recipe otherwise".into()
        };
        Err(StoreError::Different {
            path: self.path.to_owned(),
            why,
        })
    }

    /// The records up to a checkpoint, which promises that they are there.
    fn records_until(&self, folder: &RunFolder, step: u64) -> Result<History, StoreError> {
        let path = self.path.join(METRICS);
        let damaged = |what: String| StoreError::damaged(&path, what);
        let read = folder.read_metrics()?;
        let read = read.ok_or_else(|| damaged("it has gone away".into()))?;
        let mut history = read.history;
        let (record, steps) = (&self.recipe.record, self.recipe.train.steps);
        history.retain(|at| at <= step && record.records(at, steps));
        let due = step / record.every
            + 1
            + u64::from(step == steps && !step.is_multiple_of(record.every));
        if history.len() as u64 != due {
            let what = format!(
                "{} of {due} records up to step {step} are there",
                history.len()
            );
            return Err(damaged(read.wrong.unwrap_or(what)));
        }
        Ok(history)
    }

    /// A snapshot that the run should have by now and has not, or not whole.
    fn missing_snapshot(&self, folder: &RunFolder, step: u64) -> Result<Option<u64>, StoreError> {
        let planned = self.recipe.record.snapshot_steps(self.recipe.train.steps);
        for at in planned.into_iter().take_while(|&at| at <= step) {
            match folder.snapshot(Some(at)) {
                Ok(_) => {}
                Err(error) if error.is_damage() => return Ok(Some(at)),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Removes snapshots that this run does not keep, or not yet.
    fn remove_later_snapshots(&self, folder: &RunFolder, step: u64) -> Result<(), StoreError> {
        let planned = self.recipe.record.snapshot_steps(self.recipe.train.steps);
        for at in folder.snapshot_steps()? {
            if at > step || planned.binary_search(&at).is_err() {
                self.disk.remove(&layout::snapshot(self.path, at))?;
            }
        }
        Ok(())
    }

    /// Clears away what is left of an earlier attempt, and starts from the beginning.
    fn start_anew(mut self) -> Result<Begun, StoreError> {
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
        // Each piece may hold a copy of the weights.
        let weights = size_of::<f32>() * model.layout().len().max(1);
        let (jobs, waiting) = sync_channel((WAITING_BYTES / weights).clamp(4, 256));
        let lineage = self.stamp.identity.lineage.clone();
        let worker = Worker {
            path: self.path.to_owned(),
            disk: self.disk.clone(),
            lineage: lineage.clone(),
            model,
            metrics,
            unsynced: Vec::new(),
            _lock: self.lock.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("induct-writer".into())
            .spawn(|| worker.work(waiting))
            .map_err(StoreError::io("start a thread for", self.path))?;
        Ok(Begun::Training(Box::new(Start {
            writer: RunWriter {
                path: self.path.to_owned(),
                disk: self.disk.clone(),
                lineage,
                jobs: Some(jobs),
                failed: false,
                thread: Some(thread),
                checkpoint_every: CHECKPOINT_EVERY,
                saved: Instant::now(),
                _lock: self.lock.clone(),
            },
            from,
            remark: self.remark.take(),
        })))
    }
}

/// The thread that writes.
struct Worker {
    path: PathBuf,
    disk: Disk,
    lineage: String,
    model: Model,
    metrics: Growing,
    /// Snapshots that may not have reached the disk.
    unsynced: Vec<PathBuf>,
    _lock: Lock,
}

impl Worker {
    fn work(mut self, jobs: Receiver<Job>) -> Result<(), StoreError> {
        for job in jobs {
            match job {
                Job::Row(line) => self.metrics.append(line.as_bytes())?,
                Job::Snapshot { step, params } => {
                    let path = layout::snapshot(&self.path, step);
                    let file = tensors::encode_snapshot(&self.model, &self.lineage, step, &params);
                    self.disk.write_unsynced(&path, &file)?;
                    self.unsynced.push(path);
                }
                Job::Checkpoint(checkpoint) => self.checkpoint(&checkpoint)?,
            }
        }
        self.sync()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.metrics.sync()?;
        if self.unsynced.is_empty() {
            return Ok(());
        }
        // Side by side: a file system writes down many changes at once nearly as fast as one.
        let size = self.unsynced.len().div_ceil(SYNCED_AT_ONCE);
        let sync = |paths: &[PathBuf]| paths.iter().try_for_each(|path| self.disk.sync(path));
        std::thread::scope(|scope| {
            let parts = self.unsynced.chunks(size);
            let parts: Vec<_> = parts
                .map(|paths| scope.spawn(move || sync(paths)))
                .collect();
            let joined = parts
                .into_iter()
                .map(|part| part.join().expect("it does not panic"));
            joined.collect::<Result<Vec<()>, StoreError>>()
        })?;
        self.unsynced.clear();
        self.disk.sync_folder(&self.path.join(SNAPSHOTS))
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.sync()?;
        let file = tensors::encode_checkpoint(&self.model, &self.lineage, checkpoint);
        self.disk.write(&self.path.join(CHECKPOINT), &file)
    }
}

/// The keys in which two recipes differ, in words.
fn differing_keys(old: &Recipe, new: &Recipe) -> String {
    let mut differing = Vec::new();
    let lines = |recipe: &Recipe| -> Vec<String> {
        let mut table = String::new();
        let text = recipe.to_toml();
        let keyed = text.lines().filter(|line| !line.is_empty()).map(|line| {
            if line.starts_with('[') {
                table = line.trim_matches(['[', ']']).to_owned() + ".";
            }
            format!("{table}{line}")
        });
        keyed.filter(|line| line.contains(" = ")).collect()
    };
    let (old, new) = (lines(old), lines(new));
    for line in &new {
        if !old.contains(line) {
            let key = line.split(" = ").next().unwrap_or_default();
            let before = old
                .iter()
                .find(|other| other.split(" = ").next() == Some(key));
            let before = before.and_then(|other| other.split(" = ").nth(1));
            differing.push(format!("{line}, there {}", before.unwrap_or("unset")));
        }
    }
    for line in &old {
        let key = line.split(" = ").next();
        if new.iter().all(|other| other.split(" = ").next() != key) {
            differing.push(format!("here unset, there {line}"));
        }
    }
    const SHOWN: usize = 3;
    let more = differing.len().saturating_sub(SHOWN);
    differing.truncate(SHOWN);
    let shown = differing.join("; ");
    match more {
        0 => shown,
        _ => format!("{shown}; and {more} more"),
    }
}
