//! Bounds on scores: where none can be large, a softmax need not know its largest score.

use std::f32::consts::LOG2_E;
use std::ops::Range;

use super::basis::length;
use super::dense::{View, ViewMut, add_product};
use super::{Coordinates, HeadPlan, LayerPlan, Meets};
use crate::model::block::Attention;

impl Coordinates {
    /// A bound on the size of a head's scores. Coordinates are shares: within each block of k−1 they are
    /// non-negative and sum to at most one, so a block contributes at most its largest factor.
    pub fn bound(&self, plan: &LayerPlan, places: &HeadPlan, data: &[f32]) -> f32 {
        let block = self.states - 1;
        let largest = |values: &[f32]| values.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
        let blocks = |row: &[f32]| row[..plan.m].chunks_exact(block).map(largest).sum::<f32>();
        let (base, qk) = data[places.qk.clone()].split_at(plan.m);
        // A block of the query adds at most what its most demanding symbol does.
        let demanding = qk.chunks_exact(plan.m * block).map(|rows| {
            let of_rows = rows.chunks_exact(plan.m).map(blocks);
            of_rows.fold(0.0, f32::max)
        });
        let asked = blocks(base) + demanding.sum::<f32>();
        let positions = data[places.positions.clone()].chunks_exact(1 + plan.m);
        let placed = positions.map(|row| row[0].abs() + blocks(&row[1..]));
        asked + placed.fold(0.0, f32::max)
    }

    /// A bound on the size of a head's scores after a norm of positions, without what does not depend on the
    /// key. A normalised vector is shorter than √d, so what queries and keys add to their bias is a
    /// combination of the rows of `reach` with coefficients of a length of at most one.
    pub fn bound_after_norm(
        &self,
        params: &[f32],
        (layer, (column, size), reach): (&Attention, (usize, usize), &[f32]),
        q_bias: &[f32],
        k_bias: &[f32],
        d: usize,
    ) -> f32 {
        let rows = reach.len() / d;
        let project = |weight: &Range<usize>| {
            let mut projected = vec![0.0; rows * size];
            let w = View::new(&params[weight.clone()], d).from(0, column);
            let out = ViewMut::new(&mut projected, size, 0);
            add_product(out, View::new(reach, d), w, (rows, d, size), 1.0);
            projected
        };
        let (q, k) = (project(&layer.w_q), project(&layer.w_k));
        // |x · (every row of `others`)|, a bound on x · (any combination of them)
        let along = |x: &[f32], others: &[f32]| {
            let dot = |row: &[f32]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f32>();
            length(&others.chunks_exact(size).map(dot).collect::<Vec<f32>>())
        };
        let (q_bias, k_bias) = (&q_bias[column..][..size], &k_bias[column..][..size]);
        let of_queries: Vec<f32> = q.chunks_exact(size).map(|row| along(row, &k)).collect();
        let asked = along(q_bias, &k) + length(&of_queries);
        let (bias, rest) = match self.meets {
            Meets::Key => (k_bias, &k),
            Meets::Query => (q_bias, &q),
        };
        let mut placed = 0.0_f32;
        if let Some(v) = &layer.v {
            for row in params[v.clone()].chunks_exact(d) {
                let row = &row[column..][..size];
                placed = placed.max(along(row, bias) + along(row, rest));
            }
        }
        (asked + placed) * LOG2_E / (size as f32).sqrt()
    }
}
