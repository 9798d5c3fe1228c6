//! Runs of another program, with a prior, a strategy, a measure and an optimiser of its own: their files alone are
//! enough to look at them, and not enough to train or measure.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use induct::Custom;
use induct::block::Design;
use induct::chain::{Draft, Generator, Prior, open_interval};
use induct::measure::{Column, CustomMeasure, Measure, Observation, Scope};
use induct::model::{AttentionSpec, BlockSpec, MlpSpec, ModelSpec};
use induct::recipe::Recipe;
use induct::run::Progress;
use induct::strategy::Strategy;
use induct::train::{Optimizer, OptimizerSpec, Update, no_snapshots};
use induct_store::{How, Session};

use crate::program::{SMALL, Shell, has};

/// Chains that like to stay where they are.
#[derive(Debug)]
struct Sticky;

impl Prior for Sticky {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        for context in 0..table.contexts() {
            let stay = open_interval(rng, 0.5, 1.0);
            let row = table.row_mut(context);
            row.fill(1.0 - stay);
            row[context % 2] = stay;
        }
    }
}

/// The last symbol comes again, three times out of four.
#[derive(Debug)]
struct Again;

impl Strategy for Again {
    fn name(&self) -> String {
        "again".into()
    }

    fn states(&self) -> usize {
        2
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        out.fill(0.25);
        out[usize::from(tokens[tokens.len() - 1])] = 0.75;
    }
}

/// The number of a strategy; no value at the start.
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

    fn read(&self, seen: &Observation, _: &[Column], values: &mut [f64]) {
        if seen.step > 0 {
            (0..values.len()).for_each(|place| values[place] = place as f64);
        }
    }
}

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

/// A recipe with a part of each kind.
fn recipe() -> Recipe {
    let mut recipe = Recipe::from_toml("", &SMALL.map(String::from)).unwrap();
    recipe.task.prior = Custom::<dyn Prior>::new("sticky", Arc::new(Sticky)).into();
    let again = Custom::<dyn Strategy>::new("again", Arc::new(Again));
    recipe.record.custom_strategies = vec![again.with("share", 0.75)];
    recipe.record.custom_measures = vec![CustomMeasure::new(Rank, &[])];
    recipe.train.optimizer = OptimizerSpec::custom("sign-descent", SignDescent, &[]);
    recipe
}

/// What such a program does: trains until a step, from where an earlier session stopped.
fn train(path: &Path, until: u64) {
    let how = if path.exists() { How::Resume } else { How::New };
    let session = Session {
        recipe: &recipe(),
        path,
        how,
        instruments: None,
        snapshots: &no_snapshots,
        remark: &|_| {},
    };
    let mut stop_at = |progress: &Progress| match progress.step >= until {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    session.train(&mut stop_at).unwrap();
}

#[test]
fn a_run_with_parts_can_be_looked_at_by_every_command() {
    let shell = Shell::new();
    // Stopped in the middle, and then at its end: two sessions.
    for until in [25, 31] {
        train(&shell.path("run"), until);
        let story = shell.succeed("show run");
        has(
            &story,
            "again | rank.unigram: place of the strategy in the list",
        );
        let stopped = until == 25;
        let alone = "only the program that made it";
        assert_eq!(story.contains(alone), stopped, "{story}");
        assert!(!story.contains("--resume"), "{story}");
        let shown = shell.json("show run");
        assert_eq!(shown["final"]["rank.bigram"], 2.0);
        assert!(shown["final"]["kl_again"].is_number());
        let again = &shown["strategies"]["again"];
        assert!(again["kl_to_model"].as_f64().unwrap() > 0.0, "{again}");
        // How well it does is known only to those who have it.
        assert_eq!(again["kl_truth"].is_number(), !stopped, "{again}");
        // A browser has no part of another program either, and the user is told.
        shell.write("lab.html", "<!--runs--><!--end of runs-->");
        let (_, notes) = shell.output("lab run --out out.html");
        has(&notes, "cannot compute anew | task.prior.name = \"sticky\"");
    }
    shell.succeed("plot run --measure kl_again --out curves.svg");
    shell.succeed("compare run run");
    shell.succeed("attention run --tokens 0110");
}

#[test]
fn a_run_with_parts_can_be_neither_trained_nor_measured() {
    let shell = Shell::new();
    train(&shell.path("run"), 15);
    shell.refuses(
        "
        train run/recipe.toml --resume -> a part of this program
        eval run -> a part of this program
        predict run --tokens 0110 -> a part of this program
        sample run/recipe.toml -> a part of this program
        ",
    );
    // Without all the others, each part is missing.
    let parts = [
        ("task.prior=dirichlet", "task.prior.name = \"sticky\""),
        (
            "record.custom_strategies=[]",
            "record.custom_strategies[0].name = \"again\"",
        ),
        (
            "record.custom_measures=[]",
            "record.custom_measures[0].name = \"rank\"",
        ),
        (
            "train.optimizer=adamw",
            "train.optimizer.name = \"sign-descent\"",
        ),
    ];
    for (own, part) in parts {
        let others = parts.iter().filter(|(other, _)| *other != own);
        let sets: String = others.map(|(set, _)| format!(" --set {set}")).collect();
        shell.refuses(&format!("train run/recipe.toml --out out{sets} -> {part}"));
    }
}

/// The code of the block is that of an MLP: what matters is that no command has it.
#[test]
fn a_run_with_a_block_can_be_looked_at_without_its_code() {
    let shell = Shell::new();
    let block = Custom::<dyn Design>::new("mine", Arc::new(MlpSpec::default()));
    let mut recipe = Recipe::from_toml("", &SMALL.map(String::from)).unwrap();
    let ModelSpec::Transformer(spec) = &mut recipe.model else {
        panic!("the default is a transformer");
    };
    let attention = || BlockSpec::Attention(AttentionSpec::default());
    spec.blocks = vec![attention(), BlockSpec::Custom(block), attention()];
    induct_store::train(&recipe, &shell.path("run")).unwrap();
    has(&shell.succeed("show run"), "layers.1.heads.0");
    shell.succeed("plot run");
    shell.succeed("compare run run");
    shell.refuses(
        "
        predict run --tokens 0110 -> model.blocks[1].name = \"mine\"
        eval run -> a part of this program
        train run/recipe.toml --out again -> a part of this program
        ",
    );
}
