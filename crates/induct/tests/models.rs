//! Every architecture: gradients against finite differences, the fast path against its f64 twin, causality.

use std::ops::Range;

use induct::chain::{Address, LANES, Prior, PriorSpec, Purpose, Sampler, TokenBlock, open_unit};
use induct::model::{
    AttnRow, Heads, Lane, Matrix, MinimalForm, MinimalSpec, MinimalStart, Model, ModelSpec,
    Positions, Prepared, TransformerSpec, TransformerStart, twin,
};
use induct::train::Loss;

/// Transformers that together use every parameter group, every kind of position and uneven sizes.
fn architectures() -> Vec<(String, ModelSpec)> {
    let mut specs = Vec::new();
    let positions = [
        Positions::RelativeKey,
        Positions::RelativeQuery,
        Positions::Absolute,
        Positions::None,
    ];
    for positions in positions {
        for (layers, heads, mlp, layer_norm) in [
            (1, Heads::Every(1), false, false),
            (2, Heads::Every(1), false, false),
            (2, Heads::PerLayer(vec![3, 1]), true, false),
            (2, Heads::Every(2), false, true),
            (3, Heads::PerLayer(vec![1, 2, 3]), true, true),
        ] {
            specs.push(ModelSpec::Transformer(TransformerSpec {
                layers,
                heads,
                width: 6,
                positions,
                mlp,
                layer_norm,
                ..TransformerSpec::default()
            }));
        }
    }
    for form in [MinimalForm::Linear, MinimalForm::Softmax] {
        specs.push(ModelSpec::Minimal(MinimalSpec {
            form,
            ..MinimalSpec::default()
        }));
    }
    specs
        .into_iter()
        .map(|spec| (format!("{spec:?}"), spec))
        .collect()
}

/// Weights away from any special point: normal-sized, gains and biases included.
fn weights(model: &Model, scale: f64) -> Vec<f64> {
    let mut rng = Address {
        purpose: Purpose::Init,
        seed: 5,
        step: 0,
    }
    .generator(0);
    (0..model.layout().len())
        .map(|_| f64::from((scale * (2.0 * open_unit(&mut rng) - 1.0)) as f32))
        .collect()
}

fn tokens(states: usize, length: usize, used: usize) -> TokenBlock {
    let prior = Prior::new(&PriorSpec::default(), states, 2).unwrap();
    let address = Address {
        purpose: Purpose::Test,
        seed: 0,
        step: 0,
    };
    let mut block = TokenBlock::new(length + 1);
    Sampler::new(&prior).block(&prior, address, 0, used, &mut block);
    block
}

const LOSSES: [Loss; 2] = [Loss::CrossEntropy {}, Loss::Margin { delta: 0.7 }];

fn twin_loss(model: &Model, params: &[f64], sequence: &[u8], loss: Loss) -> (f64, Matrix) {
    let (inputs, targets) = (&sequence[..sequence.len() - 1], &sequence[1..]);
    loss.naive(&twin::logits(model, params, inputs), targets)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(x, y)| (x - y).powi(2));
    squares.sum::<f64>().sqrt()
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn twin_gradients_match_finite_differences() {
    let (states, length) = (3, 7);
    let block = tokens(states, length, LANES);
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let params = weights(&model, 1.0);
        let sequence = block.lane(2);
        for loss in LOSSES {
            let (_, d_logits) = twin_loss(&model, &params, &sequence, loss);
            let gradient = twin::gradient(&model, &params, &sequence[..length], &d_logits);
            let difference: Vec<f64> = (0..params.len())
                .map(|index| {
                    // Fourth order: (8 (f₊₁ − f₋₁) − (f₊₂ − f₋₂)) / 12h.
                    let h = 1e-3;
                    let at = |steps: f64| {
                        let mut moved = params.clone();
                        moved[index] += steps * h;
                        twin_loss(&model, &moved, &sequence, loss).0
                    };
                    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h)
                })
                .collect();
            for tensor in model.layout().tensors() {
                let range = tensor.range.clone();
                let (exact, measured) = (&gradient[range.clone()], &difference[range]);
                let error = distance(exact, measured);
                assert!(
                    error < 1e-6 * norm(measured).max(1e-3),
                    "{name} {loss:?} {}: off by {error:e} of {:e}",
                    tensor.name,
                    norm(measured)
                );
            }
        }
    }
}

