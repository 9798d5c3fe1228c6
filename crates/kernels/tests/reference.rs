//! Checks the fast path against its f64 reference, and the reference against finite differences.

use std::ops::Range;

use induct_kernels::lanes::{LANES, Lane};
use induct_kernels::loss::Loss;
use induct_kernels::model::dropout::DropoutKeys;
use induct_kernels::model::reference::{self, Reference, Sequence, tape::Tape};
use induct_kernels::model::{Matrix, Model, ModelSpec};
use induct_kernels::random::{Address, Purpose, open_unit};
use induct_kernels::tokens::TokenBlock;

use crate::{
    architectures, begins_in_coordinates, in_coordinates, logits, paths, spec, tokens, weights,
};

const LOSSES: [Loss; 2] = [Loss::CrossEntropy {}, Loss::Margin { delta: 0.7 }];

/// The reference on one lane's sequence, with dropout, and with what interventions held, if that is given.
fn on_lane<R>(
    (model, params): (&Model, &[f64]),
    (block, lane): (&TokenBlock, usize),
    held: &[Option<Matrix>],
    read: impl FnOnce(&Reference, &[u8]) -> R,
) -> R {
    let (used, length) = (block.used(), model.length());
    let all: Vec<Vec<u8>> = (0..used)
        .map(|next| block.lane((lane + next) % used))
        .collect();
    let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    let inputs: Vec<&[u8]> = all.iter().map(|sequence| &sequence[..length]).collect();
    let sequence = Sequence {
        tokens: inputs[0],
        keys: Some(keys_of(lane)),
        batch_keys: Some(BATCH_KEYS),
        others: &inputs[1..],
    };
    let tape = Tape::default();
    let reference = Reference::holding(&tape, model, params, sequence, held);
    read(&reference, &all[0][1..])
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(x, y)| (x - y).powi(2));
    squares.sum::<f64>().sqrt()
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn reference_gradients_match_finite_differences() {
    let (states, length) = (3, 7);
    let block = tokens(states, length, LANES);
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        for loss in LOSSES {
            assert_reference_matches_differences(&name, &model, &block, loss);
        }
    }
}

/// The reference's gradient of one sequence, within 10⁻⁶ of differences of its loss: for every tensor, along random
/// directions, in which all of its entries move.
pub(super) fn assert_reference_matches_differences(
    name: &str,
    model: &Model,
    block: &TokenBlock,
    loss: Loss,
) {
    const DIRECTIONS: u64 = 2;
    let (at, params) = ((block, 2), weights(model, 1.0));
    // Steps must not cross the kink of a ReLU, or of the margin: squares of the embedding move logits further.
    let kinks = ["relu", "tied"].iter().any(|kink| name.contains(kink));
    let h = if kinks { 1e-5 } else { 1e-3 };
    let (gradient, held) = on_lane((model, &params), at, &[], |reference, targets| {
        let gradient = reference.gradient(loss.reference(reference.logits, targets));
        (gradient, reference.held())
    });
    let address = Address {
        purpose: Purpose::Init,
        seed: 6,
        step: 0,
    };
    for tensor in model.layout().tensors() {
        let range = tensor.range.clone();
        let exact = &gradient[range.clone()];
        for index in 0..DIRECTIONS {
            let mut rng = address.generator(index);
            let direction: Vec<f64> = exact.iter().map(|_| open_unit(&mut rng) - 0.5).collect();
            let size = norm(&direction);
            let loss_at = |steps: f64| {
                let mut moved = params.clone();
                for (w, u) in moved[range.clone()].iter_mut().zip(&direction) {
                    *w += steps * h * u / size;
                }
                on_lane((model, &moved), at, &held, |reference, targets| {
                    loss.reference(reference.logits, targets).number()
                })
            };
            // Fourth order: (8 (f₊₁ − f₋₁) − (f₊₂ − f₋₂)) / 12h.
            let measured = (8.0 * (loss_at(1.0) - loss_at(-1.0)) - (loss_at(2.0) - loss_at(-2.0)))
                / (12.0 * h);
            let expected: f64 = exact
                .iter()
                .zip(&direction)
                .map(|(g, u)| g * u / size)
                .sum();
            let error = (measured - expected).abs();
            assert!(
                error < 1e-6 * norm(exact).max(1e-3),
                "{name} {loss:?} {}: off by {error:e} of {expected:e}",
                tensor.name,
            );
        }
    }
}

