//! Any sequence of starting, stopping, killing, resuming and extending ends in the same bytes.

use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::disk::Disk;
use crate::disk::journal::Journal;
use crate::run_folder::RunFolder;
use induct::run::Ended;

fn begin(path: &Path, recipe: &Recipe, how: How) -> Result<Opening, StoreError> {
    opening::open(&Storage::on_disk(path), recipe, how)
}

#[test]
fn two_writers_do_not_share_a_folder() {
    let folder = TempDir::new().unwrap();
    let (path, recipe) = (folder.path().join("run"), recipe(&[]));
    let first = begin(&path, &recipe, How::New).unwrap();
    for how in [How::Resume, How::Extend, How::Replace] {
        let second = begin(&path, &recipe, how);
        assert!(matches!(second, Err(StoreError::InUse { .. })));
    }
    drop(first);
    complete(&path, &recipe, How::Resume).unwrap();
}

#[test]
fn of_two_writers_that_start_at_once_one_runs() {
    let folder = TempDir::new().unwrap();
    let recipe = recipe(&[]);
    for attempt in 0..50 {
        let path = folder.path().join(format!("{attempt}"));
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let start = || begin(&path, &recipe, How::New).map(|opening| (opening, ()));
            let both: Vec<_> = (0..2).map(|_| scope.spawn(start)).collect();
            both.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let running = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(running, 1, "attempt {attempt}");
    }
}

#[test]
fn what_cannot_be_extended_is_refused_and_left_as_it_was() {
    let folder = TempDir::new().unwrap();
    let cosine = "train.schedule=cosine";
    let path = folder.path().join("run");
    complete(&path, &recipe(&[cosine]), How::New).unwrap();
    let before = files(&path);
    for (sets, how, word) in [
        (&[cosine, "train.steps=20"][..], How::Extend, "cosine"),
        (&[cosine, "train.steps=20"], How::Resume, "another recipe"),
        (
            &[cosine, "train.batch=16"],
            How::Extend,
            "train.batch = 16, was 8",
        ),
        (&[cosine, "seeds.data=1"], How::Extend, "seeds.data"),
    ] {
        let refused = complete(&path, &recipe(sets), how).unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
        assert_eq!(files(&path), before);
    }
    let short = folder.path().join("short");
    complete(&short, &recipe(&[]), How::New).unwrap();
    let refused = complete(&short, &recipe(&["train.steps=4"]), How::Extend).unwrap_err();
    assert!(
        refused.to_string().contains("has done 12 steps already"),
        "{refused}"
    );
    let refused = complete(&short, &recipe(&[]), How::New).unwrap_err();
    assert!(matches!(refused, StoreError::HoldsARun { .. }));
}