/// Loss and gradient of the first `used` lanes by the fast path.
fn fast(model: &Model, params: &[f64], block: &TokenBlock, loss: Loss) -> (f64, Vec<f64>) {
    let params: Vec<f32> = params.iter().map(|&w| w as f32).collect();
    let mut work = model.work();
    let rows = block.rows();
    let (inputs, targets) = (&rows[..rows.len() - 1], &rows[1..]);
    let mut prepared = model.prepare(&params);
    let mut by_lane = vec![Lane::ZERO; model.gradient_len()];
    let mut total = 0.0;
    let mut evaluate = |rows: Range<usize>, logits: &[Lane], d_logits: &mut [Lane]| {
        total += loss.evaluate(logits, &targets[rows], block.used(), 1.0, d_logits);
    };
    model.gradient(&prepared, inputs, &mut work, &mut evaluate, &mut by_lane);
    let summed: Vec<f32> = by_lane.iter().map(|g| g.sum()).collect();
    let mut grads = vec![0.0; params.len()];
    model.pull_back(&params, &mut prepared, &summed, &mut grads);
    (total, grads.iter().map(|&g| g.into()).collect())
}

/// Whether the model works in coordinates.
fn in_coordinates(model: &Model) -> bool {
    matches!(model.prepare(&model.start(0)), Prepared::Tables(_))
}

/// The model with every set of instructions that this machine has and, if it works in coordinates, in its residual
/// stream as well.
fn paths(model: &Model) -> Vec<Model> {
    let mut paths = model.at_all_levels();
    if in_coordinates(model) {
        paths.extend(model.clone().in_residual_stream().at_all_levels());
    }
    paths
}

#[test]
fn coordinates_are_used_where_they_pay() {
    let new = |spec: TransformerSpec, states| {
        Model::new(&ModelSpec::Transformer(spec), states, 9).unwrap()
    };
    let default = TransformerSpec::default;
    assert!(in_coordinates(&new(default(), 2)));
    let heads = Heads::Every(4);
    assert!(in_coordinates(&new(
        TransformerSpec { heads, ..default() },
        2
    )));
    assert!(!in_coordinates(&new(default(), 50)));
    for spec in [
        TransformerSpec {
            mlp: true,
            ..default()
        },
        TransformerSpec {
            layer_norm: true,
            ..default()
        },
        TransformerSpec {
            positions: Positions::Absolute,
            ..default()
        },
    ] {
        assert!(!in_coordinates(&new(spec, 2)));
    }
}

fn assert_fast_matches_twin(
    name: &str,
    spec: &ModelSpec,
    sizes: (usize, usize, usize),
    scale: f64,
) {
    let (states, length, used) = sizes;
    let model = Model::new(spec, states, length).unwrap();
    let name = format!("{name} (k, t, used) = {sizes:?}, weights up to {scale}");
    let params = weights(&model, scale);
    assert_matches_twin(&name, &model, &params, &tokens(states, length, used));
}

/// Every path, under both losses: loss and each group's gradient within 10⁻⁴ of the twin's.
fn assert_matches_twin(name: &str, model: &Model, params: &[f64], block: &TokenBlock) {
    let params: Vec<f64> = params.iter().map(|&w| f64::from(w as f32)).collect();
    let (used, length) = (block.used(), model.length());
    for (model, loss) in paths(model)
        .iter()
        .flat_map(|path| LOSSES.map(|loss| (path, loss)))
    {
        let (total, gradient) = fast(model, &params, block, loss);
        let mut exact_total = 0.0;
        let mut exact = vec![0.0; params.len()];
        for lane in 0..used {
            let sequence = block.lane(lane);
            let (value, d_logits) = twin_loss(model, &params, &sequence, loss);
            exact_total += value;
            let own = twin::gradient(model, &params, &sequence[..length], &d_logits);
            exact
                .iter_mut()
                .zip(own)
                .for_each(|(sum, part)| *sum += part);
        }
        let context = format!("{name} {loss:?}");
        assert!(
            (total - exact_total).abs() < 1e-4 * exact_total.abs().max(1e-3),
            "{context}: loss {total}, twin {exact_total}"
        );
        // Some groups have next to no gradient (W_Q when t = 1 or attention is saturated): it is a difference
        // of large numbers, and is held against one percent of the whole gradient instead.
        let floor = 1e-2 * norm(&exact);
        for tensor in model.layout().tensors() {
            let range = tensor.range.clone();
            let error = distance(&gradient[range.clone()], &exact[range.clone()]);
            assert!(
                error < 1e-4 * norm(&exact[range]).max(floor),
                "{context} {}: off by {error:e} of {:e}, whole {:e}",
                tensor.name,
                norm(&exact[tensor.range.clone()]),
                norm(&exact)
            );
        }
    }
}

#[test]
fn the_fast_path_matches_its_twin() {
    for (name, spec) in architectures() {
        for sizes in [(2, 1, 8), (3, 2, 3), (3, 9, 5), (10, 8, 8)] {
            assert_fast_matches_twin(&name, &spec, sizes, 0.5);
        }
        assert_fast_matches_twin(&name, &spec, (2, 12, 7), 0.02);
    }
}

