//! Attention of any size over lanes.
//!
//! The work is done in small groups of rows. A group's forward keeps its weights 2^s, and its backward
//! uses them immediately; a backward that runs later has to repeat the group's forward. A group goes
//! through its keys in blocks that stay in the fastest cache while all its rows use them. Within a group
//! and block, every pass is a product of small matrices in tiles of four rows by two keys, or of two rows
//! by up to five columns. That is as many sums as fit in registers, because a machine loads two vectors in
//! the time of two multiplications:
//!
//! - scores:   s_ij = bias_δ + (q_i + r_δ) · k_j and its variants, in units of ln 2
//! - averages: out_i = Σ_j p_ij u_j
//! - slopes:   ds_ij = ln 2 · p_ij (dout_i · u_j − dout_i · out_i)
//! - dq_i = Σ_j ds_ij k_j, and the gradients of keys, values and positions, to which many rows add.

mod dropped;
mod lags;
mod pairs;
mod pairwise;
mod sums;

use std::f32::consts::LN_2;
use std::ops::Range;

use self::dropped::Dropped;
use self::lags::Lags;
use self::pairs::{scores_any, slopes_any, softmax_any};
pub use self::pairwise::{Draw, MaskedPositions, PairMasks};
use self::sums::{BEYOND, Entries, Source, Sums, add_biases, add_sums};
use super::{AttnProbe, AttnRow, RelativeTerm};
use crate::lanes::{Lane, Level, leveled};
use crate::scratch::Allocator;

/// Which numbers of a wider row belong to a head: `size` of them from `offset` on,
/// in rows that are `stride` apart.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// Length of a whole row.
    pub stride: usize,
    /// Index of the first.
    pub offset: usize,
    /// Number of them.
    pub size: usize,
}

impl Columns {
    /// All but the first `count`.
    #[inline(always)]
    fn after(self, count: usize) -> Self {
        Self {
            offset: self.offset + count,
            size: self.size - count,
            ..self
        }
    }

    /// A row of what a view shows.
    #[inline(always)]
    pub fn row<T>(self, data: &[T], row: usize) -> &[T] {
        &data[row * self.stride + self.offset..][..self.size]
    }

    /// The same, to write to.
    #[inline(always)]
    pub fn row_mut<T>(self, data: &mut [T], row: usize) -> &mut [T] {
        &mut data[row * self.stride + self.offset..][..self.size]
    }

    /// Where sums of some rows are added to.
    fn of(self, data: &mut [Lane]) -> Sums<'_> {
        Sums {
            data,
            columns: self,
        }
    }

    /// N rows from `first` on. (By a loop: `array::from_fn` would be a call.)
    #[inline(always)]
    fn rows<T, const N: usize>(self, data: &[T], first: usize) -> [&[T]; N] {
        let mut rows = [&data[..0]; N];
        for n in 0..N {
            rows[n] = self.row(data, first + n);
        }
        rows
    }
}

/// What a head reads. The scale of the scores, log₂ e / √m, is already in the queries and positions.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Queries, one row per position.
    pub queries: &'a [Lane],
    /// Keys, one row per position.
    pub keys: &'a [Lane],
    /// Values, one row per position.
    pub values: &'a [Lane],
    /// What positions are multiplied with, if they meet the query.
    pub asking: Asking,
    /// How many leading numbers of a key (and value) are data, and need no gradient.
    pub data: usize,
    /// The head's columns in rows of those three.
    pub columns: Columns,
    /// Whether positions meet the key, the query, or neither.
    pub relative: RelativeTerm,
    /// Positional vectors, one row per lag.
    pub positions: &'a [f32],
    /// The head's columns in rows of those.
    pub lag_columns: Columns,
    /// Whether the number before the head's columns is a bias of that lag.
    pub bias: bool,
    /// Positions that are masked pair by pair; `relative` is absent then.
    pub masked: Option<MaskedPositions<'a>>,
}

/// What positions are multiplied with, if they meet the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// The row's query.
    Query,
    /// The row's own key: in coordinates, positions meet the coordinates themselves.
    Key,
}

impl<'a> Inputs<'a> {
    #[inline(always)]
    fn asking(&self) -> &'a [Lane] {
        match self.asking {
            Asking::Query => self.queries,
            Asking::Key => self.keys,
        }
    }
}

