//! Progress bars.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use induct_studies::{Experiment, Run};

use crate::commands::note;
use crate::words::count;

/// A bar on standard error, if that is a terminal. It is there from the start, and moves while nothing is
/// done.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    bar_on(ProgressDrawTarget::stderr(), length, template)
}

fn bar_on(target: ProgressDrawTarget, length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style);
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc::{Sender, channel};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that passes on what is written to it.
    #[derive(Debug)]
    struct Terminal(Mutex<Sender<String>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            let _ = self.0.lock().unwrap().send(text.to_owned());
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_is_there_before_anything_is_done() {
        let (sender, written) = channel();
        let terminal = ProgressDrawTarget::term_like(Box::new(Terminal(Mutex::new(sender))));
        let bar = bar_on(terminal, 7, "{pos} of {len} parts");
        let patience = Duration::from_secs(120);
        let shown = |text: String| text.contains("0 of 7 parts");
        while !shown(written.recv_timeout(patience).expect("the bar is drawn")) {}
        bar.finish_and_clear();
    }
}
