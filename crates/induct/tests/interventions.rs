//! Training under interventions, which are in force exactly when the recipe says.

use std::sync::atomic::{AtomicUsize, Ordering};

use induct::measure::KL_TRUTH;
use induct::model::{Intervention, Model};
use induct::probe::{History, Instruments};
use induct::recipe::{FromSpec, Recipe, WeightsSpec};
use induct::run::{Onsets, in_force, model_at};
use induct::train::{Trainer, no_snapshots};

use crate::events::SMALL;
use crate::interrupted::recorded;

const STEPS: u64 = 200;

fn parsed(interventions: &[&str]) -> Result<Recipe, String> {
    let intervene = format!("intervene=[{}]", interventions.join(", "));
    let overrides = SMALL.into_iter().chain([&*intervene]).map(String::from);
    Recipe::from_toml("", &overrides.collect::<Vec<_>>()).map_err(|error| error.to_string())
}

pub fn recipe(interventions: &[&str]) -> Recipe {
    parsed(interventions).unwrap()
}

/// One of every kind, from the start or later, for a while or for good, at steps and at an event.
pub const ALL_KINDS: [&str; 11] = [
    "{kind='ablate', at='layers.0.heads.0', to='logits', from=20, until=70}",
    "{kind='ablate', at='embed', to='layers.1.values', with='mean', from=30, until=40}",
    "{kind='ablate', at='layers.1', part='uniform', from=150, until=160}",
    "{kind='clamp', at='layers.0', pattern='previous-token', until={at='unigram', after=5}}",
    "{kind='clamp', at='layers.1', pattern={own=12}, from=170}",
    "{kind='patch', at='layers.1.heads.0', with='resample', from=100, until=104}",
    "{kind='stop-gradient', at='embed', to='layers.1.keys', from=50, until=90}",
    "{kind='freeze', group='unembed', from={at='unigram'}, until=140}",
    "{kind='rate', group='layers.1', lr=3e-3, from=10, until={at='unigram', after=7}}",
    "{kind='reset', group='layers.1.W_V', step={at='unigram', after=3}}",
    "{kind='transplant', group='embed', source={own=9}, fraction=0.5, step=60}",
];

/// The step at which the onset of unigram takes effect.
fn onset(recipe: &Recipe, history: &History) -> u64 {
    let shown = Onsets::shown(recipe, history);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0].0, "unigram");
    shown[0].1
}

/// KL(truth ‖ model) at every record.
fn losses(history: &History) -> Vec<f64> {
    history.column(&KL_TRUTH).unwrap()
}

#[test]
fn other_interventions_change_nothing_else_in_a_recipe() {
    let mut recipe = recipe(&ALL_KINDS);
    recipe.train.batch = 7;
    let other = recipe.with_interventions(&[ALL_KINDS[4].to_owned()]);
    recipe.intervene = parsed(&ALL_KINDS[4..5]).unwrap().intervene;
    assert_eq!(other, Ok(recipe.clone()));
    let refused = recipe.with_interventions(&[ALL_KINDS[7].to_owned()]);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.starts_with("intervene[0] changes how weights are trained"),
        "{refused}"
    );
}

#[test]
fn a_run_is_the_untouched_one_up_to_its_first_intervention() {
    let (plain, ..) = recorded(&recipe(&[]), 2);
    let clamped =
        recipe(&["{kind='clamp', at='layers.0', pattern='previous-token', from=60, until=120}"]);
    let (changed, ..) = recorded(&clamped, 2);
    let first = plain.steps().iter().position(|&step| step == 60).unwrap();
    let (plain, changed) = (losses(&plain), losses(&changed));
    assert_eq!(plain[..first], changed[..first]);
    // The record of its first step shows the model under it, with the same weights.
    assert_ne!(plain[first], changed[first]);
}

