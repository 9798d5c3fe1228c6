//! Training: on exactly the addressed batches, by the reference's gradients.

use induct::chain::Law;
use induct::internal::{batch_address, batch_dropout_keys, dropout_keys};
use induct::measure::GRADIENT_NORM;
use induct::model::Matrix;
use induct::model::reference::{Reference, Sequence, tape::Tape};
use induct::recipe::{Labels, Recipe};
use induct::strategy::Scratch;
use induct::train::{AdamW, Decay, OptimizerSpec, TrainError, Trainer, samples};
use induct_kernels::loss::cross_entropy_of_laws_reference;

use crate::interrupted;

const MINIMAL: &str = "model={kind=\"minimal\", start={kind=\"constant\", w=0.02, v=0.02}}";

/// A small task, with a batch that does not fill its last block.
fn recipe(overrides: &[&str]) -> Recipe {
    let small = ["task.length=12", "train.batch=13", "train.steps=40"];
    interrupted::recipe(&small, overrides)
}

/// Weights and losses after `steps` steps over `threads` threads.
fn run(recipe: &Recipe, threads: usize, steps: u64) -> (Vec<f32>, Vec<f64>) {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| {
        let mut trainer = Trainer::new(recipe).unwrap();
        let losses = (0..steps).map(|_| trainer.advance().unwrap()).collect();
        (trainer.params().to_vec(), losses)
    })
}

/// The loss of a step is the reference's, on sequences and with masks that anyone can draw from the recipe.
#[test]
fn a_step_trains_on_its_addressed_batch_and_keys() {
    for overrides in [
        [
            "task.states=3",
            "train.curriculum=[{from=2, prior={kind=\"doubly-stochastic\"}}]",
        ],
        [
            "task.start=uniform",
            "model={layer_norm=true, mlp=true, heads=[2, 1], dropout=0.3, init_std=0.5}",
        ],
    ] {
        let recipe = recipe(&overrides);
        let mut trainer = Trainer::new(&recipe).unwrap();
        let stages = recipe.stages().unwrap();
        for step in 0..4 {
            let law = stages.at(step).chains().unwrap().law();
            let later = step >= 2 && !recipe.train.curriculum.is_empty();
            assert_eq!(matches!(law, Law::DoublyStochastic), later);
            let params: Vec<f64> = trainer.params().iter().map(|&w| w.into()).collect();
            let (expected, _) = reference_batch(&recipe, step, &params);
            let loss = trainer.advance().unwrap();
            assert!(
                (loss - expected).abs() < 1e-5,
                "step {step}: {loss}, not {expected}"
            );
        }
    }
}

#[test]
fn a_foreign_state_is_refused() {
    let state = Trainer::new(&recipe(&["model.width=4"])).unwrap().state();
    assert!(!Trainer::new(&recipe(&[])).unwrap().restore(state));
}

#[test]
fn training_lowers_the_loss_of_both_models_under_both_losses() {
    for overrides in [
        &["train.optimizer.lr=1e-2"][..],
        &[
            "train.optimizer.lr=1e-2",
            "train.loss={kind=\"margin\", delta=1.0}",
        ],
        &[MINIMAL, "train.optimizer={kind=\"sgd\", lr=0.03}"],
        &[
            MINIMAL,
            "train.optimizer={kind=\"sgd\", lr=0.01}",
            "train.loss={kind=\"margin\", delta=5.0}",
        ],
    ] {
        let recipe = recipe(overrides);
        let (_, losses) = run(&recipe, 2, 120);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let (early, late) = (mean(&losses[..10]), mean(&losses[100..]));
        assert!(late < early - 0.01, "{overrides:?}: {early} to {late}");
    }
}

#[test]
fn a_loss_that_is_no_number_stops_the_run_unchanged() {
    let recipe = recipe(&["train.optimizer={kind=\"sgd\", lr=1e30}"]);
    let mut trainer = Trainer::new(&recipe).unwrap();
    let diverged = loop {
        let before = (trainer.step(), trainer.params().to_vec());
        if let Err(diverged) = trainer.advance() {
            assert_eq!((trainer.step(), trainer.params().to_vec()), before);
            break diverged;
        }
    };
    let TrainError::Diverged(diverged) = diverged else {
        panic!("{diverged}")
    };
    assert!(!diverged.loss.is_finite());
    assert_eq!(diverged.step, trainer.step());
}

