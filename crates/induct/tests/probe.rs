//! Probes: what they read from models whose answers are known.

use std::sync::Arc;

use induct::chain::{PriorSpec, Purpose, TaskPrior, address};
use induct::measure::{
    self, BuiltIn, Column, ENTROPY, INDUCTION, KL_TRUTH, KL_TRUTH_BY_POSITION, LOSS_BY_POSITION,
    NGRAM_MATCH, POSITIONAL_PROFILE, PREVIOUS_TOKEN, SAME_TOKEN, TEST_KL_TRUTH, matching,
    odd_even_score, positional_profile,
};
use induct::model::{Model, ModelSpec, TransformerSpec, TransformerStart, reference};
use induct::probe::{Draw, Instruments, Positions, TestSet, head_scores};
use induct::recipe::Recipe;
use induct::strategy::{self, Strategy};

use crate::interrupted;

fn test_set(states: usize, length: usize, count: u64) -> TestSet {
    let prior = TaskPrior::new(&PriorSpec::default(), states, 2).unwrap();
    let address = address(Purpose::Test, 3, 0);
    let bayes = strategy::named("bayes", &prior).unwrap();
    let asked: Vec<(Arc<dyn Strategy>, Positions)> = strategy::ladder(&prior)
        .into_iter()
        .map(|strategy| (strategy, Positions::All))
        .chain([(bayes, Positions::Last)])
        .collect();
    let draw = Draw {
        address,
        sequences: 0..count,
        length,
        thorough: count,
    };
    TestSet::draw(&prior, &draw, &asked).unwrap()
}

fn construction(states: usize, length: usize) -> Model {
    let spec = ModelSpec::Transformer(TransformerSpec {
        width: 3 * states,
        start: TransformerStart::Bigram {
            sharpness: 40.0,
            output_scale: 1.0,
        },
        ..TransformerSpec::default()
    });
    Model::new(&spec, states, length).unwrap()
}

