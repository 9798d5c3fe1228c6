//! Every fast path against plain double precision, and that against finite differences.
//!
//! Here are models of every architecture, with weights and sequences to try them on.

mod activations;
mod bound;
mod clamped;
mod convolution;
mod cross_lane;
mod dense;
mod dropout;
mod gelu;
mod interventions;
mod lane;
mod layout;
mod linear;
mod models;
mod random;
mod relu;
mod target;
mod twin;

use induct::chain::{PriorSpec, Sampler, TaskPrior};
use induct_kernels::lanes::LANES;
use induct_kernels::model::engine::Forwarded;
use induct_kernels::model::{
    Activation, Dropout, DropoutRates, Heads, Kernel, MinimalForm, MinimalSpec, Model, ModelSpec,
    OutputProjection, Positions, TransformerSpec,
};
use induct_kernels::random::{Address, Purpose, open_unit};
use induct_kernels::tokens::TokenBlock;

/// Transformers that together use every parameter group, every kind of position and uneven sizes.
pub fn architectures() -> Vec<(String, ModelSpec)> {
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
    for (positions, heads, mlp, layer_norm) in [
        (Positions::RelativeKey, Heads::Every(1), false, false),
        (Positions::RelativeQuery, Heads::Every(1), false, true),
        (Positions::Absolute, Heads::PerLayer(vec![1, 2]), true, true),
    ] {
        specs.push(ModelSpec::Transformer(TransformerSpec {
            heads,
            width: 6,
            positions,
            mlp,
            activation: Activation::Relu,
            layer_norm,
            output_projection: OutputProjection::Always,
            ..TransformerSpec::default()
        }));
    }
    for (positions, heads, mlp, dropout) in [
        (
            Positions::RelativeQuery,
            Heads::Every(1),
            false,
            Dropout::Everywhere(0.1),
        ),
        (
            Positions::RelativeKey,
            Heads::PerLayer(vec![3, 1]),
            true,
            Dropout::Everywhere(0.5),
        ),
        (
            Positions::Absolute,
            Heads::Every(2),
            true,
            by_place(0.2, 0.6, 0.0),
        ),
        (
            Positions::Absolute,
            Heads::Every(1),
            false,
            by_place(0.0, 0.0, 0.3),
        ),
        (
            Positions::None,
            Heads::Every(2),
            true,
            by_place(0.0, 0.3, 0.7),
        ),
    ] {
        specs.push(ModelSpec::Transformer(TransformerSpec {
            heads,
            // Odd, where there is one head: rows end in the middle of a pair of entries.
            width: if mlp { 6 } else { 5 },
            positions,
            mlp,
            layer_norm: true,
            dropout,
            ..TransformerSpec::default()
        }));
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

/// Dropout with a rate for each kind of place.
pub fn by_place(embedding: f64, attention: f64, residual: f64) -> Dropout {
    Dropout::ByPlace(DropoutRates {
        embedding,
        attention,
        residual,
    })
}

/// Weights away from any special point: of order one, including gains and biases.
pub fn weights(model: &Model, scale: f64) -> Vec<f64> {
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

/// A block of `used` sequences that were drawn from chains.
pub fn tokens(states: usize, length: usize, used: usize) -> TokenBlock {
    let prior = TaskPrior::new(&PriorSpec::default(), states, 2).unwrap();
    let address = Address {
        purpose: Purpose::Test,
        seed: 0,
        step: 0,
    };
    let mut sampler = Sampler::new(&prior);
    let draw = |index| {
        let mut tokens = vec![0; length + 1];
        sampler
            .sequence(&prior, address, index, &mut tokens)
            .unwrap();
        tokens
    };
    let drawn: Vec<Vec<u8>> = (0..used as u64).map(draw).collect();
    let drawn: Vec<&[u8]> = drawn.iter().map(Vec::as_slice).collect();
    TokenBlock::from_sequences(&drawn)
}

/// Whether the model is computed in coordinates.
pub fn in_coordinates(model: &Model) -> bool {
    model.choice().engine == Kernel::Coordinates
}

/// Whether the model is computed in the residual stream, above layers in coordinates.
pub fn begins_in_coordinates(model: &Model) -> bool {
    model.choice().first == Kernel::FirstInCoordinates
}

/// The model at every instruction level that this machine has and, if it uses coordinates, without them as well.
pub fn paths(model: &Model) -> Vec<Model> {
    let mut paths = model.at_all_levels();
    if in_coordinates(model) || begins_in_coordinates(model) {
        paths.extend(model.in_residual_stream().at_all_levels());
    }
    paths
}

/// The logits of one lane at all rows of a block.
pub fn logits(model: &Model, params: &[f32], rows: &[[u8; LANES]], lane: usize) -> Vec<f32> {
    let mut logits = Vec::new();
    model.at(params).forward(rows, 0, &mut |seen: Forwarded| {
        logits.extend(seen.logits.iter().map(|logit| logit.0[lane]));
    });
    logits
}
