//! Events: a run that its own onset of a phase ends is a run that was cut off there, and nothing else.

use induct::internal::last_step;
use induct::recipe::Recipe;
use induct::run::{Ended, Identity};

use crate::interrupted::{self, recorded};

/// A small model that passes from uniform to unigram within its first hundred steps.
pub const SMALL: [&str; 7] = [
    "task.length=30",
    "train.batch=16",
    "train.steps=200",
    "record.every=6",
    "record.snapshots=4",
    "record.test_sequences=64",
    "record.tests=[]",
];

pub fn recipe(overrides: &[&str]) -> Recipe {
    interrupted::recipe(&SMALL, overrides)
}

pub const STOP: &str = "train.stop={at=\"unigram\", after=15}";

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
fn a_run_whose_event_never_comes_runs_to_its_end() {
    let whole = recorded(&recipe(&[]), 2);
    for stop in ["bigram\"", "unigram\", after=9223372036854775807"] {
        let stop = format!("train.stop={{at=\"{stop}}}");
        let (history, summary, snapshots) = recorded(&recipe(&[stop.as_str()]), 2);
        assert_eq!((summary.ended, summary.steps), (Ended::Complete, 200));
        assert_eq!((&history, &snapshots), (&whole.0, &whole.2));
    }
}