#[test]
fn the_fast_path_matches_its_twin_at_large_weights() {
    for positions in [
        Positions::RelativeKey,
        Positions::RelativeQuery,
        Positions::Absolute,
    ] {
        let spec = ModelSpec::Transformer(TransformerSpec {
            width: 4,
            positions,
            ..TransformerSpec::default()
        });
        assert_fast_matches_twin("sharp", &spec, (3, 9, 8), 2.0);
    }
}

/// Scores that favour an absent symbol strongly: shares of what is not there must not overflow.
#[test]
fn symbols_that_are_not_in_the_context_do_no_harm() {
    let (states, length, width) = (3, 8, 8);
    let spec = ModelSpec::Transformer(TransformerSpec {
        layers: 1,
        width,
        ..TransformerSpec::default()
    });
    let model = Model::new(&spec, states, length).unwrap();
    let block = TokenBlock::from_sequences(&[&[2; 9], &[2, 2, 1, 2, 2, 0, 2, 2, 2]]);
    for strength in [5.0, 30.0, 60.0, 126.0, 180.0, 400.0] {
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
        assert_matches_twin("absent symbols", &model, &params, &block);
    }
}

#[test]
fn changing_a_future_symbol_changes_no_earlier_output() {
    let (states, length) = (3, 9);
    let block = tokens(states, length, LANES);
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let params: Vec<f32> = weights(&model, 1.0).iter().map(|&w| w as f32).collect();
        let mut work = model.work();
        let mut logits = |sequence: &[u8]| {
            let block = TokenBlock::from_sequences(&[sequence]);
            model.forward(&model.prepare(&params), block.rows(), &mut work);
            let lane: Vec<f32> = work.logits().iter().map(|lane| lane.0[0]).collect();
            lane
        };
        let sequence = block.lane(0)[..length].to_vec();
        let before = logits(&sequence);
        for changed in 0..length {
            let mut other = sequence.clone();
            other[changed] = (other[changed] + 1) % states as u8;
            let after = logits(&other);
            assert_eq!(
                before[..changed * states],
                after[..changed * states],
                "{name}"
            );
            assert_ne!(
                before[changed * states..],
                after[changed * states..],
                "{name}"
            );
            // The twin as well: it is what gradients are judged by.
            let params: Vec<f64> = params.iter().map(|&w| f64::from(w)).collect();
            let [a, b] = [&sequence, &other].map(|s| twin::logits(&model, &params, s).data);
            assert_eq!(
                a[..changed * states],
                b[..changed * states],
                "{name} (twin)"
            );
        }
    }
}

#[test]
fn a_shorter_context_gives_the_same_outputs() {
    let (states, length) = (2, 8);
    let block = tokens(states, length, LANES);
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let params: Vec<f32> = weights(&model, 1.0).iter().map(|&w| w as f32).collect();
        let mut work = model.work();
        model.forward(&model.prepare(&params), &block.rows()[..length], &mut work);
        let whole = work.logits().to_vec();
        model.forward(&model.prepare(&params), &block.rows()[..3], &mut work);
        assert_eq!(work.logits(), &whole[..3 * states], "{name}");
    }
}

#[test]
fn probed_attention_is_what_the_twin_computes() {
    let (states, length) = (3, 8);
    let block = tokens(states, length, LANES);
    for (name, spec) in architectures() {
        let model = Model::new(&spec, states, length).unwrap();
        let params = weights(&model, 1.0);
        let single: Vec<f32> = params.iter().map(|&w| w as f32).collect();
        let exact = twin::attention(&model, &params, &block.lane(1)[..length]);
        let inputs = &block.rows()[..length];
        for model in paths(&model) {
            let mut rows = 0;
            let mut compare = |row: AttnRow| {
                rows += 1;
                let (scores, pattern) = &exact[row.layer][row.head];
                let i = row.position;
                let mut row_sum = 0.0;
                for j in 0..=i {
                    let (score, mass) = (row.attn_scores[j].0[1], row.attn_pattern[j].0[1]);
                    row_sum += mass;
                    assert!((f64::from(score) - scores[(i, j)]).abs() < 1e-4, "{name}");
                    assert!((f64::from(mass) - pattern[(i, j)]).abs() < 1e-5, "{name}");
                }
                assert!((row_sum - 1.0).abs() < 1e-5, "{name}");
            };
            let prepared = model.prepare(&single);
            let mut work = model.work();
            model.forward(&prepared, inputs, &mut work);
            model.show_attention(&prepared, inputs, &work, &mut compare);
            assert_eq!(
                rows,
                exact
                    .iter()
                    .map(|heads| heads.len() * length)
                    .sum::<usize>()
            );
        }
    }
}

