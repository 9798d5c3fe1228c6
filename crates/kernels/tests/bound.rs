use std::sync::Arc;

use induct_kernels::lanes::{LANES, Level};
use induct_kernels::model::choose::{Purpose, choose};
use induct_kernels::model::transformer::coordinates::Coordinates;
use induct_kernels::model::{Kind, Model, reference};
use induct_kernels::scratch::Allocator;

use crate::{spec, tokens, weights};

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
        let shape = Arc::new(shape.as_ref().clone());
        let plan = Coordinates::new(
            &shape,
            &choose(model.kind(), Purpose::Training, &Default::default()),
            Level::detect(),
            &Default::default(),
        );
        let mut tables = plan.tables(shape.width, &mut Allocator::default());
        for scale in [0.02, 0.2, 0.5, 1.0] {
            let params = weights(&model, scale);
            let single: Vec<f32> = params.iter().map(|&w| w as f32).collect();
            plan.prepare(&shape, &single, &mut tables);
            let (layer, d) = (shape.layers[1].attention.as_ref().unwrap(), shape.width);
            let gain = shape.layers[1].norm.as_ref().unwrap().gain.clone();
            let reach = tables.normed[1].as_ref().unwrap().reach(&single[gain]);
            let basis = &tables.projected[1];
            let head = (&**layer, (0, d), &reach[..]);
            let bound = plan.bound_after_norm(&single, head, &basis.q[..d], &basis.k[..d], d);
            let block = tokens(states, length, LANES);
            let mut widest = 0.0_f64;
            for lane in 0..LANES {
                let all = reference::attention(&model, &params, &block.lane(lane)[..length]);
                let scores = &all[1][0][0];
                for i in 0..length {
                    let row = &scores.row(i)[..=i];
                    let most = row.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                    let least = row.iter().fold(f64::INFINITY, |a, &b| a.min(b));
                    widest = widest.max(most - least);
                }
            }
            let (bound, spread) = (f64::from(bound), widest * std::f64::consts::LOG2_E);
            assert!(
                spread <= 2.0 * bound,
                "{positions} {scale}: {spread} {bound}"
            );
            assert!(
                bound <= 5.0 * spread,
                "{positions} {scale}: {spread} {bound}"
            );
        }
    }
}
