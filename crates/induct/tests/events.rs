//! Events: a run that its own onset of a phase ends is a run that was cut off there, and nothing else.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use induct::probe::{History, Instruments};
use induct::run::{
    Checkpoint, Ended, Ending, Identity, Progress, Record, Recorder, Run, Sink, Summary, last_step,
};
use induct::train::{Recipe, no_snapshots};

/// A small model that passes from uniform to unigram within its first hundred steps.
fn recipe(overrides: &[&str]) -> Recipe {
    let small = [
        "task.length=30",
        "train.batch=16",
        "train.steps=200",
        "record.every=6",
        "record.snapshots=4",
        "record.test_sequences=64",
        "record.tests=[]",
    ];
    let all = small.iter().chain(overrides);
    let all: Vec<String> = all.map(|&text| text.to_owned()).collect();
    Recipe::from_toml("", &all).unwrap()
}

const STOP: &str = "train.stop={at=\"unigram\", after=15}";

fn recorded(recipe: &Recipe, threads: usize) -> (History, Summary, Vec<(u64, Vec<f32>)>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(|| {
        let instruments = Arc::new(Instruments::new(recipe).unwrap());
        let run = Recorder::record(recipe, instruments).unwrap();
        (run.history, run.summary, run.snapshots)
    })
}

#[test]
fn a_stopped_run_is_the_start_of_the_whole_one() {
    let (whole, all, _) = recorded(&recipe(&[]), 2);
    let (stopped, summary, snapshots) = recorded(&recipe(&[STOP]), 2);
    let onset = all.phases.iter().find(|phase| phase.strategy == "unigram");
    let onset = onset.expect("it learns unigrams").onset;
    // Shown by the third record of the phase, in effect at the fourth; then the first record 15 steps on.
    let last = onset + 3 * 6 + 18;
    assert!(last < 190, "{last}");
    assert_eq!((summary.ended, summary.steps), (Ended::Event, last));
    assert_eq!(last_step(&recipe(&[STOP]), &stopped), last);
    let mut start = whole.clone();
    start.retain(|step| step <= last);
    assert_eq!(stopped, start);
    let kept: Vec<u64> = snapshots.iter().map(|(step, _)| *step).collect();
    assert_eq!(kept.last(), Some(&last), "{kept:?}");
    let [stopped, whole] = [&[STOP][..], &[]].map(|sets| Identity::of(&recipe(sets)));
    assert_eq!(stopped.lineage, whole.lineage);
    assert_ne!(stopped.run, whole.run);
}

#[test]
fn any_number_of_threads_stops_at_the_same_step() {
    let recipe = recipe(&[STOP]);
    let (history, summary, snapshots) = recorded(&recipe, 1);
    for threads in [2, 3] {
        let other = recorded(&recipe, threads);
        assert_eq!((&other.0, &other.2), (&history, &snapshots));
        assert_eq!(other.1.steps, summary.steps);
    }
}

#[test]
fn a_run_whose_event_never_comes_runs_to_its_end() {
    for stop in [
        "bigram\"",
        "unigram\", after=500",
        "unigram\", after=9223372036854775807",
    ] {
        let stop = format!("train.stop={{at=\"{stop}}}");
        let (history, summary, snapshots) = recorded(&recipe(&[stop.as_str()]), 2);
        assert_eq!((summary.ended, summary.steps), (Ended::Complete, 200));
        assert_eq!((history, snapshots), {
            let whole = recorded(&recipe(&[]), 2);
            (whole.0, whole.2)
        });
    }
}

/// Stops a run at some step, and keeps what it would resume from.
#[derive(Default)]
struct Interrupt {
    at: u64,
    checkpoint: Option<Checkpoint>,
    snapshots: Vec<(u64, Vec<f32>)>,
}

impl Sink for Interrupt {
    type Error = Infallible;

    fn record(&mut self, _: &Record) -> Result<(), Infallible> {
        Ok(())
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Infallible> {
        self.snapshots.push((step, params.to_vec()));
        Ok(())
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        match progress.step == self.at {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Infallible> {
        self.checkpoint = Some(checkpoint.clone());
        Ok(())
    }
}

#[test]
fn an_interrupted_run_resumes_to_the_same_end() {
    let recipe = recipe(&[STOP]);
    let (history, summary, snapshots) = recorded(&recipe, 2);
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    let last = summary.steps;
    for at in [1, last - 18, last - 13, last - 1, last] {
        let mut first = Run::new(&recipe, Arc::clone(&instruments)).unwrap();
        let mut sink = Interrupt {
            at,
            ..Interrupt::default()
        };
        let Ok(ending) = first.drive(&mut sink);
        let ended = if at == last {
            Ending::Event(at)
        } else {
            Ending::Stopped(at)
        };
        assert_eq!(ending, ended);
        let (checkpoint, records) = (sink.checkpoint.take().unwrap(), first.history().clone());
        let mut second = Run::resumed(
            &recipe,
            Arc::clone(&instruments),
            checkpoint,
            records,
            &no_snapshots,
        )
        .unwrap();
        let Ok(ending) = second.drive(&mut sink);
        assert_eq!(ending, Ending::Event(last), "interrupted at {at}");
        assert_eq!(second.history(), &history, "interrupted at {at}");
        assert_eq!(sink.snapshots, snapshots, "interrupted at {at}");
    }
}
