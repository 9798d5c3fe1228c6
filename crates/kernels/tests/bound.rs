use induct_kernels::lanes::{LANES, Level};
use induct_kernels::model::choose::{Purpose, choose};
use induct_kernels::model::engine::Engine;
use induct_kernels::model::transformer::coordinates::Coordinates;
use induct_kernels::model::{Kind, Model, reference};
use induct_kernels::scratch::Allocator;

use crate::reference::assert_matches_reference;
use crate::{spec, tokens, weights};

/// The largest difference between two scores of a row, in the first head of a layer.
fn widest_row(model: &Model, params: &[f64], layer: usize) -> f64 {
    let (length, mut widest) = (model.length(), 0.0_f64);
    let block = tokens(model.states(), length, LANES);
    for lane in 0..LANES {
        let all = reference::attention(model, params, &block.lane(lane)[..length]);
        for i in 0..length {
            let row = &all[layer][0][0].row(i)[..=i];
            let most = row.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
            let least = row.iter().fold(f64::INFINITY, |a, &b| a.min(b));
            widest = widest.max(most - least);
        }
    }
    widest
}

/// Scores of a row differ by at most twice the bound, and the bound is not so far off as to be useless.
#[test]
fn no_score_after_a_norm_is_beyond_its_bound() {
    let (states, length) = (3, 20);
    for positions in ["relative-key", "relative-query"] {
        let spec = spec(&format!("positions = '{positions}', layer_norm = true"));
        let model = Model::new(&spec, states, length).unwrap();
        let Kind::Transformer(shape) = model.kind() else {
            panic!("a transformer was asked for");
        };
        let plan = Coordinates::new(
            shape.clone(),
            &choose(model.kind(), Purpose::Training, &Default::default()),
            Level::detect(),
            &Default::default(),
        );
        for scale in [0.02, 0.2, 0.5, 1.0] {
            let params = weights(&model, scale);
            let single: Vec<f32> = params.iter().map(|&w| w as f32).collect();
            let bound = plan.bound_after_norm(&single, 1, 0);
            let widest = widest_row(&model, &params, 1);
            let (bound, spread) = (f64::from(bound), widest * std::f64::consts::LOG2_E);
            assert!(
                spread <= 2.0 * bound,
                "{positions} {scale}: {spread} {bound}"
            );
            assert!(
                bound <= 10.0 * spread,
                "{positions} {scale}: {spread} {bound}"
            );
        }
    }
}

/// The largest weights for which the first layer needs no exponential per pair lose nothing.
#[test]
fn wide_ranges_of_scores_are_exact_without_an_exponential_per_pair() {
    let length = 60;
    for (positions, states) in [
        ("relative-key", 2),
        ("relative-key", 3),
        ("relative-query", 2),
        ("relative-query", 3),
    ] {
        let spec = spec(&format!("positions = '{positions}'"));
        let model = Model::new(&spec, states, length).unwrap();
        let Kind::Transformer(shape) = model.kind() else {
            panic!("a transformer was asked for");
        };
        let plan = Coordinates::new(
            shape.clone(),
            &choose(model.kind(), Purpose::Training, &Default::default()),
            Level::detect(),
            &Default::default(),
        );
        let mut tables = plan.prepared(&mut Allocator::default());
        let first = shape.layers[0].attention.as_ref().unwrap();
        let positional = first.v.clone().unwrap();
        let of_first = [
            shape.embed.clone(),
            positional,
            first.w_k.clone(),
            first.w_q.clone(),
        ];
        let fits = |factor: f64| {
            let mut params = weights(&model, 0.3);
            for range in &of_first {
                params[range.clone()].iter_mut().for_each(|w| *w *= factor);
            }
            let single: Vec<f32> = params.iter().map(|&w| w as f32).collect();
            plan.prepare(&single, &mut tables);
            tables.bounded[0][0].then_some(params)
        };
        let mut factors = (0..80).map(|n| 10.0 - 0.1 * f64::from(n));
        let params = factors.find_map(fits).unwrap();
        let range = widest_row(&model, &params, 0) * std::f64::consts::LOG2_E;
        assert!(range > 30.0, "{positions} {states}: {range}");
        let block = tokens(states, length, LANES);
        assert_matches_reference(positions, &model, &params, &block);
    }
}
