//! Sinks that watch a run: told before the one that keeps it, and able to make training wait.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use induct::probe::Instruments;
use induct::recipe::Recipe;
use induct::run::{Ending, Progress, Record, Run, Sink, SinkPair, WatchError};

/// Stops the run after a record, or fails there.
#[derive(Default)]
struct Watcher {
    stops: bool,
    at: u64,
    fails: bool,
    waits: bool,
    records: Vec<u64>,
    steps: u64,
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

/// Counts records, and keeps snapshots.
#[derive(Default)]
struct Keeper {
    records: usize,
    snapshots: Vec<(u64, Vec<f32>)>,
}

impl Sink for Keeper {
    type Error = Infallible;

    fn record(&mut self, _: &Record) -> Result<(), Infallible> {
        self.records += 1;
        Ok(())
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Infallible> {
        self.snapshots.push((step, params.to_vec()));
        Ok(())
    }
}

type Ended = Result<Ending, WatchError<&'static str, Infallible>>;

fn drive(watcher: &mut Watcher) -> (Ended, Run, Keeper) {
    let small = [
        "task.length=8",
        "train.steps=40",
        "record.every=10",
        "record.test_sequences=16",
    ];
    let recipe = Recipe::from_toml("", &small.map(String::from)).unwrap();
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    let mut run = Run::new(&recipe, instruments).unwrap();
    let mut keeper = Keeper::default();
    let ending = run.drive(&mut SinkPair {
        watcher,
        keeper: &mut keeper,
    });
    (ending, run, keeper)
}

#[test]
fn a_sink_that_waits_stops_a_run_one_step_after_a_record() {
    for (waits, ends) in [(true, 11), (false, 21)] {
        let mut watcher = Watcher {
            waits,
            at: 10,
            ..Watcher::default()
        };
        let (ending, ..) = drive(&mut watcher);
        assert_eq!(ending, Ok(Ending::Stopped(ends)), "waits: {waits}");
        assert_eq!(watcher.steps, ends);
    }
}

#[test]
fn waiting_changes_no_result() {
    let history = |waits: bool| {
        let mut watcher = Watcher {
            waits,
            at: u64::MAX,
            ..Watcher::default()
        };
        let (ending, run, keeper) = drive(&mut watcher);
        assert_eq!(ending, Ok(Ending::Complete));
        assert_eq!(watcher.records, [0, 10, 20, 30, 40]);
        (run.history().clone(), keeper.snapshots)
    };
    assert_eq!(history(true), history(false));
}

#[test]
fn what_a_watcher_refuses_is_not_kept() {
    let (ending, _, keeper) = drive(&mut Watcher {
        fails: true,
        at: 20,
        ..Watcher::default()
    });
    assert_eq!(ending, Err(WatchError::Watcher("seen enough")));
    assert_eq!(keeper.records, 2);
}
