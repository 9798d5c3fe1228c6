//! Bounds on scores: where none can be large, a softmax need not know its largest score.

use std::f32::consts::LOG2_E;
use std::ops::Range;

use super::dense::{Place, add_product};
use super::{Coordinates, Stage};
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
        blocks(base) + demanding.sum::<f32>() + of_positions(positions, 1 + stage.m, blocks)
    }

    /// A bound on the size of a head's scores after a norm of positions, without what does not depend on the
    /// key. A normalised vector is shorter than √d before gain and bias, and |x M y| is at most |x| ‖M‖ |y| for any
    /// matrix, with the root of the sum of its squares as ‖M‖. So the tables are made once more, for the basis
    /// (b, √d diag g) and coordinates that are shorter than one.
    pub fn bound_after_norm(&self, params: &[f32], l: usize, h: usize) -> f32 {
        let (layer, norm) = (self.shape.attention(l), self.stages[l].norm.as_ref());
        let norm = norm.expect("only asked for layers with a norm");
        let (gain, bias) = (&params[norm.gain.clone()], &params[norm.bias.clone()]);
        let (d, size) = (layer.width, layer.size());
        let (root, columns) = ((d as f32).sqrt(), h * size..(h + 1) * size);
        let own = |range: &Range<usize>| Place::new(0, range.clone(), d).columns(columns.clone());
        let all = Place::new(0, 0..(1 + d) * size, size);
        let projected = |weight: &Range<usize>| {
            let mut basis = vec![0.0; (1 + d) * size];
            let (first, rest) = basis.split_at_mut(size);
            for (r, row) in rest.chunks_exact_mut(size).enumerate() {
                let weight = own(weight).row(params, r);
                for ((first, x), w) in first.iter_mut().zip(row).zip(weight) {
                    *first += bias[r] * w;
                    *x = gain[r] * root * w;
                }
            }
            basis
        };
        let product = |a: &[f32], of_a: Place, b: &[f32], of_b: Place| {
            let mut out = vec![0.0; of_a.rows * of_b.rows];
            let to = Place::new(0, 0..out.len(), of_b.rows);
            add_product(self.level, &mut out, to, a, of_a, b, of_b.transposed(), 1.0);
            out
        };
        let (q, k) = (projected(&layer.w_q), projected(&layer.w_k));
        let qk = product(&q, all, &k, all.rows(1..1 + d));
        let mut bound = length(&qk[..d]) + length(&qk[d..]);
        if let Some(v) = &layer.v {
            let other = match self.relative {
                RelativeTerm::Query => q,
                _ => k,
            };
            let positions = product(params, own(v), &other, all);
            bound += of_positions(&positions, 1 + d, length);
        }
        bound * LOG2_E / (size as f32).sqrt()
    }
}

/// The bound on what positions add, given that on a row's products with coordinates.
fn of_positions(table: &[f32], width: usize, of_row: impl Fn(&[f32]) -> f32) -> f32 {
    let rows = table.chunks_exact(width);
    let bounds = rows.map(|row| row[0].abs() + of_row(&row[1..]));
    bounds.fold(0.0, f32::max)
}

/// The euclidean length of a vector.
fn length(x: &[f32]) -> f32 {
    x.iter().map(|x| x * x).sum::<f32>().sqrt()
}