/// The keys of the batch.
const BATCH_KEYS: [u32; 2] = [0x1234_5678, 0x9abc_def0];

/// The keys of a lane's sequence, for models with dropout.
fn keys_of(lane: usize) -> [u32; 2] {
    [0x9e37_79b9, 0x85eb_ca6b].map(|key: u32| key.wrapping_mul(2 * lane as u32 + 1))
}

/// Loss and gradient of the first `used` lanes by the fast path, with dropout if the model has any.
fn fast(model: &Model, params: &[f64], block: &TokenBlock, loss: Loss) -> (f64, Vec<f64>) {
    let keys = DropoutKeys::new(BATCH_KEYS, block.used(), keys_of);
    let keys = model.has_dropout().then_some(&keys);
    let params: Vec<f32> = params.iter().map(|&w| w as f32).collect();
    let rows = block.rows();
    let (inputs, targets) = (&rows[..rows.len() - 1], &rows[1..]);
    let mut evaluator = model.in_training(&params);
    evaluator.see_batch(std::slice::from_ref(block), inputs.len());
    let mut summed = vec![0.0; model.gradient_len()];
    let mut total = 0.0;
    let mut evaluate = |rows: Range<usize>, logits: &[Lane], d_logits: &mut [Lane]| {
        total += loss.evaluate(
            model.level(),
            logits,
            &targets[rows],
            block.used(),
            1.0,
            d_logits,
        );
    };
    evaluator.gradient((inputs, keys), &mut evaluate, &mut summed);
    let mut grads = vec![0.0; params.len()];
    evaluator.pull_back(&params, &summed, &mut grads);
    (total, grads.iter().map(|&g| g.into()).collect())
}

#[test]
fn coordinates_are_used_where_they_pay() {
    for (settings, states, pays) in [
        ("", 2, true),
        ("heads = 4", 2, true),
        ("", 50, false),
        ("layer_norm = true", 2, true),
        ("mlp = true", 2, false),
        ("positions = 'absolute'", 2, false),
    ] {
        let model = Model::new(&spec(settings), states, 9).unwrap();
        assert_eq!(in_coordinates(&model), pays, "{settings}");
    }
}

fn assert_fast_matches_reference(
    name: &str,
    spec: &ModelSpec,
    sizes: (usize, usize, usize),
    scale: f64,
) {
    let (states, length, used) = sizes;
    let model = Model::new(spec, states, length).unwrap();
    let name = format!("{name} (k, t, used) = {sizes:?}, weights up to {scale}");
    let params = weights(&model, scale);
    assert_matches_reference(&name, &model, &params, &tokens(states, length, used));
}

/// Every path, under both losses: loss and each group's gradient within 10⁻⁴ of the reference's.
pub(super) fn assert_matches_reference(
    name: &str,
    model: &Model,
    params: &[f64],
    block: &TokenBlock,
) {
    let params: Vec<f64> = params.iter().map(|&w| f64::from(w as f32)).collect();
    let exact = reference_of_block(model, &params, block);
    for path in paths(model) {
        for (loss, (exact_total, exact)) in LOSSES.iter().zip(&exact) {
            let (total, gradient) = fast(&path, &params, block, *loss);
            let context = format!("{name} {loss:?}");
            assert!(
                (total - exact_total).abs() < 1e-4 * exact_total.abs().max(1e-3),
                "{context}: loss {total}, reference {exact_total}"
            );
            // Some groups have almost no gradient (W_Q when t = 1 or attention is saturated). It is a difference
            // of large numbers, so it is checked against one percent of the whole gradient instead.
            let floor = 1e-2 * norm(exact);
            for tensor in model.layout().tensors() {
                let range = tensor.range.clone();
                let error = distance(&gradient[range.clone()], &exact[range.clone()]);
                assert!(
                    error <= 1e-4 * norm(&exact[range]).max(floor),
                    "{context} {}: off by {error:e} of {:e}, whole {:e}",
                    tensor.name,
                    norm(&exact[tensor.range.clone()]),
                    norm(exact)
                );
            }
        }
    }
}

