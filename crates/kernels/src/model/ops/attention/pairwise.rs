//! Attention for one head whose relative positions are masked pair by pair: with masks m_ij, a number for every
//! channel, which all sequences share,
//!
//! - s_ij = q_i · (k_j + m_ij ∘ r_{i−j})   (`RelativeTerm::Query`),
//! - s_ij = (q_i + m_ij ∘ r_{i−j}) · k_j   (`RelativeTerm::Key`), for j ≤ i;
//! - p_ij = softmax_j s_ij, and out_i = Σ_j n_ij p_ij u_j, where n_ij is the mask of the pattern, if it has one.
//!
//! What positions add to a score is no table by lag here, so nothing is shared between rows: this is the plain
//! formula, pair by pair. [`super::fast`] is what computes everything else.

use std::f32::consts::LN_2;
use std::ops::Range;

use super::RelativeTerm;
use super::fast::{Gradients, Inputs};
use crate::lanes::{Lane, leveled};
use crate::model::ops::dropout::{Mask, Rate, hash_one, pairs};
use crate::scratch::Allocator;

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
        let pairs = match length.is_multiple_of(2) {
            true => [length / 2, length + 1],
            false => [length, length.div_ceil(2)],
        };
        Self {
            masks: buffers.filled(0.0, [pairs[0], pairs[1], width]),
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
        let kept = |bits: u32| match bits & 0xffff < rate.threshold {
            true => 0.0,
            false => rate.scale() as f32,
        };
        for i in 0..length {
            for j in 0..=i {
                let row = rows.next().expect("one for each pair");
                let mut pair = first.wrapping_add(pairs(i * length + j, width));
                for two in row.chunks_mut(2) {
                    let bits = hash_one(keys, pair);
                    for (entry, bits) in two.iter_mut().zip([bits, bits >> 16]) {
                        *entry = kept(bits);
                    }
                    pair = pair.wrapping_add(1);
                }
            }
        }
        self.drawn = Some(draw);
    }

    /// The mask of a pair, [d].
    #[inline(always)]
    fn of_pair(&self, i: usize, j: usize, width: usize) -> &[f32] {
        &self.masks[(i * (i + 1) / 2 + j) * width..][..width]
    }
}

/// What a group of rows keeps: its patterns before and after their mask, [rows, t] each.
#[derive(Clone, Debug)]
pub struct PairRows {
    length: usize,
    plain: Vec<Lane>,
    masked: Vec<Lane>,
    /// Slopes of a row, `[t]`.
    slopes: Vec<Lane>,
}

impl PairRows {
    /// Buffers for `rows` rows of contexts up to t = `length`.
    pub fn new(rows: usize, length: usize, buffers: &mut Allocator) -> Self {
        Self {
            length,
            plain: buffers.lanes([rows, length]),
            masked: buffers.lanes([rows, length]),
            slopes: buffers.lanes([length]),
        }
    }
}

leveled!(
    /// Computes the patterns of a group of rows.
    pub fn weights<const FUSED: bool>(
        inputs: &Inputs,
        masks: &PairMasks,
        of_pattern: Option<&Mask>,
        rows: Range<usize>,
        group: &mut PairRows,
    ) {
        let length = group.length;
        for (a, i) in rows.enumerate() {
            let plain = &mut group.plain[a * length..][..=i];
            let query = inputs.columns.row(inputs.queries, i);
            let mut most = Lane::splat(f32::NEG_INFINITY);
            for (j, score) in plain.iter_mut().enumerate() {
                let key = inputs.columns.row(inputs.keys, j);
                let (lag, mask) = of_lag(inputs, masks, i, j);
                let mut sum = Lane::ZERO;
                for c in 0..key.len() {
                    let place = Lane::splat(lag[c] * mask[c]);
                    sum = match inputs.relative {
                        RelativeTerm::Key => (query[c] + place).times_plus::<FUSED>(key[c], sum),
                        _ => (key[c] + place).times_plus::<FUSED>(query[c], sum),
                    };
                }
                *score = sum;
                most = most.larger(sum);
            }
            let mut total = Lane::ZERO;
            for score in plain.iter_mut() {
                *score = (*score - most).exp2_clamped::<FUSED>();
                total += *score;
            }
            let inverse = total.inverse();
            plain.iter_mut().for_each(|p| *p = *p * inverse);
            let masked = &mut group.masked[a * length..][..=i];
            masked.copy_from_slice(plain);
            if let Some(mask) = of_pattern {
                mask.apply_to_row(i, masked);
            }
        }
    }
);