#[test]
fn the_construction_is_an_induction_head_in_every_measure() {
    let (states, length) = (3, 30);
    let model = construction(states, length);
    let params = model.start(0);
    let set = test_set(states, length, 20);
    let (previous, induction) = (&PREVIOUS_TOKEN, &INDUCTION);
    let heads = head_scores(&model, &params, &set, &[previous, induction], 2).unwrap();
    let score = |layer: usize, measure: &BuiltIn| heads[layer][0].score(measure.name).unwrap();
    assert!(score(0, previous) > 0.999, "{heads:?}");
    // Position 0 looks like its own successor: where x₀ is the current symbol, a share goes there.
    assert!(score(1, induction) > 0.9, "{heads:?}");
    assert!(
        score(0, induction) < 0.6 && score(1, previous) < 0.3,
        "{heads:?}"
    );
    let profile = positional_profile(&model, &params).unwrap();
    assert!(profile[1] > 0.999 && (profile.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let matching = matching(&model, &params).unwrap();
    assert!((matching.gap - 40.0).abs() < 1e-4 && matching.dominance == Some(1.0));
}

/// The second layer copies what it finds; the first one passes it on without telling the output.
#[test]
fn the_construction_copies_in_its_second_layer() {
    let settings = "model.start = { kind = 'bigram', sharpness = 5.0, output_scale = 2.5 }\n\
                    record = { measures = ['copy_strength', 'embed.copy_strength'], test_sequences = 8 }";
    let recipe = Recipe::from_toml(settings, &[]).unwrap();
    let (instruments, model) = (Instruments::new(&recipe).unwrap(), recipe.model().unwrap());
    let row = instruments.measure(&model, &model.start(0), 0, None);
    let columns = instruments.columns().iter().map(Column::to_string);
    let mut columns = columns.zip(row);
    for (column, expected) in [
        ("layers.0.heads.0.copy_strength", 0.0),
        ("layers.1.heads.0.copy_strength", 2.5),
        ("embed.copy_strength", 0.0),
    ] {
        let found = columns.find(|(name, _)| name == column);
        assert_eq!(found, Some((column.to_owned(), expected)));
    }
}

#[test]
fn a_model_without_weights_is_the_uniform_strategy() {
    let (states, length) = (3, 12);
    let spec = ModelSpec::Transformer(TransformerSpec {
        init_std: 0.0.into(),
        ..TransformerSpec::default()
    });
    let model = Model::new(&spec, states, length).unwrap();
    let set = test_set(states, length, 21);
    let to_model = set.divergences(&model, &model.start(0)).unwrap();
    let of_truth = set.truth_divergences();
    let names: Vec<&str> = set.references().iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["oracle", "uniform", "unigram", "bigram", "bayes"]);
    // KL(truth ‖ model) is KL(truth ‖ uniform), in mean and in standard error.
    let (model_kl, uniform_kl) = (to_model[0].last.estimate(), of_truth[1].last.estimate());
    assert!((model_kl.mean - uniform_kl.mean).abs() < 1e-6);
    assert!((model_kl.se - uniform_kl.se).abs() < 1e-6);
    assert!(to_model[1].last.estimate().mean.abs() < 1e-6);
    assert!(of_truth[0].last.estimate().mean.abs() < 1e-6);
    assert!(to_model[4].all.is_none() && to_model[3].all.is_some());
}

#[test]
fn divergences_are_what_the_definition_says() {
    let (states, length, count) = (2, 9, 11);
    let model = Model::new(
        &ModelSpec::Transformer(TransformerSpec {
            init_std: 0.7.into(),
            ..TransformerSpec::default()
        }),
        states,
        length,
    )
    .unwrap();
    let params = model.start(4);
    let exact_params: Vec<f64> = params.iter().map(|&w| w.into()).collect();
    let set = test_set(states, length, count);
    let prior = TaskPrior::new(&PriorSpec::default(), states, 2).unwrap();
    let bigram = strategy::named("bigram", &prior).unwrap();
    let (mut last, mut all) = (0.0, 0.0);
    for tokens in set.sequences() {
        let logits = reference::logits(&model, &exact_params, &tokens[..length]);
        let predicted = bigram.distributions(&tokens).unwrap();
        for i in 0..length {
            let sum: f64 = logits.row(i).iter().map(|f| f.exp()).sum();
            let kl: f64 = (0..states)
                .map(|c| {
                    let p = predicted.row(i)[c];
                    p * (p / (logits[(i, c)].exp() / sum)).ln()
                })
                .sum();
            all += kl / (length as u64 * count) as f64;
            if i == length - 1 {
                last += kl / count as f64;
            }
        }
    }
    let measured = set.divergences(&model, &params).unwrap()[3];
    assert!((measured.last.estimate().mean - last).abs() < 1e-5);
    assert!((measured.all.unwrap().estimate().mean - all).abs() < 1e-5);
}

#[test]
fn every_kind_of_model_fills_one_number_per_column() {
    for overrides in [
        &["model.layers=1", "model.positions=absolute"][..],
        &["model={kind=\"minimal\"}"],
        &["model.heads=[4, 2]", "task.ngram=3", "task.states=3"],
        &["model.layer_norm=true", "model.mlp=true", "task.length=1"],
    ] {
        let small = ["record.test_sequences=9", "task.length=12"];
        let mut recipe = interrupted::recipe(&small, overrides);
        let names = measure::all().map(|measure| measure.name.to_owned());
        recipe.record.measures = names.collect();
        let model = recipe.model().unwrap();
        let instruments = Instruments::new(&recipe).unwrap();
        let row = instruments.measure(&model, &model.start(0), 0, None);
        assert_eq!(row.len(), instruments.columns().len(), "{overrides:?}");
        assert!(
            row.iter().all(|value| value.is_finite() || value.is_nan()),
            "{overrides:?}: {row:?}"
        );
    }
}

#[test]
fn the_minimal_model_s_profile_is_its_weights() {
    let recipe = Recipe::from_toml("", &["model={kind=\"minimal\"}".to_owned()]).unwrap();
    let model = recipe.model().unwrap();
    let mut params = model.start(0);
    let v = model.layout().tensor("v").unwrap().range.clone();
    for (lag, weight) in params[v].iter_mut().enumerate() {
        *weight = if lag % 2 == 1 { 0.3 } else { 0.1 };
    }
    let profile = positional_profile(&model, &params).unwrap();
    assert!((profile[1] - 0.3).abs() < 1e-7 && profile.len() == 100);
    assert!(odd_even_score(&profile).unwrap() > 0.5);
}

/// Every measure, on a model with several layers and heads, checked against a naive
/// count over attention patterns.
#[test]
fn measures_of_heads_are_what_their_patterns_say() {
    let all = [
        "previous_token",
        "induction",
        "same_token",
        "ngram_match",
        "entropy",
    ];
    let overrides = [
        "task.states=3".to_owned(),
        "task.ngram=3".to_owned(),
        "task.length=9".to_owned(),
        "model.layers=3".to_owned(),
        "model.heads=[1, 2, 4]".to_owned(),
        "model.width=8".to_owned(),
        "model.init_std=0.6".to_owned(),
        "record.test_sequences=11".to_owned(),
        format!("record.measures={all:?}"),
    ];
    let recipe = Recipe::from_toml("", &overrides).unwrap();
    let (model, instruments) = (recipe.model().unwrap(), Instruments::new(&recipe).unwrap());
    let params = model.start(1);
    let row = instruments.measure(&model, &params, 0, None);
    let measured = |column| {
        let index = instruments.columns().iter().position(|c| *c == column);
        row[index.expect("it was asked for")]
    };
    const HEADS: [(usize, usize); 7] = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)];
    // Sums and counts by measure, layer and head, sequence by sequence.
    let set = &instruments.sets()[0].1;
    let (mut sums, mut rows) = (vec![[0.0_f64; 5]; 7], [0.0_f64; 5]);
    for sequence in set.sequences() {
        let x = &sequence[..9];
        let seen = model.run(&params, x).unwrap();
        for (place, (layer, head)) in HEADS.into_iter().enumerate() {
            let pattern = seen.get(&format!("layers.{layer}.attn_pattern")).unwrap();
            for i in 1..x.len() {
                let hits: [Vec<usize>; 4] = [
                    vec![i - 1],
                    (1..=i).filter(|&j| x[j - 1] == x[i]).collect(),
                    (0..=i).filter(|&j| x[j] == x[i]).collect(),
                    (2..=i).filter(|&j| x[j - 2..j] == x[i - 1..=i]).collect(),
                ];
                let p = |j: usize| f64::from(pattern[[head, i, j]]);
                for (m, hits) in hits.iter().enumerate() {
                    sums[place][m] += hits.iter().map(|&j| p(j)).sum::<f64>();
                    rows[m] += f64::from(u8::from(place == 0 && !hits.is_empty()));
                }
                sums[place][4] -= (0..=i).map(|j| p(j) * p(j).max(1e-30).ln()).sum::<f64>();
                rows[4] += f64::from(u8::from(place == 0));
            }
        }
    }
    let measures = [
        &PREVIOUS_TOKEN,
        &INDUCTION,
        &SAME_TOKEN,
        &NGRAM_MATCH,
        &ENTROPY,
    ];
    for (place, (layer, head)) in HEADS.into_iter().enumerate() {
        for (m, measure) in measures.into_iter().enumerate() {
            let (found, expected) = (
                measured(measure.of_head(layer, head)),
                sums[place][m] / rows[m],
            );
            assert!(
                (found - expected).abs() < 1e-5,
                "{} {layer} {head}: {found}, {expected}",
                measure.name
            );
            assert!(measure.range[0] <= found && found <= measure.range[1]);
        }
    }
}

