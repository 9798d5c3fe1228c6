//! Relative positions that dropout masks pair by pair, with masks m_ij, a number for every channel, which all
//! sequences share:
//!
//! - s_ij = q_i · (k_j + m_ij ∘ r_{i−j})   (`RelativeTerm::Query`),
//! - s_ij = (q_i + m_ij ∘ r_{i−j}) · k_j   (`RelativeTerm::Key`), for j ≤ i.
//!
//! What positions add to a score is no table by lag here, so nothing is shared between rows: the tiles compute
//! q_i · k_j, and what positions add is the plain formula, pair by pair.

use std::ops::Range;

use super::sums::Entries;
use super::{Gradients, Inputs, TileRows};
use crate::lanes::{Lane, leveled};
use crate::model::ops::attention::RelativeTerm;
use crate::model::ops::dropout::{Rate, hash_one, pairs};
use crate::scratch::Allocator;

/// Masks of relative positions, and what these meet.
#[derive(Clone, Copy)]
pub struct MaskedPositions<'a> {
    pub masks: &'a PairMasks,
    pub meets: RelativeTerm,
}

/// The masks of a block's relative positions, for all its heads: [t (t + 1) / 2, d], the pairs of row i from
/// i (i + 1) / 2 on.
#[derive(Clone, Debug)]
pub struct PairMasks {
    masks: Vec<f32>,
    /// What they were drawn for.
    drawn: Option<Draw>,
}

/// What the masks of a block follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The keys of the batch.
    pub keys: [u32; 2],
    pub rate: Rate,
    /// Number of the first pair of entries.
    pub first: u32,
}

impl PairMasks {
    /// Room for those of contexts of `length` positions and streams of `width` numbers.
    pub fn new(length: usize, width: usize, buffers: &mut Allocator) -> Self {
        Self {
            masks: buffers.filled(0.0, [length * (length + 1) / 2, width]),
            drawn: None,
        }
    }

    /// Makes them those of `draw`, for contexts of `length` positions and streams of `width` numbers. In all but
    /// the first block of a batch, they are there already.
    pub fn draw(&mut self, draw: Draw, length: usize, width: usize) {
        if self.drawn == Some(draw) {
            return;
        }
        let Draw { keys, rate, first } = draw;
        let mut rows = self.masks.chunks_exact_mut(width);
        let scale = rate.scale() as f32;
        for i in 0..length {
            for j in 0..=i {
                let row = rows.next().expect("one for each pair");
                let mut pair = first.wrapping_add(pairs(i * length + j, width));
                for two in row.chunks_mut(2) {
                    let bits = hash_one(keys, pair);
                    for (entry, bits) in two.iter_mut().zip([bits & 0xffff, bits >> 16]) {
                        *entry = if bits < rate.threshold { 0.0 } else { scale };
                    }
                    pair = pair.wrapping_add(1);
                }
            }
        }
        self.drawn = Some(draw);
    }
}

impl<'a> MaskedPositions<'a> {
    /// The vector of a pair's lag, and its mask: the head's columns of both.
    #[inline(always)]
    fn of_pair(&self, inputs: &Inputs<'a>, i: usize, j: usize) -> (&'a [f32], &'a [f32]) {
        let (columns, pair) = (inputs.lag_columns, i * (i + 1) / 2 + j);
        (
            columns.row(inputs.positions, i - j),
            columns.row(&self.masks.masks, pair),
        )
    }
}

/// Adds what positions add to the scores of a group's rows.
#[inline(always)]
pub(super) fn add_scores<const FUSED: bool>(
    inputs: &Inputs,
    masked: &MaskedPositions,
    rows: &Range<usize>,
    group: &mut TileRows,
) {
    let scores = group.weights.chunks_mut(group.length);
    for (i, (scores, most)) in rows.clone().zip(scores.zip(&mut group.most)) {
        *most = Lane::splat(f32::NEG_INFINITY);
        for (j, score) in scores[..=i].iter_mut().enumerate() {
            let asking = match masked.meets {
                RelativeTerm::Key => inputs.columns.row(inputs.keys, j),
                _ => inputs.columns.row(inputs.queries, i),
            };
            let (lag, mask) = masked.of_pair(inputs, i, j);
            let mut sum = *score;
            for c in 0..asking.len() {
                sum = asking[c].times_plus::<FUSED>(Lane::splat(lag[c] * mask[c]), sum);
            }
            *score = sum;
            *most = sum.larger(*most);
        }
    }
}

leveled!(
    /// Its backward, given the slopes of the scores. With x the query or the key:
    /// dx += ds_ij m_ij ∘ r_{i−j}, dr_{i−j} += ds_ij m_ij ∘ x.
    pub(super) fn backward<const FUSED: bool>(
        inputs: &Inputs,
        masked: &MaskedPositions,
        rows: Range<usize>,
        slopes: Entries,
        gradients: &mut Gradients,
    ) {
        let columns = inputs.columns;
        for i in rows {
            for j in 0..=i {
                let slope = slopes.at(i, j);
                let (asking, d_asking, row) = match masked.meets {
                    RelativeTerm::Key => (inputs.keys, &mut *gradients.keys, j),
                    _ => (inputs.queries, &mut *gradients.queries, i),
                };
                let asking = columns.row(asking, row);
                let d_asking = columns.row_mut(d_asking, row);
                let (lag, mask) = masked.of_pair(inputs, i, j);
                let d_lag = inputs.lag_columns.row_mut(gradients.positions, i - j);
                for c in 0..asking.len() {
                    let place = Lane::splat(lag[c] * mask[c]);
                    d_asking[c] = slope.times_plus::<FUSED>(place, d_asking[c]);
                    d_lag[c] = (slope * mask[c]).times_plus::<FUSED>(asking[c], d_lag[c]);
                }
            }
        }
    }
);