/// The losses of a block, each with its gradient, by the reference.
fn reference_of_block(model: &Model, params: &[f64], block: &TokenBlock) -> [(f64, Vec<f64>); 2] {
    let mut sums = LOSSES.map(|_| (0.0, vec![0.0; params.len()]));
    for lane in 0..block.used() {
        on_lane((model, params), (block, lane), &[], |reference, targets| {
            for (loss, (total, gradient)) in LOSSES.iter().zip(&mut sums) {
                let own = loss.reference(reference.logits, targets);
                *total += own.number();
                let sums = gradient.iter_mut().zip(reference.gradient(own));
                sums.for_each(|(sum, part)| *sum += part);
            }
        });
    }
    sums
}

#[test]
fn the_fast_path_matches_the_reference() {
    for (name, spec) in architectures() {
        for sizes in [(2, 1, 8), (3, 2, 3), (2, 7, 8), (10, 8, 8), (3, 9, 5)] {
            assert_fast_matches_reference(&name, &spec, sizes, 0.5);
        }
        assert_fast_matches_reference(&name, &spec, (2, 12, 7), 0.02);
    }
}

#[test]
fn the_fast_path_matches_the_reference_at_large_weights() {
    for positions in ["relative-key", "relative-query", "absolute"] {
        let spec = spec(&format!("width = 4, positions = '{positions}'"));
        assert_fast_matches_reference("sharp", &spec, (3, 9, 8), 2.0);
    }
}

/// Scores that strongly favour an absent symbol: shares of absent symbols must not overflow.
#[test]
fn symbols_that_are_not_in_the_context_do_no_harm() {
    let (states, length, width) = (3, 8, 8);
    let block = TokenBlock::from_sequences(&[&[2; 9], &[2, 2, 1, 2, 2, 0, 2, 2, 2]]);
    let strengths = [5.0, 30.0, 60.0, 126.0, 180.0, 400.0];
    let positions = ["relative-key", "relative-query"];
    for (strength, positions) in strengths
        .into_iter()
        .flat_map(|strength| positions.map(|positions| (strength, positions)))
    {
        let spec = spec(&format!(
            "layers = 1, width = {width}, positions = '{positions}'"
        ));
        let model = Model::new(&spec, states, length).unwrap();
        // E₀ = e₀, E₁ = e₀ + e₁, E₂ = e₀ − e₁; queries read e₀, keys read e₁.
        let mut params = weights(&model, 0.01);
        let place = |name: &str| model.layout().tensor(name).unwrap().range.start;
        let (e, q, k) = (
            place("embed.E"),
            place("layers.0.W_Q"),
            place("layers.0.W_K"),
        );
        for (index, value) in [
            (0, 1.0),
            (width, 1.0),
            (width + 1, 1.0),
            (2 * width, 1.0),
            (2 * width + 1, -1.0),
        ] {
            params[e + index] = value;
        }
        params[q] = strength;
        params[k + width] = 1.0;
        assert_matches_reference("absent symbols", &model, &params, &block);
    }
}

/// Sizes that fill several groups of rows, blocks of keys and tiles, and leave a remainder.
#[test]
fn the_fast_path_matches_the_reference_at_larger_sizes() {
    for positions in ["relative-key", "relative-query", "none"] {
        for (settings, states, length) in [
            ("width = 16", 2, 41),
            ("heads = 3, width = 24", 2, 40),
            ("width = 32", 10, 37),
            ("heads = 8, width = 40", 2, 40),
            ("layers = 3, width = 24", 3, 35),
        ] {
            let name = format!("positions = '{positions}', {settings}");
            let spec = spec(&name);
            assert!(in_coordinates(&Model::new(&spec, states, length).unwrap()));
            assert_fast_matches_reference(&name, &spec, (states, length, LANES), 0.4);
        }
    }
}