leveled!(
    /// Sets a group's rows of `out`, from its [`weights`].
    pub fn averages<const FUSED: bool>(
        inputs: &Inputs,
        rows: Range<usize>,
        group: &PairRows,
        out: &mut [Lane],
    ) {
        for (a, i) in rows.enumerate() {
            let out = inputs.columns.row_mut(out, i);
            out.fill(Lane::ZERO);
            let pattern = &group.masked[a * group.length..][..=i];
            for (j, &p) in pattern.iter().enumerate() {
                let value = inputs.columns.row(inputs.values, j);
                for c in 0..out.len() {
                    out[c] = p.times_plus::<FUSED>(value[c], out[c]);
                }
            }
        }
    }
);

leveled!(
    /// The backward of a group of rows, given the gradient of what they average:
    ///
    /// - du_j += n_ij p_ij dout_i
    /// - ds_ij = n_ij p_ij (dout_i · u_j) − p_ij Σ_l n_il p_il (dout_i · u_l), in units of ln 2
    /// - dq_i, dk_j and dr_{i−j}: those of the scores at the top of the file
    pub fn backward<const FUSED: bool>(
        inputs: &Inputs,
        masks: &PairMasks,
        rows: Range<usize>,
        group: &mut PairRows,
        d_out: &[Lane],
        gradients: &mut Gradients,
    ) {
        let (columns, length) = (inputs.columns, group.length);
        let PairRows {
            plain,
            masked,
            slopes,
            ..
        } = group;
        let d_values = gradients.values.as_deref_mut();
        let d_values = d_values.expect("values of their own");
        for (a, i) in rows.enumerate() {
            let (plain, masked) = (&plain[a * length..][..=i], &masked[a * length..][..=i]);
            let d_out = columns.row(d_out, i);
            let mut centre = Lane::ZERO;
            for j in 0..=i {
                let value = columns.row(inputs.values, j);
                let d_value = columns.row_mut(d_values, j);
                let mut sum = Lane::ZERO;
                for c in 0..d_out.len() {
                    sum = d_out[c].times_plus::<FUSED>(value[c], sum);
                    d_value[c] = masked[j].times_plus::<FUSED>(d_out[c], d_value[c]);
                }
                slopes[j] = masked[j] * sum;
                centre += slopes[j];
            }
            let query = columns.row(inputs.queries, i);
            let d_query = columns.row_mut(gradients.queries, i);
            d_query.fill(Lane::ZERO);
            for j in 0..=i {
                let slope = (slopes[j] - plain[j] * centre) * LN_2;
                let key = columns.row(inputs.keys, j);
                let d_key = columns.row_mut(gradients.keys, j);
                let (lag, mask) = of_lag(inputs, masks, i, j);
                let d_lag = inputs.lag_columns.row_mut(gradients.positions, i - j);
                for c in 0..key.len() {
                    let place = Lane::splat(lag[c] * mask[c]);
                    let (beside_query, beside_key, of_lag) = match inputs.relative {
                        RelativeTerm::Key => (key[c], query[c] + place, key[c]),
                        _ => (key[c] + place, query[c], query[c]),
                    };
                    d_query[c] = slope.times_plus::<FUSED>(beside_query, d_query[c]);
                    d_key[c] = slope.times_plus::<FUSED>(beside_key, d_key[c]);
                    let masked_slope = slope * mask[c];
                    d_lag[c] = masked_slope.times_plus::<FUSED>(of_lag, d_lag[c]);
                }
            }
        }
    }
);

/// The vector of a pair's lag, and its mask: the head's columns of both.
#[inline(always)]
fn of_lag<'a>(
    inputs: &Inputs<'a>,
    masks: &'a PairMasks,
    i: usize,
    j: usize,
) -> (&'a [f32], &'a [f32]) {
    let columns = inputs.lag_columns;
    let mask = masks.of_pair(i, j, columns.stride);
    let own = &mask[columns.offset..][..columns.size];
    (columns.row(inputs.positions, i - j), own)
}
