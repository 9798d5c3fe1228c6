//! Events: a run that its own onset of a phase ends is a run that was cut off there, and nothing else.

use std::sync::Arc;

use induct::probe::Instruments;
use induct::run::{Ended, Ending, Identity, last_step};
use induct::train::Recipe;

use crate::interrupted::{interrupted, recorded};

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

#[test]
fn an_interrupted_run_resumes_to_the_same_end() {
    let recipe = recipe(&[STOP]);
    let (history, summary, snapshots) = recorded(&recipe, 2);
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    let last = summary.steps;
    for at in [1, last - 18, last - 13, last - 1, last] {
        let (ending, end) = interrupted(&recipe, &instruments, at);
        let ended = if at == last {
            Ending::Event(at)
        } else {
            Ending::Stopped(at)
        };
        assert_eq!(ending, ended);
        assert_eq!(end.ending, Ending::Event(last), "interrupted at {at}");
        assert_eq!(end.history, history, "interrupted at {at}");
        assert_eq!(end.snapshots, snapshots, "interrupted at {at}");
    }
}