/// Layer norm in coordinates: one to three layers, few coordinates and many, several heads, one position and
/// long contexts, small weights (where ε matters) and large ones (where scores are not bounded).
#[test]
fn layer_norm_in_coordinates_matches_the_reference() {
    for positions in ["relative-key", "relative-query", "none"] {
        for (settings, states, length) in [
            ("layers = 1, width = 16", 2, 1),
            ("layers = 1, heads = 2, width = 8", 4, 33),
            ("width = 16", 2, 41),
            ("width = 16", 3, 24),
            ("heads = [2, 3], width = 24", 2, 19),
            ("width = 20", 6, 17),
            ("layers = 3, width = 24", 3, 35),
        ] {
            let name = format!("layer_norm = true, positions = '{positions}', {settings}");
            let spec = spec(&name);
            assert!(in_coordinates(&Model::new(&spec, states, length).unwrap()));
            for scale in [0.02, 1.0] {
                assert_fast_matches_reference(&name, &spec, (states, length, LANES), scale);
            }
        }
    }
}

/// Layers of the stream, with coordinates below the first MLP or none: sizes that fill several groups and tiles,
/// and leave a remainder.
#[test]
fn layers_of_the_stream_match_the_reference() {
    for positions in ["absolute", "relative-key", "relative-query", "none"] {
        // Whether an MLP leaves coordinates below it, where positions are not absolute.
        for (settings, below, sizes) in [
            ("layers = 1, mlp = true", true, (3, 19, 5)),
            ("layers = 1, heads = 2", false, (10, 17, LANES)),
            ("heads = 2, mlp = true", true, (4, 18, LANES)),
            ("heads = 2, mlp = true", false, (10, 17, LANES)),
            (
                "mlp = true, activation = 'relu', output_projection = 'always'",
                true,
                (2, 41, LANES),
            ),
            ("mlp = true, layer_norm = true", true, (2, 41, LANES)),
        ] {
            let name = format!("width = 12, positions = '{positions}', {settings}");
            let spec = spec(&name);
            if name.contains("mlp") {
                let model = Model::new(&spec, sizes.0, sizes.1).unwrap();
                let begins = below && positions != "absolute";
                assert_eq!(begins_in_coordinates(&model), begins, "{name}");
            }
            assert_fast_matches_reference(&name, &spec, sizes, 0.4);
        }
    }
}

/// Dropout at sizes that fill several groups, blocks and tiles, and leave a remainder: every kind of place,
/// with and without what surrounds it.
#[test]
fn dropout_matches_the_reference_at_larger_sizes() {
    for settings in [
        "positions = 'relative-query', width = 16, layer_norm = true, dropout = 0.1",
        "positions = 'relative-query', heads = 2, width = 12, mlp = true, layer_norm = true, dropout = 0.4",
        "layers = 3, heads = 3, width = 15, dropout = 0.25",
        "positions = 'absolute', heads = 2, width = 12, mlp = true, dropout = 0.1",
        "positions = 'absolute', layers = 1, width = 8, dropout = { attention = 0.9 }",
        "positions = 'none', heads = 4, width = 8, mlp = true, layer_norm = true, \
         dropout = { embedding = 0.5, attention = 0.01, residual = 0.05 }",
    ] {
        let spec = spec(&format!("output_projection = 'always', {settings}"));
        for sizes in [(2, 41, LANES), (3, 34, 5)] {
            let model = Model::new(&spec, sizes.0, sizes.1).unwrap();
            assert!(!in_coordinates(&model) && !begins_in_coordinates(&model));
            assert_fast_matches_reference(settings, &spec, sizes, 0.4);
        }
    }
}