#[test]
fn starting_weights_depend_on_the_seed_only() {
    let model = Model::new(&ModelSpec::default(), 2, 100).unwrap();
    let (first, again, other) = (model.start(0), model.start(0), model.start(1));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let variance = first.iter().map(|w| f64::from(w * w)).sum::<f64>() / first.len() as f64;
    assert!((variance.sqrt() / 0.02 - 1.0).abs() < 0.05);
    // Printed by this model when its starting weights were first checked as above; a change means that
    // old recipes no longer repeat.
    assert_eq!(first[..3], STABLE_START);
}

const STABLE_START: [f32; 3] = [0.002_650_191_5, -0.019_221_125, 0.018_967_379];

/// Counts of symbols that followed the last symbol of `seen`, with one more x₀ → x₀.
fn followers(seen: &[u8], states: usize) -> Vec<f64> {
    let last = seen[seen.len() - 1];
    let mut counts = vec![0.0; states];
    for pair in seen.windows(2).filter(|pair| pair[0] == last) {
        counts[pair[1] as usize] += 1.0;
    }
    if seen[0] == last {
        counts[last as usize] += 1.0;
    }
    counts
}

#[test]
fn the_bigram_construction_approaches_bigram_frequencies_as_it_sharpens() {
    let (states, length) = (3, 60);
    let block = tokens(states, length, LANES);
    let mut errors = Vec::new();
    for sharpness in [2.0, 6.0, 12.0, 1000.0] {
        let spec = ModelSpec::Transformer(TransformerSpec {
            width: 3 * states,
            start: TransformerStart::Bigram {
                sharpness,
                output_scale: 1.0,
            },
            ..TransformerSpec::default()
        });
        let model = Model::new(&spec, states, length).unwrap();
        let mut work = model.work();
        model.forward(
            &model.prepare(&model.start(0)),
            &block.rows()[..length],
            &mut work,
        );
        let mut worst = 0.0_f64;
        for lane in 0..LANES {
            let sequence = block.lane(lane);
            for i in 0..length {
                let mut counts = followers(&sequence[..=i], states);
                if counts.iter().sum::<f64>() == 0.0 {
                    // Never followed so far: all positions look alike, and what is left is their frequency.
                    sequence[..=i]
                        .iter()
                        .for_each(|&symbol| counts[symbol as usize] += 1.0);
                }
                let total: f64 = counts.iter().sum();
                for (c, count) in counts.iter().enumerate() {
                    let output = f64::from(work.logits()[i * states + c].0[lane]);
                    worst = worst.max((output - count / total).abs());
                }
            }
        }
        errors.push(worst);
    }
    assert!(errors.is_sorted_by(|a, b| a > b), "{errors:?}");
    assert!(errors[3] < 1e-5, "{errors:?}");
}

#[test]
fn the_minimal_constructions_count() {
    let (states, length) = (3, 20);
    let block = tokens(states, length, LANES);
    for (start, counts_transitions) in [
        (MinimalStart::Unigram {}, false),
        (MinimalStart::Bigram {}, true),
    ] {
        let spec = ModelSpec::Minimal(MinimalSpec {
            form: MinimalForm::Linear,
            start,
        });
        let model = Model::new(&spec, states, length).unwrap();
        let mut work = model.work();
        model.forward(
            &model.prepare(&model.start(0)),
            &block.rows()[..length],
            &mut work,
        );
        let sequence = block.lane(4);
        for p in 0..length {
            for i in 0..states {
                let counted = (0..=p)
                    .filter(|&j| sequence[j] as usize == i)
                    .filter(|&j| !counts_transitions || (j > 0 && sequence[j - 1] == sequence[p]))
                    .count();
                assert_eq!(work.logits()[p * states + i].0[4], counted as f32);
            }
        }
    }
}

#[test]
fn impossible_models_are_refused_by_name() {
    let refusal = |spec: TransformerSpec| {
        let invalid = Model::new(&ModelSpec::Transformer(spec), 2, 10).unwrap_err();
        (invalid.field, invalid.value)
    };
    let named = |field: &str, value: &str| (field.to_owned(), value.to_owned());
    let default = TransformerSpec::default;
    let heads = |heads| TransformerSpec { heads, ..default() };
    assert_eq!(refusal(heads(Heads::Every(3))), named("heads", "3"));
    assert_eq!(refusal(heads(Heads::Every(0))), named("heads", "0"));
    assert_eq!(
        refusal(heads(Heads::PerLayer(vec![1]))),
        named("heads", "[1]")
    );
    assert_eq!(
        refusal(TransformerSpec {
            layers: 0,
            ..default()
        }),
        named("layers", "0")
    );
    assert_eq!(
        refusal(TransformerSpec {
            width: 0,
            ..default()
        }),
        named("width", "0")
    );
    let start = TransformerStart::Bigram {
        sharpness: 5.0,
        output_scale: 1.0,
    };
    let narrow = TransformerSpec {
        width: 4,
        start,
        ..default()
    };
    assert_eq!(refusal(narrow), named("start.kind", "\"bigram\""));
}
