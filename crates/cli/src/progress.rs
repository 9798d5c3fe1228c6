//! Progress bars.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use induct_studies::{Experiment, Run};

use crate::commands::note;
use crate::words::count;

/// A bar on standard error, if that is a terminal. It is there from the start, and moves while nothing is
/// done.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    let bar = ProgressBar::new(length).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

pub struct Task {
    /// Index of its experiment.
    pub experiment: usize,
    /// Its number among the experiment's runs.
    pub run: u64,
    pub steps: u64,
    /// Estimated cost of a step, in multiplications.
    pub effort: f64,
}

impl Task {
    pub fn cost(&self) -> f64 {
        self.effort * self.steps as f64
    }
}

/// The progress of a reproduction: a bar for the whole, and a line per experiment that is done.
pub struct Progress {
    bar: ProgressBar,
    experiments: Mutex<Vec<Counts>>,
}

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

    pub fn steps(&self, task: &Task, more: u64) {
        self.bar.inc((task.effort / UNIT * more as f64) as u64);
    }

    pub fn done(&self, task: &Task, run: &Run) {
        let mut all = self
            .experiments
            .lock()
            .expect("no thread panics while it holds the lock");
        let of = &mut all[task.experiment];
        of.left -= 1;
        of.runs += 1;
        of.diverged += usize::from(!run.completed());
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

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
