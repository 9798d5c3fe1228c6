//! Doing the runs of a sweep.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use induct::probe::{History, Instruments};
use induct::recipe::Recipe;
use induct::run::{Ending, NUMERICS, Progress, Run, Sink, Summary};
use induct::train::many;
use induct_store::{
    How, Outcome, RunFolder, Session, SessionError, Storage, StoreError, snapshot_weights,
};
use serde::Serialize;

use crate::error::SweepError;
use crate::folder::{JOURNALS, Sweep};
use crate::journal::{Author, Journal};
use crate::plan::PlannedRun;
use crate::row::{self, Row};
use crate::shard::Shard;

/// How often lines are made to reach the disk. Killing the process loses nothing that it has written; a power cut may lose
/// what is younger than this.
const SYNC: Duration = Duration::from_secs(1);

/// How many instruments are kept for runs to come.
const INSTRUMENTS: usize = 8;

/// Work on a sweep.
pub struct Work<'a> {
    /// The sweep.
    pub sweep: &'a Sweep,
    /// The shard to do.
    pub shard: Shard,
    /// Whether to try again what was given up.
    pub retry: bool,
    /// Whether to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Told of what happens.
    pub report: &'a (dyn Fn(Report) + Sync),
}

/// What happens while a process works.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// It has so many runs to do, which are expected to take so many seconds on one thread.
    Begin {
        /// Runs to do.
        runs: u64,
        /// Seconds on one thread.
        seconds: f64,
    },
    /// A run has come further, by so many of those seconds.
    Further(f64),
    /// A run has ended, or failed.
    Done {
        /// Why it failed.
        error: Option<String>,
    },
    /// Something that the user should know.
    Remark(String),
}

/// What a process has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkSummary {
    /// Runs with a result, from this process.
    pub done: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Runs of its shard that were left when it was stopped.
    pub left: u64,
    /// Runs of its shard that another process is at.
    pub elsewhere: u64,
    /// Runs of its shard that are not tried again, because their process died too often.
    pub given_up: u64,
}

/// Calls a function when it is dropped.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

enum Trained<T> {
    Ended(T),
    Stopped,
    /// Another process is at it.
    Elsewhere,
}

/// What a run that has ended leaves.
type Left = (Box<Summary>, History);

/// What all threads of a process share.
struct Shared<'a> {
    work: &'a Work<'a>,
    journal: Mutex<Journal>,
    instruments: Mutex<VecDeque<Arc<Instruments>>>,
    worked: Mutex<WorkSummary>,
    /// The first thing that keeps the process from going on.
    fatal: Mutex<Option<SweepError>>,
}

