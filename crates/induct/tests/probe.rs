//! Probes: what they read from models whose answer is known.

use induct::chain::{Address, Prior, PriorSpec, Purpose};
use induct::model::{Model, ModelSpec, TransformerSpec, TransformerStart, twin};
use induct::probe::{
    Draw, Instruments, Positions, TestSet, head_scores, matching, odd_even_score,
    positional_profile,
};
use induct::strategy::Strategy;
use induct::train::Recipe;

fn test_set(states: usize, length: usize, count: u64) -> TestSet {
    let prior = Prior::new(&PriorSpec::default(), states, 2).unwrap();
    let address = Address {
        purpose: Purpose::Test,
        seed: 3,
        step: 0,
    };
    let asked: Vec<(Strategy, Positions)> = Strategy::reference(&prior)
        .into_iter()
        .map(|strategy| (strategy, Positions::All))
        .chain([(Strategy::bayes(&prior), Positions::Last)])
        .collect();
    let draw = Draw {
        address,
        sequences: 0..count,
        length,
        thorough: count,
    };
    TestSet::draw(&prior, &draw, &asked)
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
    let scores = head_scores(&model, &model.prepare(&params), set.blocks()).unwrap();
    assert!(scores.previous_token > 0.999, "{scores:?}");
    // Position 0 looks like its own follower: where x₀ is the current symbol, a share goes there.
    assert!(scores.induction.unwrap() > 0.9, "{scores:?}");
    let profile = positional_profile(&model, &params).unwrap();
    assert!(profile[1] > 0.999 && (profile.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let matching = matching(&model, &params).unwrap();
    assert!((matching.gap - 40.0).abs() < 1e-4 && matching.dominance == 1.0);
}

#[test]
fn a_model_without_weights_is_the_uniform_strategy() {
    let (states, length) = (3, 12);
    let spec = ModelSpec::Transformer(TransformerSpec {
        init_std: 0.0,
        ..TransformerSpec::default()
    });
    let model = Model::new(&spec, states, length).unwrap();
    let set = test_set(states, length, 21);
    let to_model = set.divergences(&model, &model.prepare(&model.start(0)));
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
            init_std: 0.7,
            ..TransformerSpec::default()
        }),
        states,
        length,
    )
    .unwrap();
    let params = model.start(4);
    let exact_params: Vec<f64> = params.iter().map(|&w| w.into()).collect();
    let set = test_set(states, length, count);
    let prior = Prior::new(&PriorSpec::default(), states, 2).unwrap();
    let bigram = &Strategy::reference(&prior)[2];
    assert_eq!(bigram.name(), "bigram");
    let (mut last, mut all) = (0.0, 0.0);
    for block in set.blocks() {
        for lane in 0..block.used() {
            let tokens = block.lane(lane);
            let logits = twin::logits(&model, &exact_params, &tokens[..length]);
            let mut predicted = vec![0.0; length * states];
            bigram.predict(
                &tokens,
                None,
                0..length,
                &mut Default::default(),
                &mut predicted,
            );
            for i in 0..length {
                let sum: f64 = logits.row(i).iter().map(|f| f.exp()).sum();
                let kl: f64 = (0..states)
                    .map(|c| {
                        let p = predicted[i * states + c];
                        p * (p / (logits[(i, c)].exp() / sum)).ln()
                    })
                    .sum();
                all += kl / (length as u64 * count) as f64;
                if i == length - 1 {
                    last += kl / count as f64;
                }
            }
        }
    }
    let measured = set.divergences(&model, &model.prepare(&params))[3];
    assert!((measured.last.estimate().mean - last).abs() < 1e-5);
    assert!((measured.all.unwrap().estimate().mean - all).abs() < 1e-5);
}

#[test]
fn measuring_gives_the_same_numbers_for_any_number_of_threads() {
    let overrides = ["task.length=10", "record.test_sequences=50"].map(String::from);
    let recipe = Recipe::from_toml("", &overrides).unwrap();
    let model = recipe.model().unwrap();
    let rows: Vec<_> = [1, 2, 5]
        .map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let instruments = Instruments::new(&recipe).unwrap();
                instruments.measure(&model, &model.start(0), 3, Some(0.5))
            })
        })
        .into();
    assert_eq!(rows[0], rows[1]);
    assert_eq!(rows[0], rows[2]);
}

#[test]
fn every_kind_of_model_fills_one_row_a_column() {
    for overrides in [
        &["model.layers=1", "model.positions=absolute"][..],
        &["model={kind=\"minimal\"}"],
        &["model.heads=[4, 2]", "task.ngram=3", "task.states=3"],
        &["model.layer_norm=true", "model.mlp=true", "task.length=1"],
    ] {
        let small = ["record.test_sequences=9", "task.length=12"];
        let all: Vec<String> = small
            .iter()
            .chain(overrides)
            .map(|s| (*s).to_owned())
            .collect();
        let recipe = Recipe::from_toml("", &all).unwrap();
        let model = recipe.model().unwrap();
        let instruments = Instruments::new(&recipe).unwrap();
        let row = instruments.measure(&model, &model.start(0), 0, None);
        assert_eq!(row.len(), instruments.columns().len(), "{overrides:?}");
        assert!(
            row.iter().flatten().all(|value| value.is_finite()),
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