/// Gradients of what a head reads.
pub struct Gradients<'a> {
    /// Of the queries: overwritten.
    pub queries: &'a mut [Lane],
    /// Of the keys, where they are not data: added to.
    pub keys: &'a mut [Lane],
    /// Of the values: added to. If there is none, it is added to that of the
    /// keys, which are their own values.
    pub values: Option<&'a mut [Lane]>,
    /// Of the positions, by lane: added to.
    pub positions: &'a mut [Lane],
}

/// Largest number of rows in a group.
pub const GROUP: usize = 16;

/// What a group of rows keeps: one row of weights per row, as long as the longest
/// context, and one over its sum.
#[derive(Clone, Debug)]
pub struct TileRows {
    /// From one row to the next
    length: usize,
    /// [GROUP, length]
    weights: Vec<Lane>,
    /// The same, with zeros around them: sums over lags go beyond the group by one less than a tile is high.
    slopes: Vec<Lane>,
    inverse: Vec<Lane>,
    /// Largest score of every row
    most: Vec<Lane>,
    lags: Lags,
    dropped: Box<Dropped>,
}

impl TileRows {
    /// Buffers for rows of contexts up to t = `length`, of heads with up to `size` numbers.
    pub fn new(length: usize, size: usize, buffers: &mut Allocator) -> Self {
        // Odd: rows a power of two apart would share a few places of the cache.
        let length = (length + BEYOND) | 1;
        let rows = Self {
            length,
            most: buffers.lanes([GROUP]),
            lags: Lags::new(1 + size, length, buffers),
            weights: buffers.lanes([GROUP, length]),
            slopes: buffers.lanes([GROUP + 2 * BEYOND, length]),
            inverse: buffers.lanes([GROUP]),
            dropped: Box::default(),
        };
        buffers.count_value(&rows);
        rows
    }

    /// Switches to a head: call it before the first group of its rows.
    pub fn turn_to(&mut self, inputs: &Inputs) {
        if inputs.relative != RelativeTerm::Absent {
            self.lags.read(inputs, self.length);
        }
    }
}

/// Rows that share their loads, in passes over pairs.
const ROWS: usize = 4;

/// Keys per block, so that a block stays in the fastest cache: an even number.
#[inline(always)]
fn block_size(columns: Columns) -> usize {
    const CACHED_LANES: usize = 512;
    (CACHED_LANES / columns.size).max(8) & !1
}

/// Sets the rows of `out` (laid out like the values), and keeps their weights in `group`.
pub fn forward(
    level: Level,
    inputs: &Inputs,
    rows: Range<usize>,
    group: &mut TileRows,
    out: &mut [Lane],
) {
    weights(level, inputs, rows.clone(), group);
    let columns = inputs.columns;
    for i in rows.clone() {
        columns.row_mut(out, i).fill(Lane::ZERO);
    }
    let averages = group.weights_by_row(rows.start);
    let values = Source::Lanes(inputs.values, columns);
    for block in blocks(&rows, columns) {
        let (rows, terms, sums) = (rows.clone(), &seen(block), columns.of(out));
        add_sums(level, averages, rows, terms, values, sums);
    }
    for (i, &inverse) in rows.zip(&group.inverse) {
        for sum in columns.row_mut(out, i) {
            *sum = *sum * inverse;
        }
    }
}

/// The keys of a block that any of some rows sees, given the first and the number of rows.
fn seen(block: Range<usize>) -> impl Fn(usize, usize) -> Range<usize> {
    let Range { start, end } = block;
    move |i, height| start..end.min(i + height).max(start)
}

leveled!(
    /// Computes the weights of a group's rows, as [`forward`] does.
    pub fn weights<const FUSED: bool, tall TALL>(inputs: &Inputs, rows: Range<usize>, group: &mut TileRows) {
        scores_any::<FUSED, TALL>(inputs, &rows, group);
        softmax_any::<FUSED>(&rows, group);
        group.drop_weights(&rows);
    }
);