/// Locks what no panic leaves half-changed.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work<'_> {
    /// Does what is missing of its shard, on the current thread pool: one thread per run.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used. Everything done before is kept.
    pub fn run(&self) -> Result<WorkSummary, SweepError> {
        let plan = &self.sweep.plan;
        if plan.numerics != NUMERICS {
            return Err(SweepError::usage(format!(
                "{} was planned for numerics version {}, and this program computes with version {NUMERICS}: \
                 results would not belong together; use the program it was planned with, or plan a new sweep",
                self.sweep.path().display(),
                plan.numerics
            )));
        }
        let journals = self.sweep.journals();
        Storage::on_disk(self.sweep.path()).create_folder(JOURNALS)?;
        let state = self.sweep.state()?;
        for remark in &state.remarks {
            (self.report)(Report::Remark(remark.clone()));
        }
        let missing = state
            .missing()
            .filter(|&index| self.shard.has(index as u64));
        let (pending, given_up): (Vec<usize>, Vec<usize>) =
            missing.partition(|&index| state.wants(index, self.retry));
        let worked = WorkSummary {
            given_up: given_up.len() as u64,
            ..WorkSummary::default()
        };
        let runs = plan.runs();
        let seconds = pending.iter().map(|&index| plan.seconds(&runs[index]));
        (self.report)(Report::Begin {
            runs: pending.len() as u64,
            seconds: seconds.sum(),
        });
        if pending.is_empty() {
            return Ok(worked);
        }
        let author = Author {
            shard: self.shard.to_string(),
            host: host(),
            threads: rayon::current_num_threads(),
        };
        let shared = Shared {
            work: self,
            journal: Mutex::new(Journal::begin(&journals, author)?),
            instruments: Mutex::default(),
            worked: Mutex::new(worked),
            fatal: Mutex::default(),
        };
        let ended = AtomicBool::new(false);
        let trained = std::thread::scope(|scope| {
            let keeper = scope.spawn(|| shared.keep(&ended));
            // Also if something panics: the scope waits for the keeper.
            let _end = AtEnd(|| {
                ended.store(true, Ordering::Release);
                keeper.thread().unpark();
            });
            many(pending.len(), |index| shared.one(&runs[pending[index]]))
        });
        trained.map_err(|error| SweepError::Failed(format!("cannot start threads: {error}")))?;
        if let Some(fatal) = lock(&shared.fatal).take() {
            // What is in the journal stays there.
            return Err(fatal);
        }
        let worked = *lock(&shared.worked);
        let journal = shared.journal.into_inner();
        journal.unwrap_or_else(PoisonError::into_inner).end()?;
        Ok(worked)
    }
}