/// The loss of a step's batch by the f64 reference, one sequence at a time, and its gradient.
fn reference_batch(recipe: &Recipe, step: u64, params: &[f64]) -> (f64, Vec<f64>) {
    let (model, stages) = (recipe.model().unwrap(), recipe.stages().unwrap());
    let (length, k) = (recipe.task.length, recipe.task.states);
    let judged = recipe.train.positions.resolve(length).unwrap();
    let (from, rows) = (judged.start, judged.len());
    let scale = 1.0 / (recipe.train.batch * rows) as f64;
    let (mut loss, mut gradient) = (0.0, vec![0.0; params.len()]);
    for (index, sample) in (0..).zip(samples(recipe, &stages, step)) {
        let tokens = sample.unwrap().tokens;
        let (inputs, targets) = (&tokens[..length], &tokens[1..]);
        let keys = model
            .has_dropout()
            .then(|| dropout_keys(recipe, step, index));
        let (tape, sequence) = (Tape::default(), inputs.into());
        let batch_keys = keys.map(|_| batch_dropout_keys(recipe, step));
        let sequence = Sequence {
            keys,
            batch_keys,
            ..sequence
        };
        let reference = Reference::new(&tape, &model, params, sequence);
        let place = move |i: usize, c: usize| Some((from + i, c));
        let logits = reference.logits.take((rows, k), place);
        let sum = match recipe.train.labels {
            Labels::Token => recipe
                .train
                .loss
                .reference(logits, &targets[judged.clone()]),
            Labels::Law => {
                let laws = laws_of(recipe, step, index, &tokens);
                let laws = Matrix::from_fn(rows, k, |i, c| laws[(from + i) * k + c]);
                cross_entropy_of_laws_reference(logits, &laws)
            }
        };
        loss += scale * sum.number();
        gradient
            .iter_mut()
            .zip(reference.gradient(sum))
            .for_each(|(sum, part)| *sum += scale * part);
    }
    (loss, gradient)
}

/// The laws of a sequence's tokens, all but the first.
fn laws_of(recipe: &Recipe, step: u64, index: u64, tokens: &[u8]) -> Vec<f64> {
    let stages = recipe.stages().unwrap();
    let mut laws = vec![0.0; recipe.task.length * recipe.task.states];
    let (mut again, address) = (vec![0; tokens.len()], batch_address(recipe, step));
    let task = stages.at(step);
    task.sequence(
        address,
        index,
        &mut again,
        Some(&mut laws),
        &mut Scratch::default(),
    )
    .unwrap();
    assert_eq!(again, tokens);
    laws
}

/// A record has the norms of the gradient that gave the step before it, group by group.
#[test]
fn gradient_norms_are_the_reference_s() {
    for model in [
        "model.width=6",
        "model={heads=2, mlp=true, layer_norm=true}",
        MINIMAL,
    ] {
        let run = |every: &str| {
            let measured = "record.measures=[\"gradient_norm\"]";
            let quick = [
                "train.steps=6",
                "record.test_sequences=8",
                "record.tests=[]",
            ];
            let recipe = recipe(&[&[model, measured, every], &quick[..]].concat());
            induct::run::train(&recipe).unwrap()
        };
        let (each, some) = (run("record.every=1"), run("record.every=4"));
        let model = each.recipe.model().unwrap();
        let groups = model.layout().groups();
        for (step, weights) in &each.snapshots[..6] {
            let weights: Vec<f64> = weights.iter().map(|&w| w.into()).collect();
            let (_, gradient) = reference_batch(&each.recipe, *step, &weights);
            for group in &groups {
                let tensors = model.layout().in_group(group);
                let entries = tensors.flat_map(|tensor| &gradient[tensor.range.clone()]);
                let norm = entries.map(|g| g * g).sum::<f64>().sqrt();
                let found = each.history.column(GRADIENT_NORM.of_group(group)).unwrap();
                assert!(found[0].is_nan(), "before the first step there is none");
                let found = found[*step as usize + 1];
                assert!(
                    (found - norm).abs() < 1e-5 * norm + 1e-8,
                    "{group}: {found}, {norm}"
                );
            }
        }
        let mut rest = each.history.clone();
        rest.retain(|step| [0, 4, 6].contains(&step));
        assert_eq!(some.history, rest);
    }
}

