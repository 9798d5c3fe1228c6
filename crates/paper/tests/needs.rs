//! Every figure and claim can be made from the experiments that it says it needs, however little they show.

use induct::probe::Instruments;
use induct_paper::{Changes, Experiment, Results, Run, Scale, Selection, watch};
use rayon::prelude::*;

/// Every experiment, far too short to show anything.
fn short_runs() -> Vec<(Experiment, Vec<Run>)> {
    let set = [
        "train.steps=6",
        "train.batch=8",
        "task.length=40",
        "record.every=2",
        "record.snapshots=2",
        "record.test_sequences=16",
    ];
    let changes = Changes {
        seeds: Some(2),
        set: set.map(String::from).into(),
    };
    let all = Selection::all()
        .experiments(Scale::Quick, &changes)
        .unwrap();
    let train = |experiment: Experiment| {
        let instruments = Instruments::new(&experiment.recipe).unwrap();
        let run = |seed: u64| {
            let recipe = experiment.with_seed(seed);
            watch(&recipe, &instruments, seed == 0, &|| ()).unwrap()
        };
        let runs = (0..experiment.seeds).map(run).collect();
        (experiment, runs)
    };
    all.into_par_iter().map(train).collect()
}

#[test]
fn figures_and_claims_need_no_more_than_they_say() {
    let all = short_runs();
    let with = |needs: &[&str]| {
        let needed = all.iter().filter(|(e, _)| needs.contains(&e.id.as_str()));
        Results::new(needed.cloned().collect()).unwrap()
    };
    let Selection { figures, claims } = Selection::all();
    figures.par_iter().for_each(|figure| {
        let drawn = figure.draw(&with(figure.needs));
        assert!(!drawn.reading.is_empty());
        assert!(
            !drawn.reading.contains("NaN") || drawn.figure.panels.is_empty(),
            "{}",
            drawn.reading
        );
    });
    claims.par_iter().for_each(|claim| {
        let decided = claim.decide(&with(claim.needs));
        assert!(!decided.parts.is_empty(), "{}", claim.id);
        assert!(figures.iter().any(|figure| figure.number == claim.figure));
    });
}

#[test]
fn a_watched_run_is_the_same_every_time() {
    let changes = Changes {
        seeds: Some(1),
        set: vec!["train.steps=50".into(), "task.length=20".into()],
    };
    let only = Selection::only(&["C11".into()]).ok().unwrap();
    let experiments = only.experiments(Scale::Quick, &changes).unwrap();
    let instruments = Instruments::new(&experiments[0].recipe).unwrap();
    let run = || {
        let mut run = watch(&experiments[0].recipe, &instruments, true, &|| ()).unwrap();
        run.seconds = 0.0;
        run
    };
    assert_eq!(run(), run());
    let run = run();
    assert_eq!(run.steps(), [0.0, 25.0, 50.0]);
    assert_eq!((run.profiles.len(), run.profiles[0].len()), (3, 20));
    assert!(run.level("bigram") < run.level("uniform"));
    assert!(run.level_on("iid", "unigram") < run.level_on("iid", "uniform"));
}
