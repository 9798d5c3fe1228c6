//! Every fast path against the reference, and that against finite differences.
//!
//! Here are models of every architecture, with weights and sequences to try them on.

mod activation;
mod activations;
mod bound;
mod clamped;
mod convolution;
mod cross_lane;
mod dense;
mod dropout;
mod interventions;
mod lane;
mod layout;
mod linear;
mod models;
mod random;
mod reference;
mod scan;
mod short_convolution;
mod tape;
mod target;

use induct::chain::{PriorSpec, Sampler, TaskPrior};
use induct::recipe::Recipe;
use induct_kernels::lanes::LANES;
use induct_kernels::model::engine::Forwarded;
use induct_kernels::model::{Kernel, Model, ModelSpec};
use induct_kernels::random::{Address, Purpose, open_unit};
use induct_kernels::tokens::TokenBlock;

/// A model as a recipe writes it.
pub fn spec(settings: &str) -> ModelSpec {
    let recipe = Recipe::from_toml(&format!("model = {{ {settings} }}"), &[]);
    recipe.unwrap().model
}

/// Models that together use every parameter group, every kind of position and uneven sizes.
pub fn architectures() -> Vec<(String, ModelSpec)> {
    let mut all = Vec::new();
    for positions in ["relative-key", "relative-query", "absolute", "none"] {
        for settings in [
            "layers = 1",
            "layers = 2",
            "heads = [3, 1], mlp = true",
            "heads = 2, layer_norm = true",
            "layers = 3, heads = [1, 2, 3], mlp = true, layer_norm = true",
        ] {
            all.push(format!("width = 6, positions = '{positions}', {settings}"));
        }
    }
    for settings in [
        "width = 8, positions = 'rotary', heads = [2, 4], mlp = true, layer_norm = true",
        "width = 4, positions = 'none', blocks = [{ kind = 'mlp', ratio = 2 }, \
         { kind = 'attention', positions = 'rotary' }, { kind = 'mlp', activation = 'relu' }, 'mlp']",
        "width = 6, layer_norm = true, dropout = 0.2, blocks = ['attention', \
         { kind = 'attention', heads = 3, positions = 'relative-query' }, 'mlp', { kind = 'mlp', ratio = 1 }]",
        "width = 4, positions = 'absolute', blocks = ['mlp']",
        "width = 5, blocks = ['convolution', 'attention', { kind = 'convolution', length = 2 }, 'mlp']",
        "width = 6, layer_norm = true, dropout = 0.2, blocks = [{ kind = 'convolution', length = 1 }]",
        "width = 4, blocks = [{ kind = 'attention', convolution = 3 }]",
        "width = 6, positions = 'relative-query', layer_norm = true, dropout = 0.3, \
         blocks = [{ kind = 'attention', heads = 2, convolution = 2 }, { kind = 'attention', convolution = 1 }]",
        "width = 4, blocks = ['mamba', 'mlp']",
        "width = 4, layer_norm = true, blocks = ['mamba']",
        "width = 5, layer_norm = true, dropout = 0.2, \
         blocks = [{ kind = 'mamba', state = 3, heads = 2, convolution = 2 }, 'mlp', 'attention']",
        "width = 3, positions = 'absolute', blocks = ['attention', { kind = 'mamba', state = 6, expand = 1, \
         convolution = 0 }, { kind = 'mamba', state = 1, expand = 3, heads = 3, convolution = 9 }]",
    ] {
        all.push(settings.to_owned());
    }
    let relu = "width = 6, activation = 'relu', output_projection = 'always'";
    for settings in [
        "positions = 'relative-key'",
        "positions = 'relative-query', layer_norm = true",
        "positions = 'absolute', heads = [1, 2], mlp = true, layer_norm = true",
    ] {
        all.push(format!("{relu}, {settings}"));
    }
    for settings in [
        "width = 6, tied = true",
        "width = 6, tied = true, layer_norm = true, mlp = true, positions = 'absolute', dropout = 0.2",
        "width = 6, biases = true",
        "width = 6, biases = true, heads = [2, 3], positions = 'relative-query', layer_norm = true",
        "width = 5, biases = true, tied = true, output_projection = 'always', positions = 'absolute'",
        "width = 4, biases = true, heads = 2, positions = 'rotary', dropout = 0.3",
        "width = 6, mlp = true, mlp_ratio = 2, activation = 'gelu-exact'",
        "width = 6, layers = 1, mlp = true, mlp_ratio = 1, positions = 'none', biases = true, tied = true",
    ] {
        all.push(settings.to_owned());
    }
    // An odd width, where there is one head: rows end in the middle of a pair of entries.
    for settings in [
        "width = 5, positions = 'relative-query', dropout = 0.1",
        "width = 6, heads = [3, 1], mlp = true, dropout = 0.5",
        "width = 6, heads = 2, mlp = true, positions = 'absolute', dropout = { embedding = 0.2, attention = 0.6 }",
        "width = 5, positions = 'absolute', dropout = { residual = 0.3 }",
        "width = 6, heads = [3, 1], positions = 'relative-query', dropout = { positions = 0.4 }",
        "width = 5, positions = 'relative-key', dropout = { positions = 0.3, attention = 0.2, embedding = 0.1 }",
        "width = 6, heads = 2, mlp = true, positions = 'none', dropout = { attention = 0.3, residual = 0.7 }",
    ] {
        all.push(format!("layer_norm = true, {settings}"));
    }
    all.extend(["linear", "softmax"].map(|form| format!("kind = 'minimal', form = '{form}'")));
    let named = |settings: String| (settings.clone(), spec(&settings));
    all.into_iter().map(named).collect()
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
    model.choice().engine.kernel == Kernel::Coordinates
}

/// Whether the model is computed in the residual stream, above layers in coordinates.
pub fn begins_in_coordinates(model: &Model) -> bool {
    !in_coordinates(model) && !model.choice().layers.is_empty()
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