/// A run by the f64 reference: the same batches, loss and AdamW, one sequence at a time.
fn reference_losses(recipe: &Recipe, steps: u64) -> Vec<f64> {
    let OptimizerSpec::Adamw(AdamW {
        lr,
        betas,
        epsilon,
        weight_decay,
        decay,
    }) = recipe.train.optimizer
    else {
        panic!("AdamW is the default");
    };
    let model = recipe.model().unwrap();
    let mut params: Vec<f64> = model
        .start(recipe.seeds.init)
        .iter()
        .map(|&w| w.into())
        .collect();
    let mut moments = vec![[0.0; 2]; params.len()];
    let step_of = |step: u64, params: &mut [f64]| {
        let (loss, mut gradient) = reference_batch(recipe, step, params);
        if let Some(clip) = recipe.train.clip {
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            gradient
                .iter_mut()
                .for_each(|g| *g *= (clip / norm).min(1.0));
        }
        let factor = recipe.train.schedule.factor(step, recipe.train.steps);
        let correction = betas.map(|beta| 1.0 - beta.powi(step as i32 + 1));
        for tensor in model.layout().tensors() {
            let decays = tensor.decays || decay == Decay::All;
            let decay = if decays { weight_decay } else { 0.0 };
            for index in tensor.range.clone() {
                let (g, moment) = (gradient[index], &mut moments[index]);
                moment[0] = betas[0] * moment[0] + (1.0 - betas[0]) * g;
                moment[1] = betas[1] * moment[1] + (1.0 - betas[1]) * g * g;
                let root = (moment[1] / correction[1]).sqrt() + epsilon;
                params[index] -=
                    lr * factor * (decay * params[index] + moment[0] / correction[0] / root);
            }
        }
        loss
    };
    let mut step_of = step_of;
    (0..steps).map(|step| step_of(step, &mut params)).collect()
}

/// A limit that no gradient reaches changes no bit, and one that all reach takes the size of the loss away.
#[test]
fn only_long_gradients_are_clipped() {
    let sgd = "train.optimizer={kind=\"sgd\", lr=0.1}";
    let weights = |limit: &[&str]| run(&recipe(&[&[sgd], limit].concat()), 2, 3).0;
    let plain = weights(&[]);
    assert_eq!(plain, weights(&["train.clip=1e9"]));
    let clipped = weights(&["train.clip=1e-4"]);
    let start = recipe(&[]).model().unwrap().start(0);
    let moved = |to: &[f32]| {
        let squares = to.iter().zip(&start).map(|(a, b)| f64::from(a - b).powi(2));
        squares.sum::<f64>().sqrt()
    };
    assert!(moved(&clipped) <= 3.01 * 0.1 * 1e-4, "{}", moved(&clipped));
    assert!(moved(&plain) > 10.0 * moved(&clipped));
}

#[test]
fn training_follows_the_reference() {
    for overrides in [
        vec!["model.width=6"],
        vec!["task.states=3", "model.heads=2", "model.width=12"],
        vec![
            "model.layers=1",
            "model.mlp=true",
            "model.positions=absolute",
            "model.width=4",
        ],
        vec![
            "train.optimizer.decay=all",
            "train.optimizer.weight_decay=3.0",
        ],
        vec!["model.width=6", "model.init_std=0.4", "train.clip=0.1"],
        vec!["model.width=6", "train.positions={from=3, until=8}"],
        vec![
            "model.mlp=true",
            "train.positions=last",
            "task.prior={kind=\"fixed\", table=[[0.1, 0.9], [0.8, 0.2]]}",
        ],
        vec!["task.states=3", "train.labels=law"],
        vec![
            "model.mlp=true",
            "train.labels=law",
            "train.positions={from=5}",
            "task.source=causal-graph",
        ],
        vec![
            "model={kind=\"minimal\", start={kind=\"constant\", w=0.02, v=0.02}}",
            "train.positions={until=7}",
        ],
    ] {
        let lively = ["train.steps=100", "train.optimizer.lr=1e-2"];
        let recipe = recipe(&[&overrides[..], &lively[..]].concat());
        let (_, fast) = run(&recipe, 2, 100);
        let exact = reference_losses(&recipe, 100);
        for (step, (fast, exact)) in fast.iter().zip(&exact).enumerate() {
            assert!(
                (fast / exact - 1.0).abs() < 1e-3,
                "{overrides:?} step {step}: {fast}, reference {exact}"
            );
        }
        assert!(exact[99] < exact[0] - 0.01, "{overrides:?} learned nothing");
    }
}