#[test]
fn an_intervention_that_an_event_ends_before_it_begins_changes_nothing() {
    // Nothing is ever nearest to bigram here, so it never begins; the other has ended before it would begin.
    let never = [
        "{kind='clamp', at='layers.0', pattern='uniform', from={at='bigram'}}",
        "{kind='freeze', group='embed', from=199, until={at='uniform'}}",
        "{kind='reset', group='layers.1', step={at='bigram', after=3}}",
    ];
    let (plain, _, weights) = recorded(&recipe(&[]), 2);
    let (waiting, _, same) = recorded(&recipe(&never), 2);
    assert_eq!(Onsets::shown(&recipe(&never), &waiting).len(), 1);
    assert_eq!((losses(&waiting), same), (losses(&plain), weights));
}

#[test]
fn disjoint_windows_are_accepted_and_overlaps_refused() {
    let clamp = |pattern: &str, when: &str| {
        format!("{{kind='clamp', at='layers.0', pattern='{pattern}'{when}}}")
    };
    let both = |one: &str, other: &str| {
        let (one, other) = (clamp("uniform", one), clamp("previous-token", other));
        parsed(&[&one, &other]).map(|_| ())
    };
    for (one, other) in [
        (", until=50", ", from=50"),
        (", from=50", ", until=50"),
        (", until=20", ", from=30, until=40"),
    ] {
        assert_eq!(both(one, other), Ok(()), "{one} and {other}");
    }
    for (one, other) in [
        ("", ""),
        (", until=51", ", from=50"),
        // An event may come at any time.
        (", from={at='unigram'}", ", until=50"),
    ] {
        let refused = both(one, other).unwrap_err();
        let said =
            "intervene[1].at = \"layers.0.heads.0.attn_pattern\" is not allowed: one intervention";
        assert!(refused.starts_with(said), "{refused}");
    }
    let rate = |lr: &str| format!("{{kind='rate', group='W_K', lr={lr}}}");
    let twice = parsed(&[&rate("1e-3"), "{kind='rate', group='layers.0', lr=1e-2}"]).unwrap_err();
    assert!(twice.contains("layers.0.W_K is also in \"W_K\""), "{twice}");
}

fn trained(interventions: &[&str], steps: u64) -> Trainer {
    let mut trainer = Trainer::new(&recipe(interventions)).unwrap();
    while trainer.step() < steps {
        trainer.advance().unwrap();
    }
    trainer
}

#[test]
fn a_reset_at_the_start_changes_nothing() {
    let reset = trained(&["{kind='reset', group='layers.1', step=0}"], 9);
    assert_eq!(reset.state(), trained(&[], 9).state());
}

#[test]
fn a_transplant_of_nothing_changes_the_optimiser_only() {
    let nothing = "{kind='transplant', group='layers.0.W_K', source={own=3}, fraction=0, step=9}";
    let (plain, changed) = (trained(&[], 9).state(), trained(&[nothing], 9).state());
    assert_eq!(plain.params, changed.params);
    let range = recipe(&[])
        .model()
        .unwrap()
        .layout()
        .tensor("layers.0.W_K")
        .unwrap()
        .range
        .clone();
    for (before, after) in plain.moments.iter().zip(&changed.moments) {
        for index in 0..before.len() {
            let kept = if range.contains(&index) {
                0.0
            } else {
                before[index]
            };
            assert_eq!(after[index], kept, "{index}");
        }
    }
    assert_ne!(trained(&[], 10).params(), trained(&[nothing], 10).params());
}

#[test]
fn a_whole_transplant_is_exactly_the_other_weights() {
    // 1 + (1e-20 − 1) is zero.
    let mut transplanted =
        recipe(&["{kind='transplant', group='embed', source={run='other', step=0, weights=''}}"]);
    let model = transplanted.model().unwrap();
    let weights = |value: f32| vec![value; model.layout().len()];
    let (own, other) = (weights(1.0), weights(1e-20));
    if let Some(WeightsSpec::Snapshot(from)) = transplanted.intervene[0].weights_mut() {
        from.weights = induct::internal::digest::weights(&other);
    }
    transplanted.from = Some(FromSpec {
        run: "own".into(),
        step: 0,
        weights: induct::internal::digest::weights(&own),
    });
    let find = |from: &FromSpec| {
        Ok(if from.run == "own" {
            own.clone()
        } else {
            other.clone()
        })
    };
    let trainer = Trainer::with_snapshots(&transplanted, &find).unwrap();
    let embed = model.layout().tensor("embed.E").unwrap().range.clone();
    for (index, &weight) in trainer.params().iter().enumerate() {
        assert_eq!(weight, if embed.contains(&index) { 1e-20 } else { 1.0 });
    }
}

