//! Every figure and claim can be made from the experiments that it declares, however little they show.

use std::sync::Arc;

use induct::probe::Instruments;
use induct::run::Recorder;
use induct_studies::{Changes, Experiment, Results, Run, Scale, Selection};
use rayon::prelude::*;

/// Every experiment, far too short to show anything.
fn short_runs(length: usize) -> Vec<(Experiment, Vec<Run>)> {
    let length = format!("task.length={length}");
    let set = [
        "train.steps=6",
        "train.batch=8",
        length.as_str(),
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
        let instruments = Arc::new(Instruments::new(&experiment.recipe).unwrap());
        let run = |seed: u64| {
            let recipe = experiment.with_seed(seed);
            Recorder::record(&recipe, Arc::clone(&instruments))
                .unwrap()
                .into()
        };
        let runs = (0..experiment.seeds).map(run).collect();
        (experiment, runs)
    };
    all.into_par_iter().map(train).collect()
}

/// Draws every figure and decides every claim from only the experiments that it declares.
fn make_all(all: &[(Experiment, Vec<Run>)]) {
    let with = |needs: &[&str]| {
        let needed = all.iter().filter(|(e, _)| needs.contains(&e.id.as_str()));
        Results::new(needed.cloned().collect()).unwrap()
    };
    let Selection { figures, claims } = Selection::all();
    figures.par_iter().for_each(|figure| {
        let drawn = figure.draw(&with(figure.needs));
        assert!(!drawn.reading.is_empty());
        assert!(drawn.figure.svg(600).starts_with("<svg"));
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
fn figures_and_claims_need_no_more_than_they_say() {
    make_all(&short_runs(40));
}

/// Sequences too short for the positional profile, for the example sequence, and for any attention at all.
#[test]
fn short_sequences_leave_gaps_and_no_panic() {
    for length in [1, 2, 11] {
        make_all(&short_runs(length));
    }
}

#[test]
fn a_recorded_run_is_the_same_every_time() {
    let changes = Changes {
        seeds: Some(1),
        set: vec!["train.steps=50".into(), "task.length=20".into()],
    };
    let only = Selection::only(&["C11".into()]).ok().unwrap();
    let experiments = only.experiments(Scale::Quick, &changes).unwrap();
    let instruments = Arc::new(Instruments::new(&experiments[0].recipe).unwrap());
    let run = || -> Run {
        let run = Recorder::record(&experiments[0].recipe, Arc::clone(&instruments));
        run.unwrap().into()
    };
    assert_eq!(run(), run());
    let run = run();
    assert_eq!(run.steps(), [0.0, 25.0, 50.0]);
    assert!(run.level("bigram") < run.level("uniform"));
    assert!(run.level_on("iid", "unigram") < run.level_on("iid", "uniform"));
}

#[test]
fn what_figures_and_claims_read_cannot_be_left_out() {
    let with = |set: &str| {
        let changes = Changes {
            seeds: None,
            set: vec![set.into()],
        };
        let refused = Selection::all().experiments(Scale::Quick, &changes);
        refused.unwrap_err().to_string()
    };
    let refused = with("record.measures=[]");
    assert!(
        refused.contains("experiment main") && refused.contains("train_loss"),
        "{refused}"
    );
    assert!(with("record.tests=[]").contains("iid"));
    assert!(with("model.width=17").contains("experiment three-states-more-heads"));
}
