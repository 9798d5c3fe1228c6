//! Attention of symbols at absolute places: no exponential per pair, and no product of a query with a key.
//!
//! Here a query is the sum of a symbol's part and a place's part, and so is a key. With S, the table of their
//! products in units of ln 2,
//!
//! > s_ij = S_ij + S_{x_i j} + S_{i x_j} + S_{x_i x_j},   2^s_ij = e(i, x_i, j) · e(i, x_i, x_j),
//! > e(i, a, c) = 2^(S_ic + S_ac),
//!
//! and e is a table that all sequences share ([`Powers`]). What remains to be done per pair concerns the
//! values: average, slope and share.
//!
//! Rows are processed in groups as in [`fast`](super::fast), and within a group in tiles of four, whose
//! weights at a key are contiguous.

mod backward;
mod forward;

use std::ops::Range;

pub use self::backward::backward;
pub use self::forward::{forward, weights};
use super::fast::{Columns, GROUP};
use super::{AttnProbe, AttnRow};
use crate::lanes::{LANES, Lane, Level};

/// e(i, a, c) of one head: one row per place i and symbol a, whose columns c are k symbols, then t places.
#[derive(Clone, Debug)]
pub struct Powers {
    states: usize,
    /// Number of vectors per row.
    stride: usize,
    data: Vec<[f32; LANES]>,
}

impl Powers {
    /// Buffers for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize) -> Self {
        let stride = (states + length).div_ceil(LANES);
        Self {
            states,
            stride,
            data: vec![[0.0; LANES]; length * states * stride],
        }
    }

    /// The row of place i and symbol a, eight columns per vector.
    pub fn row_mut(&mut self, i: usize, a: usize) -> &mut [[f32; LANES]] {
        &mut self.data[(i * self.states + a) * self.stride..][..self.stride]
    }

    #[inline(always)]
    fn row(&self, i: usize, a: usize) -> &[f32] {
        self.data[(i * self.states + a) * self.stride..][..self.stride].as_flattened()
    }
}

/// What a head reads.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// Its scores.
    pub powers: &'a Powers,
    /// One-hot, [t, k]
    pub symbols: &'a [Lane],
    /// Values, one row per position.
    pub values: &'a [Lane],
    /// The head's columns in rows of those.
    pub columns: Columns,
}

/// Gradients of what a head reads.
pub struct Gradients<'a> {
    /// Of the values: added to.
    pub values: &'a mut [Lane],
    /// Of S_ic, one row per place i, as long as the place sees ([`seen`]), in units of 1 / ln 2: k symbols,
    /// then the places j ≤ i. Overwritten.
    pub by_place: &'a mut [Lane],
    /// Of S_aj, [t, k], by key, in the same units: added to.
    pub by_key: &'a mut [Lane],
}

/// Where row i of [`Gradients::by_place`] is.
pub fn seen(states: usize, i: usize) -> Range<usize> {
    let start = i * states + i * (i + 1) / 2;
    start..start + states + i + 1
}

/// Rows of a tile.
const ROWS: usize = 4;

/// What a group of rows keeps: its weights, and one over their sums.
#[derive(Clone, Debug)]
pub struct PlacedRows {
    length: usize,
    /// By tile: [t, ROWS] each
    weights: Vec<Lane>,
    /// Of one tile, [t, ROWS]
    slopes: Vec<Lane>,
    inverse: [Lane; GROUP],
    /// dout_i over the sum of row i, by tile: [size, ROWS] each
    asked: Vec<Lane>,
}

impl PlacedRows {
    /// Buffers for rows of contexts up to t = `length`, of heads with up to `size` numbers.
    pub fn new(length: usize, size: usize) -> Self {
        Self {
            length,
            weights: vec![Lane::ZERO; GROUP * length],
            slopes: vec![Lane::ZERO; ROWS * length],
            inverse: [Lane::ZERO; GROUP],
            asked: vec![Lane::ZERO; GROUP * size],
        }
    }
}

/// A tile of rows: its number within the group, its first row, the number of rows, and the number
/// of keys that any of them sees.
#[derive(Clone, Copy)]
struct Tile {
    index: usize,
    first: usize,
    rows: usize,
    keys: usize,
}

#[inline(always)]
fn tiles(rows: &Range<usize>) -> impl Iterator<Item = Tile> + use<> {
    let Range { start, end } = rows.clone();
    (start..end)
        .step_by(ROWS)
        .enumerate()
        .map(move |(index, first)| {
            let keys = (first + ROWS).min(end);
            Tile {
                index,
                first,
                rows: keys - first,
                keys,
            }
        })
}

/// The one-hot symbols of a position.
#[inline(always)]
fn of<const K: usize>(symbols: &[Lane], position: usize) -> [Lane; K] {
    let mut own = [Lane::ZERO; K];
    own.copy_from_slice(&symbols[position * K..][..K]);
    own
}

/// Shows every row of a head's attention to `probe`: the weights are the forward's,
/// and the scores their logarithms.
pub fn show(
    level: Level,
    inputs: &Placed,
    rows: usize,
    (layer, head): (usize, usize),
    probe: AttnProbe,
) {
    let mut group = PlacedRows::new(rows, inputs.columns.size);
    let mut attn_scores = vec![Lane::ZERO; rows];
    let mut attn_pattern = vec![Lane::ZERO; rows];
    for i in 0..rows {
        weights(level, inputs, i..i + 1, &mut group);
        for (j, &weight) in group.weights.iter().step_by(ROWS).take(i + 1).enumerate() {
            attn_scores[j] = weight.ln::<false>();
            attn_pattern[j] = weight * group.inverse[0];
        }
        probe(AttnRow {
            layer,
            head,
            position: i,
            attn_scores: &attn_scores[..=i],
            attn_pattern: &attn_pattern[..=i],
        });
    }
}
