//! How far a sweep is, from its files alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use crate::error::SweepError;
use crate::folder::{Sweep, WorkerSeen, remarks};
use crate::row::{Became, ENDED, ERROR, LEVEL, NUMBER, RUN, SECONDS};
use crate::table::Column;

/// A run whose process died this often is given up: it may have been the reason.
pub const DEATHS: u32 = 3;

/// How far a sweep is.
#[derive(Debug, Default)]
pub struct State {
    /// By number: whether the run has a result.
    pub done: Vec<bool>,
    /// Runs that failed, and why.
    pub failed: BTreeMap<u64, String>,
    /// Runs whose process died, and how often.
    pub lost: HashMap<u64, u32>,
    /// Results by level.
    pub levels: BTreeMap<String, u64>,
    /// Seconds that the finished runs took on one thread, …
    pub seconds: f64,
    /// … and that they were expected to take.
    pub expected: f64,
    /// Runs that ended because of divergence.
    pub diverged: u64,
    /// Processes at work.
    pub workers: Vec<WorkerSeen>,
    /// Parts that are not as they were written.
    pub damaged: Vec<PathBuf>,
    /// Parts that belong to another sweep.
    pub foreign: Vec<PathBuf>,
    /// Number of files of results.
    pub files: usize,
}

impl State {
    /// The number of runs with a result.
    pub fn finished(&self) -> u64 {
        self.done.iter().filter(|&&done| done).count() as u64
    }

    /// Whether a run is not tried again.
    pub fn given_up(&self, number: u64) -> bool {
        self.lost
            .get(&number)
            .is_some_and(|&deaths| deaths >= DEATHS)
    }

    /// Whether a run is still to be done. With `retry`, what was given up is as well.
    pub fn wants(&self, number: u64, retry: bool) -> bool {
        !self.done[number as usize] && (retry || !self.given_up(number))
    }

    /// Processes that are not known to be dead.
    pub fn living(&self) -> impl Iterator<Item = &WorkerSeen> {
        self.workers
            .iter()
            .filter(|worker| worker.alive != Some(false))
    }

    /// Runs that living processes are at.
    pub fn running(&self) -> HashSet<u64> {
        self.living()
            .flat_map(|worker| worker.begun.iter().copied())
            .collect()
    }

    /// What is wrong with files, in words.
    pub fn remarks(&self) -> Vec<String> {
        remarks(&self.damaged, &self.foreign)
    }
}

impl Sweep {
    /// How far it is.
    pub fn state(&self) -> Result<State, SweepError> {
        let contents =
            self.contents(|name| [NUMBER, RUN, ENDED, LEVEL, SECONDS, ERROR].contains(&name))?;
        let runs = self.plan.runs();
        let mut state = State {
            done: vec![false; runs as usize],
            workers: contents.workers,
            damaged: contents.damaged,
            foreign: contents.foreign,
            files: contents.files,
            ..State::default()
        };
        let mut deaths = HashSet::new();
        for table in &contents.tables {
            let (
                Some(Column::Whole(numbers)),
                Some(Column::Text(ended)),
                Some(Column::Text(levels)),
                Some(Column::Real(seconds)),
                Some(Column::Text(errors)),
            ) = (
                table.column(NUMBER),
                table.column(ENDED),
                table.column(LEVEL),
                table.column(SECONDS),
                table.column(ERROR),
            )
            else {
                continue;
            };
            for row in 0..table.len() {
                let number = numbers[row].and_then(|number| u64::try_from(number).ok());
                let Some(number) = number.filter(|&number| number < runs) else {
                    continue;
                };
                let ended = ended[row].as_deref().unwrap_or_default();
                if Became::is_result(ended) {
                    if !std::mem::replace(&mut state.done[number as usize], true) {
                        *state
                            .levels
                            .entry(levels[row].clone().unwrap_or_default())
                            .or_default() += 1;
                        state.seconds += seconds[row].unwrap_or(0.0);
                        state.expected += self.plan.seconds(&self.plan.run(number));
                        state.diverged += u64::from(ended == Became::Diverged.name());
                    }
                } else if ended == Became::Lost.name() {
                    // A death may be told twice, by a journal and by the part that it has become.
                    if deaths.insert((number, errors[row].clone())) {
                        *state.lost.entry(number).or_default() += 1;
                    }
                } else {
                    state
                        .failed
                        .insert(number, errors[row].clone().unwrap_or_default());
                }
            }
        }
        for (&number, &deaths) in &state.lost {
            if deaths >= DEATHS {
                let why = format!(
                    "the process that trained it died {deaths} times, so it was given up: it may need more memory or disk than \
                     there was; --retry tries it again"
                );
                state.failed.entry(number).or_insert(why);
            }
        }
        let State { failed, done, .. } = &mut state;
        failed.retain(|number, _| !done[*number as usize]);
        Ok(state)
    }
}
