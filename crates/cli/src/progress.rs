//! Progress bars.

use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};
use induct_studies::{Experiment, Run};

use crate::commands::note;
use crate::words::count;

/// A bar on standard error, if that is a terminal.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::new(length).with_style(style)
}

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

/// The progress of a reproduction: a bar for the whole, and a line per experiment that is done.
pub struct Progress {
    bar: ProgressBar,
    experiments: Mutex<Vec<Counts>>,
}

/// How far an experiment is.
struct Counts {
    id: &'static str,
    runs: usize,
    left: usize,
    diverged: usize,
    seconds: f64,
}

/// Multiplications per tick of the bar.
const UNIT: f64 = 1e3;

impl Progress {
    /// Nothing done yet.
    pub fn new(experiments: &[Experiment], tasks: &[Task]) -> Self {
        let effort: f64 = tasks.iter().map(Task::cost).sum();
        let counts = |(index, experiment): (usize, &Experiment)| Counts {
            id: experiment.id,
            runs: 0,
            left: tasks.iter().filter(|task| task.experiment == index).count(),
            diverged: 0,
            seconds: 0.0,
        };
        let counts = experiments.iter().enumerate().map(counts);
        Self {
            bar: bar(
                (effort / UNIT) as u64,
                "{bar:30} {percent:>3}% of all training, {eta} left",
            ),
            experiments: Mutex::new(counts.collect()),
        }
    }

    /// More steps of a run are done.
    pub fn steps(&self, task: &Task, more: u64) {
        self.bar.inc((task.effort / UNIT * more as f64) as u64);
    }

    /// A run has ended.
    pub fn done(&self, task: &Task, run: &Run) {
        let mut all = self
            .experiments
            .lock()
            .expect("no thread panics while it holds the lock");
        let of = &mut all[task.experiment];
        of.left -= 1;
        of.runs += 1;
        of.diverged += usize::from(!run.is_sound());
        of.seconds += run.seconds();
        if of.left > 0 {
            return;
        }
        let diverged = match of.diverged {
            0 => String::new(),
            count => format!(", {count} diverged"),
        };
        let runs = count(of.runs, "run");
        let line = format!(
            "{}: {runs}, {:.0} thread-seconds{diverged}",
            of.id, of.seconds
        );
        self.bar.suspend(|| note(&line));
    }

    /// All runs have ended.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
