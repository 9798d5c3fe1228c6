//! Checks named activations against the reference, and against each other.

use induct_kernels::lanes::LANES;
use induct_kernels::model::{InputError, Kind, Model, ModelSpec, reference};

use crate::{architectures, tokens, weights};

fn close(a: f32, b: f64) -> bool {
    (f64::from(a) - b).abs() < 1e-4 * b.abs().max(1.0)
}

#[test]
fn activations_are_what_the_reference_computes() {
    let (states, length) = (3, 8);
    let block = tokens(states, length, LANES);
    let sequence = &block.lane(3)[..length];
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let params = weights(&model, 1.0);
        let single: Vec<f32> = params.iter().map(|&w| w as f32).collect();
        let seen = model.run(&single, sequence).unwrap();
        let exact = reference::logits(&model, &params, sequence);
        let logits = seen.get("logits").unwrap();
        assert_eq!(logits.shape(), [length, states]);
        for (logit, exact) in logits.data().iter().zip(&exact.data) {
            assert!(close(*logit, *exact), "{name}: {logit} {exact}");
        }
        for (l, heads) in reference::attention(&model, &params, sequence)
            .iter()
            .enumerate()
            .filter(|(_, heads)| !heads.is_empty())
        {
            let pattern = seen.get(&format!("layers.{l}.attn_pattern")).unwrap();
            let scores = seen.get(&format!("layers.{l}.attn_scores")).unwrap();
            assert_eq!(pattern.shape(), [heads.len(), length, length]);
            for (h, [exact_scores, exact]) in heads.iter().enumerate() {
                for (i, j) in (0..length).flat_map(|i| (0..length).map(move |j| (i, j))) {
                    if j > i {
                        assert_eq!(pattern[[h, i, j]], 0.0);
                        assert_eq!(scores[[h, i, j]], f32::NEG_INFINITY);
                    } else {
                        assert!(close(pattern[[h, i, j]], exact[(i, j)]), "{name}");
                        assert!(close(scores[[h, i, j]], exact_scores[(i, j)]), "{name}");
                    }
                }
            }
        }
    }
}

/// What enters a layer, plus what its blocks add, is what leaves it.
#[test]
fn the_stream_is_the_sum_of_what_was_added_to_it() {
    let (states, length) = (3, 8);
    let block = tokens(states, length, LANES);
    let sequence = &block.lane(0)[..length];
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let Kind::Transformer(shape) = model.kind() else {
            continue;
        };
        let single: Vec<f32> = weights(&model, 1.0).iter().map(|&w| w as f32).collect();
        let seen = model.run(&single, sequence).unwrap();
        assert_eq!(seen.get("embed"), seen.get("layers.0.resid_pre"));
        for l in 0..shape.layer_count() {
            let get = |part: &str| seen.get(&format!("layers.{l}.{part}"));
            let mut sum = get("resid_pre").unwrap().data().to_vec();
            let size = sum.len();
            for slot in &shape.slots[shape.layers[l].slots.clone()] {
                let written = seen.get(&slot.output_name()).unwrap();
                for part in written.data().chunks_exact(size) {
                    sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
                }
            }
            for (sum, after) in sum.iter().zip(get("resid_post").unwrap().data()) {
                assert!(close(*sum, f64::from(*after)), "{name} layer {l}");
            }
            if l > 0 {
                let below = format!("layers.{}.resid_post", l - 1);
                assert_eq!(seen.get(&below), get("resid_pre"));
            }
        }
    }
}

#[test]
fn the_minimal_model_s_activations_make_its_logits() {
    let (states, length) = (3, 8);
    let sequence = &tokens(states, length, LANES).lane(5)[..length];
    for (name, spec) in architectures() {
        let ModelSpec::Minimal(_) = spec else {
            continue;
        };
        let model = Model::new(&spec, states, length).unwrap();
        let single: Vec<f32> = weights(&model, 1.0).iter().map(|&w| w as f32).collect();
        let seen = model.run(&single, sequence).unwrap();
        let (embed, scores) = (
            seen.get("embed").unwrap(),
            seen.get("layers.1.attn_scores").unwrap(),
        );
        let logits = seen.get("logits").unwrap();
        for (i, c) in (0..length).flat_map(|i| (0..states).map(move |c| (i, c))) {
            let sum: f32 = (0..length).map(|j| scores[[0, i, j]] * embed[[j, c]]).sum();
            assert!(close(logits[[i, c]], f64::from(sum)), "{name}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_by_what_it_is() {
    let model = Model::new(&ModelSpec::default(), 2, 5).unwrap();
    let params = model.start(0);
    let run = |params: &[f32], tokens: &[u8]| model.run(params, tokens).unwrap_err();
    let expected = params.len();
    let found = expected - 1;
    assert_eq!(
        run(&params[1..], &[0]),
        InputError::Parameters { found, expected }
    );
    assert_eq!(run(&params, &[]), InputError::Empty);
    let too_long = run(&params, &[0; 6]);
    assert_eq!(
        too_long,
        InputError::TooLong {
            found: 6,
            longest: 5
        }
    );
    let unknown = run(&params, &[0, 1, 7]);
    assert_eq!(
        unknown.to_string(),
        "symbol 7 at position 2 is unknown: the model has symbols 0 to 1"
    );
    let seen = model.run(&params, &[0, 1]).unwrap();
    let error = seen.get("layers.0.attn_patern").unwrap_err().to_string();
    assert!(error.contains("layers.0.attn_pattern"), "{error}");
    let evaluator = model.evaluator(&params).unwrap();
    assert_eq!(
        evaluator.last_logits(&[&[0, 1], &[0]]).unwrap_err(),
        InputError::Uneven {
            found: 1,
            length: 2
        }
    );
}