impl Shared<'_> {
    fn journal<T>(&self, act: impl FnOnce(&mut Journal) -> Result<T, SweepError>) -> Option<T> {
        let done = act(&mut lock(&self.journal));
        done.map_err(|error| self.give_up(error)).ok()
    }

    fn give_up(&self, error: SweepError) {
        lock(&self.fatal).get_or_insert(error);
    }

    /// Syncs the journal now and then.
    fn keep(&self, ended: &AtomicBool) {
        while !ended.load(Ordering::Acquire) {
            std::thread::park_timeout(SYNC);
            self.journal(Journal::sync);
        }
    }

    fn one(&self, run: &PlannedRun) {
        if lock(&self.fatal).is_some() || (self.work.stop)() {
            lock(&self.worked).left += 1;
            return;
        }
        if self.journal(|journal| journal.begin_run(run.key)).is_none() {
            return;
        }
        // A panic would be a mistake in the program; the other runs need not suffer from it.
        let trained = catch_unwind(AssertUnwindSafe(|| self.train(run)));
        let trained = trained.unwrap_or_else(|_| Err(SweepError::Failed("it panicked".into())));
        let row = match trained {
            Ok(Trained::Ended(row)) => row,
            Ok(unfinished) => {
                let mut worked = lock(&self.worked);
                match unfinished {
                    Trained::Elsewhere => worked.elsewhere += 1,
                    _ => worked.left += 1,
                }
                drop(worked);
                self.journal(|journal| journal.stop_run(run.key));
                return;
            }
            // If the disk is full or gone, other runs would fail as well.
            Err(error @ SweepError::Store(StoreError::Io { .. })) => {
                self.journal(|journal| journal.stop_run(run.key));
                return self.give_up(error);
            }
            Err(error) => Row::failed(run.key, error.to_string()),
        };
        let error = row.error.clone();
        match error {
            Some(_) => lock(&self.worked).failed += 1,
            None => lock(&self.worked).done += 1,
        }
        self.journal(|journal| journal.end_run(&row));
        (self.work.report)(Report::Done { error });
    }

    fn train(&self, run: &PlannedRun) -> Result<Trained<Row>, SweepError> {
        let plan = &self.work.sweep.plan;
        let recipe = plan.recipe(run)?;
        let expected = plan.seconds(run);
        let pace = expected / recipe.train.steps.max(1) as f64;
        let mut step = 0;
        // Tells of steps, and stops the run on demand.
        let mut follow = |progress: &Progress| {
            let more = progress.step.saturating_sub(step);
            step = progress.step;
            (self.work.report)(Report::Further(pace * more as f64));
            match (self.work.stop)() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let instruments = self.instruments(&recipe)?;
        let trained = match plan.keeps(run) {
            true => self.in_folder(&recipe, instruments, &mut follow),
            false => in_memory(&recipe, instruments, &mut follow),
        }?;
        let (summary, history) = match trained {
            Trained::Ended(left) => left,
            Trained::Stopped => return Ok(Trained::Stopped),
            Trained::Elsewhere => return Ok(Trained::Elsewhere),
        };
        // An event may have ended it early.
        let rest = recipe.train.steps.saturating_sub(step);
        (self.work.report)(Report::Further(pace * rest as f64));
        let row = Row::of(run.key, &recipe, &summary, &history, &plan.kept);
        Ok(Trained::Ended(row))
    }

    fn in_folder(
        &self,
        recipe: &Recipe,
        instruments: Arc<Instruments>,
        follow: &mut impl Sink<Error = Infallible>,
    ) -> Result<Trained<Left>, SweepError> {
        let sweep = self.work.sweep;
        let path = sweep.run_folder(&row::name(recipe));
        let session = Session {
            recipe,
            path: &path,
            how: How::Resume,
            instruments: Some(instruments),
            snapshots: &snapshot_weights,
            remark: &|text| (self.work.report)(Report::Remark(text.to_owned())),
        };
        match session.train(follow) {
            Ok(Outcome::Stopped(_)) => Ok(Trained::Stopped),
            Ok(Outcome::Ended { summary, .. }) => {
                let history = RunFolder::open(&path)?.history()?;
                Ok(Trained::Ended((summary, history)))
            }
            // The same shard is at work elsewhere, and will have done it.
            Err(SessionError::Store(StoreError::InUse { .. })) => Ok(Trained::Elsewhere),
            Err(SessionError::Store(error @ StoreError::Io { .. })) => Err(error.into()),
            Err(SessionError::Store(error)) => Err(SweepError::Failed(format!(
                "{error}; remove {} to train it anew",
                path.display()
            ))),
            Err(error) => Err(SweepError::Failed(error.to_string())),
        }
    }

    /// Instruments for a recipe, made once for runs that can share them.
    fn instruments(&self, recipe: &Recipe) -> Result<Arc<Instruments>, SweepError> {
        let fit = |known: &&Arc<Instruments>| known.fit(recipe);
        let known = lock(&self.instruments).iter().find(fit).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let made =
            Instruments::new(recipe).map_err(|error| SweepError::Failed(error.to_string()))?;
        let made = Arc::new(made);
        let mut all = lock(&self.instruments);
        all.push_front(Arc::clone(&made));
        all.truncate(INSTRUMENTS);
        Ok(made)
    }
}

fn in_memory(
    recipe: &Recipe,
    instruments: Arc<Instruments>,
    follow: &mut impl Sink<Error = Infallible>,
) -> Result<Trained<Left>, SweepError> {
    let started = Instant::now();
    let run = Run::with_snapshots(recipe, instruments, &snapshot_weights);
    let mut run = run.map_err(|error| SweepError::Failed(error.to_string()))?;
    let Ok(ending) = run.drive(follow);
    if let Ending::PriorFailed { step, error } = &ending {
        return Err(SweepError::Failed(format!("step {step}: {error}")));
    }
    let summary = Summary::of(&run, &ending, started.elapsed().as_secs_f64());
    Ok(match summary {
        Some(summary) => Trained::Ended((Box::new(summary), run.history().clone())),
        None => Trained::Stopped,
    })
}

/// The name of this machine, or of the node that a scheduler takes it for.
fn host() -> String {
    let node = ["SLURMD_NODENAME", "HOSTNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok());
    let system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = node.or_else(system).unwrap_or_else(|| "here".into());
    name.trim().to_owned()
}