#[test]
fn curves_by_position_average_to_what_is_measured_at_all_positions() {
    let overrides = [
        "task.length=12",
        "record.test_sequences=40",
        "record.measures=[\"kl_truth_all\", \"kl_truth_by_position\", \"loss_by_position\", \
         \"positional_profile\"]",
        "record.tests=[{name=\"short\", length=5, prior=\"dirichlet\"}]",
    ]
    .map(String::from);
    let recipe = Recipe::from_toml("", &overrides).unwrap();
    let (model, instruments) = (recipe.model().unwrap(), Instruments::new(&recipe).unwrap());
    let params = model.start(0);
    let seen = instruments.observe(&model, &params, 0, None);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert_eq!(
        (seen.kl_by_position.len(), seen.loss_by_position.len()),
        (12, 12)
    );
    assert!((mean(&seen.kl_by_position) - seen.truth.all.unwrap()).abs() < 1e-6);
    // A model at its start knows nothing: the loss is ln 2 everywhere.
    assert!(
        seen.loss_by_position
            .iter()
            .all(|loss| (loss - 2.0_f64.ln()).abs() < 0.01)
    );
    let names: Vec<String> = instruments
        .columns()
        .iter()
        .map(ToString::to_string)
        .collect();
    for column in [
        KL_TRUTH_BY_POSITION.at(11),
        LOSS_BY_POSITION.at(0),
        POSITIONAL_PROFILE.at(11),
        (&KL_TRUTH).into(),
    ] {
        assert!(names.contains(&column.to_string()), "{column}");
    }
    assert!(!names.contains(&TEST_KL_TRUTH.of_test("short").to_string()));
    assert_eq!(seen.tests[0].0, "short");
}