/// The gradients of a group's rows. Call it right after the group's [`forward`] or [`weights`]. `out` is
/// what the forward computed, `d_out` its gradient.
/// - p = softmax(s)        ⟹  ds_ij = p_ij (dp_ij − Σ_l p_il dp_il), and the sum is dout_i · out_i
/// - out_i = Σ_j p_ij u_j  ⟹  du_j += Σ_i p_ij dout_i
/// - s_ij = bias_δ + q_i · k_j + r_δ · k_j or r_δ · p_i  ⟹  dbias_δ += Σ ds_ij, dq_i = Σ_j ds_ij k_j,
///   dk_j += Σ_i ds_ij (q_i + r_δ), dr_δ += Σ ds_ij k_j, or without r_δ,
///   dp_i += Σ_j ds_ij r_δ, dr_δ += Σ ds_ij p_i
pub fn backward(
    level: Level,
    inputs: &Inputs,
    rows: Range<usize>,
    group: &mut TileRows,
    (out, d_out): (&[Lane], &[Lane]),
    grads: &mut Gradients,
) {
    let columns = inputs.columns;
    let mut below = [Lane::ZERO; GROUP];
    start_backward(level, columns, rows.clone(), group, out, d_out, &mut below);
    for i in rows.clone() {
        columns.row_mut(grads.queries, i).fill(Lane::ZERO);
    }
    let own = columns.after(inputs.data);
    let keys = Source::Lanes(inputs.keys, columns);
    let (queries, d_rows) = (
        Source::Lanes(inputs.queries, own),
        Source::Lanes(d_out, own),
    );
    let of_rows = &|_: usize, _: usize| rows.clone();
    for block in blocks(&rows, columns) {
        slopes(level, inputs, rows.clone(), &block, d_out, &below, group);
        let slopes = group.slopes_by_row(rows.start);
        let (by_key, seen) = (slopes.by_key(), &seen(block.clone()));
        let (sums, d_queries) = (rows.clone(), columns.of(grads.queries));
        add_sums(level, slopes, sums, seen, keys, d_queries);
        let (sums, d_keys) = (block.clone(), own.of(grads.keys));
        add_sums(level, by_key, sums, of_rows, queries, d_keys);
        let by_key = group.weights_by_row(rows.start).by_key();
        let d_values = grads.values.as_deref_mut().unwrap_or(&mut *grads.keys);
        add_sums(level, by_key, block, of_rows, d_rows, own.of(d_values));
    }
    let slopes = group.slopes_by_row(rows.start);
    if let Some(masked) = &inputs.masked {
        pairwise::backward(level, inputs, masked, rows.clone(), slopes, grads);
    }
    if inputs.bias {
        let (rows, lags) = (rows.clone(), inputs.lag_columns);
        add_biases(level, slopes, rows, lags.of(grads.positions));
    }
    match inputs.relative {
        RelativeTerm::Absent => {}
        RelativeTerm::Key => backward_of_lags_of_keys(level, inputs, rows, slopes, grads),
        RelativeTerm::Query => backward_of_lags_of_rows(level, inputs, rows, slopes, grads),
    }
}

/// dk_j += Σ_δ ds_{j+δ, j} r_δ and dr_δ += Σ_j ds_{j+δ, j} k_j, where keys meet positions.
fn backward_of_lags_of_keys(
    level: Level,
    inputs: &Inputs,
    rows: Range<usize>,
    slopes: Entries,
    grads: &mut Gradients,
) {
    let (columns, lags) = (inputs.columns, inputs.lag_columns);
    let positions = Source::Numbers(inputs.positions, lags.after(inputs.data));
    let keys = Source::Lanes(inputs.keys, columns);
    // Key and lag sum to a row of the group, for one of a tile at least.
    let Range { start, end } = rows;
    let terms = &|n: usize, height: usize| (start + 1).saturating_sub(n + height)..end - n;
    let (by_key, d_keys) = (slopes.by_key_and_lag(), columns.after(inputs.data));
    add_sums(
        level,
        by_key,
        0..end,
        terms,
        positions,
        d_keys.of(grads.keys),
    );
    let (by_lag, d_lags) = (slopes.by_lag_and_key(), lags.of(grads.positions));
    add_sums(level, by_lag, 0..end, terms, keys, d_lags);
}

