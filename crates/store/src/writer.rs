//! Writing a run, as the sink of the training loop.
//!
//! A separate thread writes the files: training continues while the disk is busy, and waits only if it gets
//! far ahead. Everything that a checkpoint relies on (rows, snapshots, their names) is synced before it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use induct::model::Model;
use induct::probe::History;
use induct::run::{Checkpoint, Record, Sink, Summary};

use crate::error::StoreError;
use crate::layout::{CHECKPOINT, METRICS, SNAPSHOTS, SUMMARY, snapshot_name};
use crate::lock::Lock;
use crate::metrics;
use crate::run_folder::summary_file;
use crate::storage::Storage;
use crate::tensors;

/// Time between two checkpoints: the most that an interrupted run can lose.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(500);

/// Roughly how many bytes may wait for the disk before training waits too.
const WAITING_BYTES: usize = 64 << 20;

/// What the folder may hold already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Nothing.
    New,
    /// A run of the same recipe, which is resumed.
    Resume,
    /// The same, but the number of steps may differ: the run is extended.
    Extend,
    /// Anything left by a run, which is replaced if it cannot be resumed.
    Replace,
}

/// A run's folder, ready for use.
pub enum Opening {
    /// There is something left to train.
    Training(Box<Start>),
    /// The run has ended already.
    Ended(Box<Summary>),
}

/// Where training starts.
pub struct Start {
    /// Writes the run.
    pub writer: RunWriter,
    /// The checkpoint to resume from, with everything recorded before it; `None` at the start of a run.
    pub from: Option<(Checkpoint, History)>,
    /// Why an earlier run in the folder is not resumed, if that is the case.
    pub remark: Option<String>,
}

/// Writes a run into its folder, which stays locked for as long as the writer lives.
pub struct RunWriter {
    storage: Storage,
    lineage: String,
    jobs: Option<SyncSender<Job>>,
    /// Whether a write has failed: nothing is written after that.
    failed: bool,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
    pub(crate) checkpoint_every: Duration,
    last_checkpoint: Instant,
    _lock: Lock,
}

/// One thing to write.
enum Job {
    Row(String),
    Snapshot { step: u64, params: Vec<f32> },
    Checkpoint(Checkpoint),
}

impl RunWriter {
    /// Starts the thread that writes into a prepared folder.
    pub(crate) fn start(
        storage: &Storage,
        lineage: String,
        model: Model,
        lock: Lock,
    ) -> Result<Self, StoreError> {
        // Each job may hold a copy of the weights.
        let weights = size_of::<f32>() * model.layout().len().max(1);
        let (jobs, waiting) = sync_channel((WAITING_BYTES / weights).clamp(4, 256));
        let worker = Worker {
            storage: storage.clone(),
            lineage: lineage.clone(),
            model,
            unsynced: Vec::new(),
            _lock: lock.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("induct-writer".into())
            .spawn(|| worker.work(waiting))
            .map_err(StoreError::io("start a thread for", storage.path()))?;
        Ok(Self {
            storage: storage.clone(),
            lineage,
            jobs: Some(jobs),
            failed: false,
            thread: Some(thread),
            checkpoint_every: CHECKPOINT_EVERY,
            last_checkpoint: Instant::now(),
            _lock: lock,
        })
    }

    fn send(&mut self, job: Job) -> Result<(), StoreError> {
        match &self.jobs {
            Some(jobs) if jobs.send(job).is_ok() => Ok(()),
            // The thread ends early only with an error.
            _ => self.close(),
        }
    }

    /// Waits until everything is written.
    pub fn close(&mut self) -> Result<(), StoreError> {
        self.jobs = None;
        let result = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None if self.failed => {
                let earlier = std::io::Error::other("an earlier write failed");
                Err(StoreError::io("write", self.storage.path())(earlier))
            }
            None => Ok(()),
        };
        self.failed |= result.is_err();
        result
    }

    /// Writes the summary, once everything else is written.
    pub fn finish(mut self, summary: &Summary) -> Result<(), StoreError> {
        self.close()?;
        self.storage.write(SUMMARY, &summary_file(summary))
    }
}

/// The folder is unlocked only when everything is written.
impl Drop for RunWriter {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Whoever drops a writer without closing it does not want to know about errors.
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
        self.last_checkpoint.elapsed() >= self.checkpoint_every
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError> {
        self.last_checkpoint = Instant::now();
        self.send(Job::Checkpoint(checkpoint.clone()))
    }
}

/// The thread that writes.
struct Worker {
    storage: Storage,
    lineage: String,
    model: Model,
    /// Snapshots that may not have reached the disk.
    unsynced: Vec<String>,
    _lock: Lock,
}

impl Worker {
    fn work(mut self, jobs: Receiver<Job>) -> Result<(), StoreError> {
        for job in jobs {
            match job {
                Job::Row(line) => self.storage.append(METRICS, line.into_bytes())?,
                Job::Snapshot { step, params } => {
                    let file = tensors::encode_snapshot(&self.model, &self.lineage, step, &params);
                    let name = snapshot_name(step);
                    self.storage.write_unsynced(&name, file)?;
                    self.unsynced.push(name);
                }
                Job::Checkpoint(checkpoint) => {
                    self.sync()?;
                    let file = tensors::encode_checkpoint(&self.model, &self.lineage, &checkpoint);
                    self.storage.write(CHECKPOINT, &file)?;
                }
            }
        }
        self.sync()
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.storage.sync(&[METRICS.to_owned()])?;
        if self.unsynced.is_empty() {
            return Ok(());
        }
        self.storage.sync(&std::mem::take(&mut self.unsynced))?;
        self.storage.sync_folder(SNAPSHOTS)
    }
}
