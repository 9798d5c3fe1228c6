//! Sinks that watch a run: told before the one that keeps it, and able to make training wait.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use induct::probe::Instruments;
use induct::recipe::Recipe;
use induct::run::{Ending, Progress, Record, Recorder, Run, Sink, SinkPair, WatchError};

/// Stops the run after a record, or fails there.
struct Watcher {
    stops: bool,
    at: u64,
    fails: bool,
    waits: bool,
    records: Vec<u64>,
    steps: u64,
}

impl Watcher {
    fn at(at: u64) -> Self {
        Self {
            stops: false,
            at,
            fails: false,
            waits: false,
            records: Vec::new(),
            steps: 0,
        }
    }
}

impl Sink for Watcher {
    type Error = &'static str;

    fn record(&mut self, record: &Record) -> Result<(), &'static str> {
        self.records.push(record.step);
        let here = record.step == self.at;
        self.stops |= here;
        match here && self.fails {
            true => Err("seen enough"),
            false => Ok(()),
        }
    }

    fn step(&mut self, _: &Progress) -> ControlFlow<()> {
        self.steps += 1;
        match self.stops {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn waits(&self) -> bool {
        self.waits
    }
}

/// Counts records.
struct Count(usize);

impl Sink for Count {
    type Error = Infallible;

    fn record(&mut self, _: &Record) -> Result<(), Infallible> {
        self.0 += 1;
        Ok(())
    }
}

fn run() -> Run {
    let small = [
        "task.length=8",
        "train.steps=40",
        "record.every=10",
        "record.test_sequences=16",
    ];
    let recipe = Recipe::from_toml("", &small.map(String::from)).unwrap();
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    Run::new(&recipe, instruments).unwrap()
}

#[test]
fn a_sink_that_waits_stops_a_run_one_step_after_a_record() {
    for (waits, ends) in [(true, 11), (false, 21)] {
        let (mut run, mut keeper) = (run(), Recorder::default());
        let mut watcher = Watcher {
            waits,
            ..Watcher::at(10)
        };
        let ending = run.drive(&mut SinkPair {
            watcher: &mut watcher,
            keeper: &mut keeper,
        });
        assert_eq!(ending, Ok(Ending::Stopped(ends)), "waits: {waits}");
        assert_eq!(watcher.steps, ends);
    }
}

#[test]
fn waiting_changes_no_result() {
    let history = |waits: bool| {
        let (mut run, mut keeper) = (run(), Recorder::default());
        let mut watcher = Watcher {
            waits,
            ..Watcher::at(u64::MAX)
        };
        let ending = run.drive(&mut SinkPair {
            watcher: &mut watcher,
            keeper: &mut keeper,
        });
        assert_eq!(
            (ending, watcher.records),
            (Ok(Ending::Complete), vec![0, 10, 20, 30, 40])
        );
        (run.history().clone(), keeper.snapshots)
    };
    assert_eq!(history(true), history(false));
}

#[test]
fn what_a_watcher_refuses_is_not_kept() {
    let (mut run, mut keeper) = (run(), Count(0));
    let mut watcher = Watcher {
        fails: true,
        ..Watcher::at(20)
    };
    let ending = run.drive(&mut SinkPair {
        watcher: &mut watcher,
        keeper: &mut keeper,
    });
    assert_eq!(ending, Err(WatchError::Watcher("seen enough")));
    assert_eq!(keeper.0, 2);
}
