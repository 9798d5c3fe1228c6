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
        let asked = blocks(base) + demanding.sum::<f32>();
        let positions = positions.chunks_exact(1 + stage.m);
        let placed = positions.map(|row| row[0].abs() + blocks(&row[1..]));
        asked + placed.fold(0.0, f32::max)
    }

    /// A bound on the size of a head's scores after a norm of positions, without what does not depend on the
    /// key. A normalised vector is shorter than √d before gain and bias, and |x M y| is at most |x| ‖M‖ |y| for any
    /// matrix, with the root of the sum of its squares as ‖M‖.
    pub fn bound_after_norm(&self, params: &[f32], l: usize, h: usize) -> f32 {
        let (layer, norm) = (self.shape.attention(l), self.stages[l].norm.as_ref());
        let norm = norm.expect("only asked for layers with a norm");
        let (gain, bias) = (&params[norm.gain.clone()], &params[norm.bias.clone()]);
        let (d, size) = (layer.width, layer.size());
        let (root, columns) = ((d as f32).sqrt(), h * size..(h + 1) * size);
        let own = |range: &Range<usize>| Place::new(0, range.clone(), d).columns(columns.clone());
        // What a weight makes of any vector shorter than one: √d times the gain times itself, [d, size]
        let stretched = |weight: &Range<usize>| {
            let rows = gain.iter().enumerate();
            let rows = rows.flat_map(|(r, gain)| {
                own(weight)
                    .row(params, r)
                    .iter()
                    .map(move |w| w * gain * root)
            });
            rows.collect::<Vec<f32>>()
        };
        let biased = |weight: &Range<usize>| {
            let mut sums = vec![0.0; size];
            let (to, of_bias) = (Place::new(0, 0..size, size), Place::new(0, 0..d, d));
            add_product(
                self.level,
                &mut sums,
                to,
                bias,
                of_bias,
                params,
                own(weight),
                1.0,
            );
            sums
        };
        // |x (every row of `others`)|, a bound on x · (any combination of them), for every row x
        let along = |rows: &[f32], place: Place, others: &[f32]| {
            let other = Place::new(0, 0..others.len(), size);
            let mut products = vec![0.0; place.rows * other.rows];
            let (to, turned) = (
                Place::new(0, 0..products.len(), other.rows),
                other.transposed(),
            );
            add_product(
                self.level,
                &mut products,
                to,
                rows,
                place,
                others,
                turned,
                1.0,
            );
            products
                .chunks_exact(other.rows)
                .map(length)
                .collect::<Vec<f32>>()
        };
        let (q, k, q_bias) = (
            stretched(&layer.w_q),
            stretched(&layer.w_k),
            biased(&layer.w_q),
        );
        let mut bound = along(&q_bias, Place::new(0, 0..size, size), &k)[0];
        bound += length(&along(&q, Place::new(0, 0..q.len(), size), &k));
        if let Some(v) = &layer.v {
            let (bias, rest) = match self.relative {
                RelativeTerm::Query => (q_bias, &q),
                _ => (biased(&layer.w_k), &k),
            };
            let sums = along(params, own(v), &bias)
                .into_iter()
                .zip(along(params, own(v), rest));
            bound += sums.map(|(a, b)| a + b).fold(0.0, f32::max);
        }
        bound * LOG2_E / (size as f32).sqrt()
    }
}

/// The euclidean length of a vector.
fn length(x: &[f32]) -> f32 {
    x.iter().map(|x| x * x).sum::<f32>().sqrt()
}