#[test]
fn a_foreign_folder_is_not_touched() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "mine").unwrap();
    for how in [How::New, How::Resume, How::Extend, How::Replace] {
        let refused = complete(folder.path(), &recipe(&[]), how).unwrap_err();
        assert!(refused.to_string().contains("thesis.tex"), "{refused}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A run that its event ended is finished, and one with more steps ends at the same event.
#[test]
fn a_run_that_an_event_ended_is_finished() {
    let folder = TempDir::new().unwrap();
    let (path, recipe_8) = (folder.path().join("run"), recipe(&STOP));
    complete(&path, &recipe_8, How::New).unwrap();
    let run = RunFolder::open(&path).unwrap();
    let summary = RunFolder::finished(&path, &recipe_8).unwrap();
    assert_eq!((summary.ended, summary.steps), (Ended::Event, 8));
    assert_eq!(run.history().unwrap().steps(), [0, 2, 4, 6, 8]);
    assert_eq!(run.snapshot_steps().unwrap(), [0, 6, 8]);
    assert_eq!(run.snapshot(None).unwrap().0, 8);
    assert!(run.recording().unwrap().is_some());
    for how in [How::Resume, How::Extend, How::Replace] {
        let opening = begin(&path, &recipe_8, how).unwrap();
        assert!(matches!(opening, Opening::Ended(_)), "{how:?}");
    }
    let longer = recipe(&[STOP[0], STOP[1], "train.steps=40"]);
    complete(&path, &longer, How::Extend).unwrap();
    let whole = folder.path().join("whole");
    complete(&whole, &longer, How::New).unwrap();
    assert_eq!(files(&path), files(&whole));
    // Its last weights belong to it like planned ones.
    std::fs::remove_file(path.join("snapshots/step-000008.safetensors")).unwrap();
    let run = RunFolder::open(&path).unwrap();
    assert!(run.snapshot(None).unwrap_err().is_damage());
    assert!(run.recording().unwrap_err().is_damage());
    complete(&path, &longer, How::Resume).unwrap();
    assert_eq!(files(&path), files(&whole));
}

/// A run that diverges keeps its last recorded finite weights, also if it was stopped and resumed before.
#[test]
fn divergence_keeps_the_last_finite_weights() {
    let folder = TempDir::new().unwrap();
    // Finite for a few steps; then the weights blow up.
    let sets = [
        "record.snapshots=1",
        "record.every=9",
        "train.optimizer={kind=\"sgd\", lr=1e9}",
    ];
    let recipe = recipe(&sets);
    let (whole, resumed) = (folder.path().join("whole"), folder.path().join("stopped"));
    complete(&whole, &recipe, How::New).unwrap();
    let run = RunFolder::open(&whole).unwrap();
    let at = run.summary().unwrap().unwrap().diverged_at;
    let at = at.expect("it diverges");
    assert!((1..9).contains(&at), "{at}");
    let weights = |path: &Path| RunFolder::open(path).unwrap().snapshot(None).unwrap();
    let (step, params) = weights(&whole);
    assert!(step < at && params.iter().all(|w| w.is_finite()), "{step}");
    assert!(run.history().unwrap().steps().contains(&step));
    for stop in 1..=at {
        let _ = std::fs::remove_dir_all(&resumed);
        stopped(&resumed, &recipe, stop);
        complete(&resumed, &recipe, How::Resume).unwrap();
        assert_eq!(weights(&resumed), weights(&whole), "stopped after {stop}");
        let recording = RunFolder::open(&resumed).unwrap().recording();
        assert!(recording.unwrap().is_some());
    }
}

/// Something that happens to a run.
#[derive(Clone, Debug)]
enum Event {
    /// It is trained, then stopped after some steps.
    Stop(u64),
    /// It is trained, then killed at some change to the disk.
    Kill(usize),
    /// It gets a new number of steps, and is trained to the end.
    Extend(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0_u64..20).prop_map(Event::Stop),
        (0_usize..60).prop_map(Event::Kill),
        (1_u64..20).prop_map(Event::Extend),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(12),
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_of_events_ends_in_the_same_bytes(
        events in prop::collection::vec(event(), 0..6),
        every in 1_u64..6,
        snapshots in 1_u64..6,
        after in prop::option::of(0_u64..6),
    ) {
        let folder = TempDir::new().unwrap();
        let sets = [format!("record.every={every}"), format!("record.snapshots={snapshots}")];
        let stop = after.map(|after| format!("train.stop={{at=\"uniform\", after={after}}}"));
        let with_steps = |steps: u64| {
            let steps = format!("train.steps={steps}");
            let sets = sets.iter().chain(&stop).chain([&steps]);
            recipe(&sets.map(String::as_str).collect::<Vec<_>>())
        };
        let path = folder.path().join("run");
        let mut steps = 12;
        for event in &events {
            let recipe = with_steps(steps);
            match event {
                Event::Stop(at) => {
                    train_in(&Storage::on_disk(&path), &recipe, How::Resume, Some(*at)).unwrap();
                }
                Event::Kill(at) => {
                    let disk = Disk::with_journal(Arc::new(Journal::breaking_at(*at)));
                    let _ = train_in(&Storage::with_disk(disk, &path), &recipe, How::Resume, None);
                }
                Event::Extend(more) => {
                    // Fewer steps than are done are refused, and the run stays as it was.
                    let wanted = with_steps(*more);
                    if complete(&path, &wanted, How::Extend).is_ok() {
                        steps = *more;
                    }
                }
            }
        }
        let recipe = with_steps(steps);
        complete(&path, &recipe, How::Resume).unwrap();
        let whole = folder.path().join("whole");
        complete(&whole, &recipe, How::New).unwrap();
        prop_assert_eq!(files(&path), files(&whole), "{:?}", events);
    }
}