/// What a model is under, at every step of a run that is trained step by step and told of onsets.
fn followed(recipe: &Recipe, onsets: &[(String, u64)]) -> Vec<Vec<Intervention>> {
    let mut trainer = Trainer::new(recipe).unwrap();
    let mut seen = Vec::new();
    for step in 0..=STEPS {
        for (strategy, onset) in onsets.iter().filter(|(_, onset)| *onset == step) {
            trainer.tell_onset(strategy, *onset);
        }
        seen.push(trainer.model().interventions().to_vec());
        if step < STEPS {
            trainer.advance().unwrap();
        }
    }
    seen
}

#[test]
fn the_model_of_a_step_is_the_one_that_was_trained_there() {
    let recipe = recipe(&ALL_KINDS);
    let (history, ..) = recorded(&recipe, 2);
    let onset = onset(&recipe, &history);
    let trained = followed(&recipe, &Onsets::shown(&recipe, &history));
    for step in [
        0,
        19,
        20,
        29,
        30,
        40,
        70,
        99,
        100,
        104,
        onset,
        onset + 4,
        onset + 5,
        155,
        170,
        200,
    ] {
        let model = model_at(&recipe, &history, step, &no_snapshots).unwrap();
        assert_eq!(model.interventions(), trained[step as usize], "step {step}");
    }
    // The clamp ends five steps after the onset takes effect, and the freeze begins with it.
    let names = |step| in_force(&recipe, &history, step);
    assert!(names(onset + 4).contains(&3) && !names(onset + 5).contains(&3));
    assert!(!names(onset - 1).contains(&7) && names(onset).contains(&7));
}

#[test]
fn the_records_of_a_run_are_of_the_model_of_their_step() {
    let recipe = recipe(&ALL_KINDS);
    let (history, _, snapshots) = recorded(&recipe, 2);
    let instruments = Instruments::new(&recipe).unwrap();
    let kl = |model: &Model, params: &[f32], step| {
        let row = instruments.measure(model, params, step, None);
        let columns = instruments.columns().iter();
        let at = columns
            .clone()
            .position(|column| *column == (&KL_TRUTH).into());
        row[at.unwrap()]
    };
    for (step, params) in snapshots {
        let at = history
            .steps()
            .iter()
            .position(|&other| other == step)
            .unwrap();
        let model = model_at(&recipe, &history, step, &no_snapshots).unwrap();
        assert_eq!(
            kl(&model, &params, step),
            losses(&history)[at],
            "step {step}"
        );
    }
}

#[test]
fn an_observed_step_is_the_same_step() {
    let mean = "{kind='ablate', at='layers.0.heads.0', with='mean'}";
    let mut observed = Trainer::new(&recipe(&[mean])).unwrap();
    let parts = AtomicUsize::new(0);
    for _ in 0..3 {
        let count = |_| {
            parts.fetch_add(1, Ordering::Relaxed);
        };
        observed.advance_observed(true, &count).unwrap();
    }
    assert_eq!(observed.params(), trained(&[mean], 3).params());
    assert!(parts.into_inner() >= 12);
}

#[test]
fn every_recipe_of_the_documentation_is_one() {
    let page = include_str!("../../../docs/interventions.md");
    let recipes: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(recipes.len() >= 8);
    for text in recipes {
        let text = text.split("```").next().unwrap();
        let recipe = Recipe::from_toml(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(recipe.intervene.len(), 1, "{text}");
    }
}
