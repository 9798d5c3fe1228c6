//! How far a sweep is, from its files alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::SweepError;
use crate::folder::Sweep;
use crate::journal::Author;
use crate::plan::Key;
use crate::row::RunStatus;

/// A run whose worker died this often is given up: it may have been the reason.
pub const DEATHS: u32 = 3;

/// How far a sweep is. Runs are named by their index in the plan.
#[derive(Debug, Default)]
pub struct State {
    /// Whether a run has a result.
    pub done: Vec<bool>,
    /// Runs that failed, and why.
    pub failed: BTreeMap<usize, String>,
    /// Runs whose worker died, and how often.
    pub lost: HashMap<usize, u32>,
    /// Results by level.
    pub levels: BTreeMap<String, u64>,
    /// Seconds that the finished runs took on one thread, …
    pub seconds: f64,
    /// … and that they were expected to take.
    pub expected: f64,
    /// Runs that ended because of divergence.
    pub diverged: u64,
    /// Workers that are alive, or have left runs undone.
    pub workers: Vec<Worker>,
    /// What is wrong with files, in words.
    pub remarks: Vec<String>,
    /// Number of journals.
    pub journals: usize,
}

/// A worker, as its journal shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Who it is.
    pub author: Author,
    /// Whether it is alive.
    pub alive: bool,
    /// Runs that it has begun, and that have no result.
    pub begun: Vec<Key>,
}

impl State {
    /// The number of runs with a result.
    pub fn finished(&self) -> usize {
        self.done.iter().filter(|&&done| done).count()
    }

    /// The runs without a result.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        (0..self.done.len()).filter(|&index| !self.done[index])
    }

    /// Whether a run without a result is still to be done. With `retry`, what was given up is as well.
    pub fn wants(&self, index: usize, retry: bool) -> bool {
        let deaths = self.lost.get(&index).copied().unwrap_or(0);
        retry || deaths < DEATHS
    }

    /// Workers that are alive.
    pub fn living(&self) -> impl Iterator<Item = &Worker> {
        self.workers.iter().filter(|worker| worker.alive)
    }

    /// The number of runs in progress.
    pub fn running(&self) -> usize {
        let runs: HashSet<&Key> = self.living().flat_map(|worker| &worker.begun).collect();
        runs.len()
    }
}

impl Sweep {
    /// How far it is.
    pub fn state(&self) -> Result<State, SweepError> {
        let plan = &self.plan;
        let mut state = State {
            done: vec![false; plan.runs().len()],
            ..State::default()
        };
        state.remarks = self.read_journals(|journaled| {
            state.journals += 1;
            for row in journaled.rows {
                let Some(index) = plan.index(row.key) else {
                    continue;
                };
                if row.ended == RunStatus::Failed {
                    state.failed.insert(index, row.error.unwrap_or_default());
                } else if !std::mem::replace(&mut state.done[index], true) {
                    *state.levels.entry(row.level).or_default() += 1;
                    state.seconds += row.seconds;
                    state.expected += plan.seconds(&plan.runs()[index]);
                    state.diverged += u64::from(row.ended == RunStatus::Diverged);
                }
            }
            if !journaled.alive {
                for index in journaled.begun.iter().filter_map(|&key| plan.index(key)) {
                    *state.lost.entry(index).or_default() += 1;
                }
            }
            state.workers.push(Worker {
                author: journaled.author,
                alive: journaled.alive,
                begun: journaled.begun,
            });
        })?;
        let State {
            failed,
            done,
            lost,
            workers,
            ..
        } = &mut state;
        for (&index, &deaths) in lost.iter().filter(|(_, deaths)| **deaths >= DEATHS) {
            let why = format!(
                "the worker that trained it died {deaths} times, so it was given up: it may need more memory or disk \
                 than there was; --retry tries it again"
            );
            failed.entry(index).or_insert(why);
        }
        failed.retain(|&index, _| !done[index]);
        for worker in &mut *workers {
            let undone = |key: &Key| plan.index(*key).is_some_and(|index| !done[index]);
            worker.begun.retain(undone);
        }
        workers.retain(|worker| worker.alive || !worker.begun.is_empty());
        Ok(state)
    }
}
