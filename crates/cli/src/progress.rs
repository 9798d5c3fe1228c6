//! The progress of a reproduction: one bar for the whole with the time left, and one per experiment in
//! training.

use std::sync::Mutex;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use induct_studies::{Experiment, Run};

use crate::commands::note;
use crate::words::count;

/// One run to train.
pub struct Task {
    /// Index of its experiment.
    pub experiment: usize,
    /// Its number among the experiment's runs.
    pub run: u64,
    /// Number of its steps.
    pub steps: u64,
    /// Estimated cost of a step, in multiplications.
    pub effort: f64,
}

impl Task {
    /// Estimated cost of the run, in multiplications.
    pub fn cost(&self) -> f64 {
        self.effort * self.steps as f64
    }
}

/// Bars on a terminal; elsewhere one line per experiment.
pub struct Progress {
    all: MultiProgress,
    whole: ProgressBar,
    parts: Vec<Part>,
}

/// The progress of one experiment.
struct Part {
    id: &'static str,
    bar: ProgressBar,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    shown: bool,
    runs: usize,
    left: usize,
    diverged: usize,
    seconds: f64,
}

/// Multiplications per tick of the whole bar.
const UNIT: f64 = 1e3;

impl Progress {
    /// Nothing done yet.
    pub fn new(experiments: &[Experiment], tasks: &[Task]) -> Self {
        let all = MultiProgress::new();
        let effort: f64 = tasks.iter().map(Task::cost).sum();
        let whole = all.add(ProgressBar::new((effort / UNIT) as u64));
        whole.set_style(style("{bar:30} {percent:>3}% of all training, {eta} left"));
        let part = |(index, experiment): (usize, &Experiment)| {
            let its_tasks = || tasks.iter().filter(move |task| task.experiment == index);
            let bar = ProgressBar::new(its_tasks().map(|task| task.steps).sum());
            bar.set_style(style("{bar:30} {percent:>3}% of {msg}, {eta} left"));
            bar.set_message(format!(
                "{}: {}",
                experiment.id,
                count(its_tasks().count(), "run")
            ));
            Part {
                id: experiment.id,
                bar,
                state: Mutex::new(State {
                    left: its_tasks().count(),
                    ..State::default()
                }),
            }
        };
        let parts = experiments.iter().enumerate().map(part).collect();
        Self { all, whole, parts }
    }

    /// More steps of a run are done.
    pub fn steps(&self, task: &Task, more: u64) {
        self.whole.inc((task.effort / UNIT * more as f64) as u64);
        self.parts[task.experiment].bar.inc(more);
    }

    /// A run begins.
    pub fn begin(&self, task: &Task) {
        let part = &self.parts[task.experiment];
        let mut state = part
            .state
            .lock()
            .expect("no thread panics while it holds the lock");
        if !state.shown {
            state.shown = true;
            part.bar.reset_elapsed();
            self.all.insert_before(&self.whole, part.bar.clone());
        }
    }

    /// A run has ended.
    pub fn done(&self, task: &Task, run: &Run) {
        let part = &self.parts[task.experiment];
        let mut state = part
            .state
            .lock()
            .expect("no thread panics while it holds the lock");
        state.left -= 1;
        state.runs += 1;
        state.diverged += usize::from(!run.is_sound());
        state.seconds += run.seconds();
        if state.left > 0 {
            return;
        }
        part.bar.finish_and_clear();
        let diverged = match state.diverged {
            0 => String::new(),
            count => format!(", {count} diverged"),
        };
        let line = format!(
            "{}: {}, {:.0} thread-seconds{diverged}",
            part.id,
            count(state.runs, "run"),
            state.seconds
        );
        match self.whole.is_hidden() {
            true => note(&line),
            false => self.whole.suspend(|| note(&line)),
        }
    }

    /// All runs have ended.
    pub fn finish(&self) {
        self.whole.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is valid")
}
