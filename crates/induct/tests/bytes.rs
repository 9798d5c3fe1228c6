//! The same recipe gives the same bytes: for any number of threads, and however often it is interrupted.

use std::sync::Arc;

use induct::probe::Instruments;
use induct::recipe::Recipe;
use induct::run::{Ended, Ending, Onsets};

use crate::interrupted::{interrupted, recipe, recorded};
use crate::{events, interventions};

/// Recipes that use what might go wrong, and steps at which they are interrupted.
fn recipes() -> Vec<(Recipe, Vec<u64>)> {
    let small = |overrides: &[&str]| {
        let small = [
            "task.length=12",
            "train.batch=13", // which does not fill its last block
            "train.steps=20",
            "record.every=5",
            "record.test_sequences=18",
        ];
        (recipe(&small, overrides), vec![1, 9, 10])
    };
    vec![
        small(&[
            "task.states=3",
            "record.strategies=[\"bayes\", \"unigram-and-current\"]",
        ]),
        small(&["model={kind=\"minimal\"}"]),
        small(&["model.dropout=0.2"]),
        small(&[
            "train.optimizer={kind=\"sgd\", lr=0.1, momentum=0.9}",
            "train.schedule={kind=\"cosine\", warmup=5}",
            "intervene=[{kind=\"freeze\", group=\"layers.1\", from=3, until=12}]",
        ]),
        (events::recipe(&[events::STOP]), vec![1]),
        (
            interventions::recipe(&interventions::ALL_KINDS),
            vec![35, 61],
        ),
    ]
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for (recipe, _) in recipes() {
        let (history, summary, snapshots) = recorded(&recipe, 1);
        let other = recorded(&recipe, 3);
        assert_eq!(other.0, history);
        assert_eq!(other.1.steps, summary.steps);
        assert_eq!(other.2, snapshots);
    }
}

#[test]
fn an_interrupted_run_resumes_to_the_same_bytes() {
    for (recipe, mut steps) in recipes() {
        let (history, summary, snapshots) = recorded(&recipe, 2);
        let instruments = Arc::new(Instruments::new(&recipe).unwrap());
        // Around the steps at which an event takes effect, and around an end that it brings about.
        let last = summary.steps;
        for (_, onset) in Onsets::shown(&recipe, &history) {
            steps.extend([onset - 1, onset, onset + 4]);
        }
        let whole = match summary.ended {
            Ended::Event => {
                steps.extend([last - 1, last]);
                Ending::Event(last)
            }
            _ => Ending::Complete,
        };
        for at in steps {
            let (stopped, end) = interrupted(&recipe, &instruments, at);
            match at == last {
                true => assert_eq!(stopped, whole),
                false => assert_eq!(stopped, Ending::Stopped(at)),
            }
            assert_eq!(end.ending, whole, "interrupted at {at}");
            assert_eq!(end.history, history, "interrupted at {at}");
            assert_eq!(end.snapshots, snapshots, "interrupted at {at}");
        }
    }
}
