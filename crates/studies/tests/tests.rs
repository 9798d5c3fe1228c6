//! Every figure and claim can be made from the experiments that it declares, however little they show.

use std::sync::Arc;

use induct::probe::Instruments;
use induct::run::Recorder;
use induct_studies::{
    Changes, Experiment, LOOKS, Reproduction, Results, Run, STUDIES, Scale, Study, Verdict,
    protocol,
};
use rayon::prelude::*;

fn changes(seeds: Option<u64>, set: &[&str]) -> Changes {
    Changes {
        seeds,
        first_seed: 0,
        set: set.iter().map(|&set| set.to_owned()).collect(),
    }
}

fn all_of(study: &'static Study, changes: &Changes) -> Reproduction {
    Reproduction::new(study, &[], Scale::Quick, changes).unwrap()
}

/// Every experiment, far too short to show anything.
fn short_runs(study: &'static Study, seeds: u64, length: usize) -> Vec<(Experiment, Vec<Run>)> {
    let length = format!("task.length={length}");
    let set = [
        "train.steps=6",
        "train.batch=8",
        length.as_str(),
        "record.every=2",
        "record.snapshots=2",
        "record.test_sequences=16",
        // Their steps come later than these runs end.
        "intervene=[]",
    ];
    let train = |experiment: Experiment| {
        let run = |index: u64| {
            let recipe = experiment.recipe(index);
            let instruments = Arc::new(Instruments::new(&recipe).unwrap());
            Recorder::record(&recipe, instruments).unwrap().into()
        };
        let runs = (0..seeds).map(run).collect();
        (experiment, runs)
    };
    let all = all_of(study, &changes(Some(seeds), &set)).experiments;
    all.into_par_iter().map(train).collect()
}

/// Draws every figure and decides every claim from only the experiments that it declares.
fn make_all(study: &'static Study, all: &[(Experiment, Vec<Run>)]) {
    let with = |needs: Vec<String>| {
        let needed = all
            .iter()
            .filter(|(e, _)| needs.iter().any(|id| id == e.id));
        let (experiments, runs): (Vec<Experiment>, Vec<Vec<Run>>) = needed.cloned().unzip();
        let mut results = Results::new(&experiments).unwrap();
        for (index, runs) in runs.into_iter().enumerate() {
            results.add(index, runs).unwrap();
        }
        results
    };
    study.figures.par_iter().for_each(|figure| {
        let drawn = (figure.draw)(&with(figure.needs().collect()));
        let reading = &drawn.reading;
        assert!(!reading.is_empty());
        for word in ["NaN", "inf "] {
            assert!(!reading.contains(word), "{reading}");
        }
        let id = &figure.id;
        assert!(drawn.figure.svg_inline(600).contains("<text"), "{id}");
        // Runs too short for a measure leave gaps in the table; where there are none, there is nothing to leave out.
        let none = all.iter().all(|(_, runs)| runs.is_empty());
        assert!(!(none && drawn.figure.csv().contains("NaN")), "{id}");
    });
    let variants = study.variants();
    // What needs no training is the same for all runs: it is decided in a test of its own.
    let claims = study.claims().par_iter();
    let trained = claims.filter(|claim| claim.needs().next().is_some());
    trained.for_each(|claim| {
        let decided = claim.decide(&variants, &with(claim.needs().collect()), 0.05);
        assert!(!decided.parts.is_empty(), "{}", claim.id);
        assert!(!decided.remark.contains("NaN"), "{}", decided.remark);
        for part in decided.parts {
            let trained = !part.variant.is_empty();
            let judged = !matches!(part.verdict, Verdict::NotJudged | Verdict::NotRun);
            assert!(!(trained && judged), "{}: {}", claim.id, part.measure);
        }
    });
}

#[test]
fn figures_and_claims_need_no_more_than_they_say() {
    for study in STUDIES {
        make_all(study, &short_runs(study, 2, 40));
    }
}

/// The protocol in the documentation is that of the claims.
#[test]
fn the_protocol_is_written_down() {
    let written = [
        include_str!("../../../docs/reproduction/protocol.md"),
        include_str!("../../../docs/plateau/protocol.md"),
    ];
    assert_eq!(written.len(), STUDIES.len());
    for (study, written) in STUDIES.iter().zip(written) {
        let (name, made) = (study.name, protocol(study));
        // Line by line, so that a difference can be read.
        for (written, made) in written.lines().zip(made.lines()) {
            assert_eq!(written, made, "run `induct reproduce {name} --protocol`");
        }
        assert_eq!(written.lines().count(), made.lines().count(), "{name}");
    }
}

/// Sequences too short for the positional profile, for the example sequence, and for any attention at all;
/// and no run at all.
#[test]
fn short_sequences_and_no_runs_leave_gaps_and_no_panic() {
    for study in STUDIES {
        for length in [1, 2, 11] {
            make_all(study, &short_runs(study, 1, length));
        }
        make_all(study, &short_runs(study, 0, 40));
    }
}

#[test]
fn what_figures_and_claims_read_cannot_be_left_out() {
    let with = |set: &str| {
        let refused = Reproduction::new(STUDIES[0], &[], Scale::Quick, &changes(None, &[set]));
        refused.err().unwrap().to_string()
    };
    let refused = with("record.measures=[]");
    assert!(
        refused.contains("experiment main") && refused.contains("train_loss"),
        "{refused}"
    );
    assert!(with("record.tests=[]").contains("iid"));
    assert!(with("model.width=17").contains("experiment three-states-more-heads"));
}

/// A full reproduction goes on with what is undecided, up to the most seeds of an experiment.
#[test]
fn batches_grow_until_their_parts_are_decided() {
    let set = [
        "train.steps=6",
        "train.batch=8",
        "task.length=12",
        "record.test_sequences=16",
    ];
    let only = ["C20".to_owned()];
    let mut planned =
        Reproduction::new(STUDIES[0], &only, Scale::Full, &changes(None, &set)).unwrap();
    let mut results = Results::new(&planned.experiments).unwrap();
    let mut sizes = Vec::new();
    loop {
        let missing = planned.missing(&results);
        for (index, range) in missing.into_iter().enumerate() {
            let experiment = &planned.experiments[index];
            let run = |number: u64| -> Run {
                let recipe = experiment.recipe(number);
                let instruments = Arc::new(Instruments::new(&recipe).unwrap());
                Recorder::record(&recipe, instruments).unwrap().into()
            };
            let runs: Vec<Run> = range.map(run).collect();
            results.add(index, runs).unwrap();
        }
        sizes.push(results.all()[0].runs.len());
        if !planned.extend(&results) {
            break;
        }
    }
    assert_eq!(sizes[0] as u64, LOOKS[0]);
    assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{sizes:?}");
    let decided = planned.decide(&results);
    // It stopped because its parts are decided, or because there are no more seeds.
    let most = planned.experiments[0].most;
    for part in &decided[0].parts {
        let open = part.verdict == Verdict::Undecided;
        assert!(!open || part.seeds as u64 == most, "{}", part.measure);
    }
    // No run leaves uniform predictions in six steps: no ratio, so every run counts as the worst.
    let slower = &decided[0].parts[2];
    assert!(slower.measure.starts_with("steps at which unigrams"));
    assert_eq!(
        (slower.missing, slower.verdict),
        (slower.seeds, Verdict::DoesNotHold)
    );
    assert!(planned.error() < 0.05);
}