/// A model that is measured drops nothing.
#[test]
fn dropout_is_for_training_only() {
    let (states, length) = (3, 20);
    let [with, without] = [0.5, 0.0].map(|dropout| {
        let settings = "positions = 'relative-query', mlp = true, layer_norm = true";
        let spec = spec(&format!("{settings}, dropout = {dropout:?}"));
        Model::new(&spec, states, length).unwrap()
    });
    let (params, block) = (weights(&with, 0.5), tokens(states, length, LANES));
    let single: Vec<f32> = params.iter().map(|&w| w as f32).collect();
    let (loss, _) = fast(&with, &params, &block, Loss::CrossEntropy {});
    let (plain_loss, _) = fast(&without, &params, &block, Loss::CrossEntropy {});
    assert!((loss - plain_loss).abs() > 1e-2, "{loss} {plain_loss}");
    // After a gradient with masks, in the same buffers.
    let training = with.in_training(&single);
    let mut grads = vec![0.0; with.gradient_len()];
    let keys = DropoutKeys::new(BATCH_KEYS, LANES, keys_of);
    training.gradient(
        (&block.rows()[..length], Some(&keys)),
        &mut |_, _, _| {},
        &mut grads,
    );
    let logits_of = |evaluator: &induct_kernels::model::Evaluator| {
        evaluator
            .logits(&block.lane(3)[..length])
            .unwrap()
            .into_data()
    };
    assert_eq!(
        logits_of(&training),
        logits_of(&without.in_residual_stream().at(&single))
    );
    assert_eq!(
        logits_of(&with.at(&single)),
        logits_of(&without.at(&single))
    );
}

/// Layers in coordinates below others in the stream, without an MLP: one, where the second would have too many
/// coordinates, or two of three. Heads are as small as two numbers.
#[test]
fn layers_below_the_stream_match_the_reference() {
    for positions in ["relative-key", "relative-query"] {
        for (settings, states, above) in [
            ("heads = 8, width = 16", 2, 1),
            ("heads = 8, width = 16, layer_norm = true", 2, 1),
            ("layers = 3, heads = 2, width = 12", 3, 2),
            ("layers = 3, heads = 2, width = 12, layer_norm = true", 3, 2),
        ] {
            let name = format!("positions = '{positions}', {settings}");
            let spec = spec(&name);
            for (length, used) in [(1, LANES), (37, 5)] {
                let model = Model::new(&spec, states, length).unwrap();
                assert!(!in_coordinates(&model));
                assert_eq!(model.choice().layers.len(), above);
                assert_fast_matches_reference(&name, &spec, (states, length, used), 0.4);
            }
        }
    }
}

/// The construction's scores are a thousand apart, its contexts long, its symbols many: nothing may overflow.
#[test]
fn sharp_attention_stays_finite_and_exact() {
    for (states, length) in [(2, 600), (50, 100)] {
        let start = "start = { kind = 'bigram', sharpness = 1000.0 }";
        let spec = spec(&format!("width = {}, {start}", 3 * states));
        let model = Model::new(&spec, states, length).unwrap();
        let single = model.start(0);
        let params: Vec<f64> = single.iter().map(|&w| w.into()).collect();
        let block = tokens(states, length, LANES);
        let exact = reference::logits(&model, &params, &block.lane(5)[..length]);
        for model in paths(&model) {
            let found = logits(&model, &single, &block.rows()[..length], 5);
            for (logit, exact) in found.iter().zip(&exact.data) {
                assert!((f64::from(*logit) - exact).abs() < 1e-4);
            }
            let (loss, gradient) = fast(&model, &params, &block, Loss::CrossEntropy {});
            assert!(loss.is_finite() && gradient.iter().all(|g| g.is_finite()));
        }
    }
}

/// Computing the last position alone gives what the whole forward gives there.
#[test]
fn the_last_position_alone_is_the_same() {
    let (states, length) = (3, 19);
    let block = tokens(states, length, LANES);
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let params: Vec<f32> = weights(&model, 1.0).iter().map(|&w| w as f32).collect();
        let evaluator = model.evaluator(&params).unwrap();
        for rows in [1, 2, 18, 19] {
            let sequences: Vec<Vec<u8>> = (0..LANES).map(|lane| block.lane(lane)).collect();
            let sequences: Vec<&[u8]> = sequences.iter().map(|tokens| &tokens[..rows]).collect();
            let last = evaluator.last_logits(&sequences).unwrap();
            for lane in 0..LANES {
                let whole = logits(&model, &params, &block.rows()[..rows], lane);
                assert_eq!(last.row(&[lane]), &whole[(rows - 1) * states..], "{name}");
            }
        }
    }
}
