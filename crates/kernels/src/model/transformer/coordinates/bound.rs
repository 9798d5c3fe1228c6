//! Bounds on scores: where none can be large, a softmax need not know its largest score.

use std::f32::consts::LOG2_E;
use std::ops::Range;

use super::dense::{View, ViewMut, add_product_with_transposed};
use super::{Coordinates, Stage};
use crate::model::block::Attention;
use crate::model::ops::attention::RelativeTerm;

impl Coordinates {
    /// A bound on the size of a head's scores, given its tables. Coordinates are shares: within each block of
    /// k−1 they are non-negative and sum to at most one, so a block contributes at most its largest factor.
    pub(super) fn bound(&self, stage: &Stage, qk: &[f32], positions: &[f32]) -> f32 {
        let block = self.shape.states - 1;
        let largest = |values: &[f32]| values.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
        let blocks = |row: &[f32]| row[..stage.m].chunks_exact(block).map(largest).sum::<f32>();
        let (base, qk) = qk.split_at(stage.m);
        // A block of the query adds at most what its most demanding symbol does.
        let demanding = qk.chunks_exact(stage.m * block).map(|rows| {
            let of_rows = rows.chunks_exact(stage.m).map(blocks);
            of_rows.fold(0.0, f32::max)
        });
        let asked = blocks(base) + demanding.sum::<f32>();
        let positions = positions.chunks_exact(1 + stage.m);
        let placed = positions.map(|row| row[0].abs() + blocks(&row[1..]));
        asked + placed.fold(0.0, f32::max)
    }

    /// A bound on the size of a head's scores after a norm of positions, without what does not depend on the
    /// key. The head's columns begin at `column`. A normalised vector is shorter than √d before gain and bias, and
    /// |x M y| is at most |x| ‖M‖ |y| for any matrix, with the root of the sum of its squares as ‖M‖.
    pub fn bound_after_norm(
        &self,
        params: &[f32],
        layer: &Attention,
        column: usize,
        gain: &[f32],
        (q_bias, k_bias): (&[f32], &[f32]),
    ) -> f32 {
        let (d, size) = (gain.len(), q_bias.len());
        // √d times the gain times a weight: what it makes of any vector shorter than one, [d, size]
        let stretched = |weight: &Range<usize>| {
            let rows = params[weight.clone()].chunks_exact(d).zip(gain);
            let rows = rows.flat_map(|(row, gain)| {
                row[column..][..size]
                    .iter()
                    .map(move |w| w * gain * (d as f32).sqrt())
            });
            rows.collect::<Vec<f32>>()
        };
        // |x (every row of `others`)|, a bound on x · (any combination of them), for every row x
        let along = |rows: View, count: usize, others: &[f32]| {
            let m = others.len() / size;
            let mut products = vec![0.0; count * m];
            let (out, others) = (ViewMut::new(&mut products, m, 0), View::new(others, size));
            add_product_with_transposed(self.level, out, rows, others, (count, size, m), 1.0);
            products.chunks_exact(m).map(length).collect::<Vec<f32>>()
        };
        let (q, k) = (stretched(&layer.w_q), stretched(&layer.w_k));
        let mut bound = along(View::new(q_bias, size), 1, &k)[0];
        bound += length(&along(View::new(&q, size), d, &k));
        if let Some(v) = &layer.v {
            let (bias, rest) = match self.relative {
                RelativeTerm::Query => (q_bias, &q),
                _ => (k_bias, &k),
            };
            let positions = View::new(&params[v.clone()], d).from(0, column);
            let through_bias = along(positions, self.shape.length, bias);
            let sums = through_bias
                .iter()
                .zip(along(positions, self.shape.length, rest));
            bound += sums.map(|(a, b)| a + b).fold(0.0, f32::max);
        }
        bound * LOG2_E / (size as f32).sqrt()
    }
}

/// The euclidean length of a vector.
fn length(x: &[f32]) -> f32 {
    x.iter().map(|x| x * x).sum::<f32>().sqrt()
}
