//! Runs trained by another program, with its own measures and optimiser.

use std::path::Path;

use induct::measure::{AttentionOn, Column, Context, CustomMeasure, Measure, Observation, Scope};
use induct::train::{Optimizer, OptimizerSpec, Recipe, Update};
use tempfile::TempDir;

use crate::custom::train_until;
use crate::program::{SMALL, fail, json, succeed};

#[derive(Debug)]
struct SignDescent;

impl Optimizer for SignDescent {
    fn lr(&self) -> f64 {
        1e-3
    }

    fn update(&self, update: &Update, grads: &[f32], _: &mut [&mut [f32]], params: &mut [f32]) {
        for (w, g) in params.iter_mut().zip(grads) {
            *w -= update.lr as f32 * g.signum();
        }
    }
}

/// The number of a strategy.
#[derive(Debug)]
struct Rank;

impl Measure for Rank {
    fn name(&self) -> &str {
        "rank"
    }

    fn meaning(&self) -> &str {
        "place of the strategy in the list"
    }

    fn scope(&self) -> Scope {
        Scope::Strategy
    }

    fn read(&self, _: &Observation, _: &[Column], values: &mut [f64]) {
        (0..values.len()).for_each(|place| values[place] = place as f64);
    }
}

/// Trains with parts of this program in a folder.
fn train(path: &Path, stop_at: u64) {
    let mut recipe = Recipe::from_toml("", &SMALL.map(String::from)).unwrap();
    recipe.train.optimizer = OptimizerSpec::custom("sign-descent", SignDescent, &[]);
    let two_back = AttentionOn {
        name: "two_back".into(),
        meaning: "mean attention two positions back".into(),
        pattern: |context: &Context, j: usize| j + 2 == context.position(),
    };
    recipe.record.custom_measures = vec![
        CustomMeasure::new(Rank, &[]),
        CustomMeasure::new(two_back, &[]),
    ];
    train_until(path, &recipe, stop_at);
}

#[test]
fn a_run_of_another_program_can_be_shown_and_not_trained() {
    let folder = TempDir::new().unwrap();
    for (name, stop_at) in [("ended", 100), ("stopped", 25)] {
        let path = folder.path().join(name);
        train(&path, stop_at);
        let path = path.to_str().unwrap();
        let story = succeed(&["show", path]);
        for part in [
            "two_back",
            "rank.unigram: place of the strategy in the list",
            "layers.1.heads.0",
        ] {
            assert!(story.contains(part), "{part}: {story}");
        }
        let shown = json(&["show", path, "--json"]);
        assert_eq!(shown["final"]["rank.bigram"], 2.0);
        assert!(shown["final"]["layers.0.heads.0.two_back"].is_f64());
        succeed(&["predict", path, "--tokens", "0,1,1"]);
    }
    let (stopped, out) = (folder.path().join("stopped"), folder.path().join("again"));
    let recipe = stopped.join("recipe.toml");
    let (recipe, stopped) = (recipe.to_str().unwrap(), stopped.to_str().unwrap());
    let out = out.to_str().unwrap();
    for arguments in [
        &["train", recipe, "--out", stopped, "--resume"][..],
        &["train", recipe, "--out", out],
    ] {
        let message = fail(2, arguments);
        assert!(
            message.contains("record.custom_measures[0].name = \"rank\""),
            "{message}"
        );
    }
    let alone = ["--set", "record.custom_measures=[]"];
    let message = fail(2, &[&["train", recipe, "--out", out], &alone[..]].concat());
    assert!(
        message.contains("train.optimizer.name = \"sign-descent\""),
        "{message}"
    );
    assert!(!Path::new(out).exists());
}