/// dp_i += Σ_δ ds_{i,i−δ} r_δ and dr_δ += Σ_i ds_{i,i−δ} p_i, where queries (p) meet positions.
fn backward_of_lags_of_rows(
    level: Level,
    inputs: &Inputs,
    rows: Range<usize>,
    slopes: Entries,
    grads: &mut Gradients,
) {
    let (asking, d_asking, data) = match inputs.asking {
        Asking::Query => (inputs.queries, &mut *grads.queries, 0),
        Asking::Key => (inputs.keys, &mut *grads.keys, inputs.data),
    };
    let (columns, lags) = (inputs.columns, inputs.lag_columns);
    let positions = Source::Numbers(inputs.positions, lags.after(data));
    let asking = Source::Lanes(asking, columns);
    let lags_of_row = &|i: usize, height: usize| 0..i + height;
    let (by_row, d_asking) = (slopes.by_row_and_lag(), columns.after(data).of(d_asking));
    add_sums(
        level,
        by_row,
        rows.clone(),
        lags_of_row,
        positions,
        d_asking,
    );
    let rows_of_lag = &|lag: usize, _: usize| rows.start.max(lag)..rows.end;
    let (by_lag, d_lags) = (slopes.by_lag_and_row(), lags.of(grads.positions));
    add_sums(level, by_lag, 0..rows.end, rows_of_lag, asking, d_lags);
}

leveled!(
    /// Makes weights sum to one, and sets −dout_i · out_i of every row.
    fn start_backward<const FUSED: bool>(
        columns: Columns,
        rows: Range<usize>,
        group: &mut TileRows,
        out: &[Lane],
        d_out: &[Lane],
        below_centres: &mut [Lane; GROUP],
    ) {
        let length = group.length;
        let weights = group.weights.chunks_mut(length).zip(&group.inverse);
        for ((i, (row, &inverse)), below) in rows.clone().zip(weights).zip(below_centres) {
            for weight in &mut row[..=i] {
                *weight = *weight * inverse;
            }
            let (out_row, d_row) = (columns.row(out, i), columns.row(d_out, i));
            for m in 0..columns.size {
                *below = *below - out_row[m] * d_row[m];
            }
        }
        // Another group may have had more rows.
        let after = (BEYOND + rows.len()) * length;
        group.slopes[after..][..BEYOND * length].fill(Lane::ZERO);
    }
);

leveled!(
    /// The slopes of a group's rows in a block of keys.
    fn slopes<const FUSED: bool, tall TALL>(
        inputs: &Inputs,
        rows: Range<usize>,
        block: &Range<usize>,
        d_out: &[Lane],
        below_centres: &[Lane; GROUP],
        group: &mut TileRows,
    ) {
        slopes_any::<FUSED, TALL>(inputs, &rows, block, d_out, below_centres, group);
        group.mend_slopes::<FUSED>(&rows, block, below_centres);
    }
);

/// Blocks of the keys that any of the rows sees.
#[inline(always)]
fn blocks(rows: &Range<usize>, columns: Columns) -> impl Iterator<Item = Range<usize>> + use<> {
    let (size, end) = (block_size(columns), rows.end);
    (0..end)
        .step_by(size)
        .map(move |start| start..(start + size).min(end))
}

/// Shows every row of a head's attention to `probe`, computed by the forward's own passes. A `signed` pattern is
/// without its uniform part.
pub fn show(
    level: Level,
    inputs: &Inputs,
    rows: usize,
    (layer, head): (usize, usize),
    signed: bool,
    probe: AttnProbe,
) {
    let mut group = TileRows::new(rows, inputs.columns.size, &mut Allocator::default());
    group.turn_to(inputs);
    let mut attn_scores = vec![Lane::ZERO; rows];
    for i in 0..rows {
        show_row(level, inputs, i, &mut group, &mut attn_scores);
        if signed {
            let share = Lane::splat(1.0 / (i + 1) as f32);
            group.weights[..=i].iter_mut().for_each(|p| *p = *p - share);
        }
        probe(AttnRow {
            layer,
            head,
            position: i,
            attn_scores: &attn_scores[..=i],
            attn_pattern: &group.weights[..=i],
        });
    }
}

leveled!(
    /// Writes the pattern of one row into the group's first row of weights, and its scores beside it.
    fn show_row<const FUSED: bool, tall TALL>(
        inputs: &Inputs,
        i: usize,
        group: &mut TileRows,
        attn_scores: &mut [Lane],
    ) {
        let row = i..i + 1;
        scores_any::<FUSED, TALL>(inputs, &row, group);
        for (shown, &score) in attn_scores.iter_mut().zip(&group.weights[..=i]) {
            *shown = score * LN_2;
        }
        softmax_any::<FUSED>(&row, group);
        for weight in &mut group.weights[..=i] {
            *weight = *weight * group.inverse[0];
        }
    }
);
