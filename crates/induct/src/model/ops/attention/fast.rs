//! Attention of any size over lanes.
//!
//! The work goes by small groups of rows. A group's forward leaves its weights 2^s behind, and its backward uses them at
//! once; whoever runs the backward later runs the forward of the group again. A group goes through its keys in blocks
//! that stay in the fastest cache while all its rows use them. Within both, every pass is a product of small matrices in
//! tiles of two rows by two keys (sums in registers), because a machine loads two vectors in the time of two multiplications:
//!
//! - scores:   s_ij = bias_δ + (q_i + r_δ) · k_j and its variants, in units of ln 2
//! - averages: out_i = Σ_j p_ij u_j
//! - slopes:   ds_ij = ln 2 · p_ij (dout_i · u_j − dout_i · out_i)
//! - dq_i = Σ_j ds_ij k_j, and the gradients of keys, values and positions, which many rows add to.

use std::f32::consts::LN_2;
use std::ops::Range;

use super::{AttnProbe, AttnRow, RelativeTerm};
use crate::model::lane::Lane;
use crate::model::level::{Level, leveled};

/// Which numbers of a wider row belong to a head: `size` of them from `offset` on, rows being `stride` apart.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// Length of a whole row.
    pub stride: usize,
    /// The first.
    pub offset: usize,
    /// How many.
    pub size: usize,
}

impl Columns {
    #[inline(always)]
    fn row<T>(self, data: &[T], row: usize) -> &[T] {
        &data[row * self.stride + self.offset..][..self.size]
    }

    #[inline(always)]
    fn row_mut<T>(self, data: &mut [T], row: usize) -> &mut [T] {
        &mut data[row * self.stride + self.offset..][..self.size]
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

/// What a head reads. The scale of the scores, log₂ e / √m, is in the queries and positions already.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Queries, keys and values, one row a position.
    pub queries: &'a [Lane],
    /// Keys.
    pub keys: &'a [Lane],
    /// Values.
    pub values: &'a [Lane],
    /// Which of a row's numbers positions meet, if they meet the query.
    pub asking: Asking,
    /// The head's place in rows of those three.
    pub columns: Columns,
    /// What positions meet.
    pub relative: RelativeTerm,
    /// Positional vectors, one row a lag.
    pub positions: &'a [f32],
    /// The head's place in rows of those.
    pub lag_columns: Columns,
    /// Whether the number before the head's place is a bias of that lag.
    pub bias: bool,
}

/// Which of a row's numbers positions meet, if they meet the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// Its query.
    Query,
    /// Its own key: coordinates are asked for as they are.
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
    /// Of the queries: set.
    pub queries: &'a mut [Lane],
    /// Of the keys: added to.
    pub keys: &'a mut [Lane],
    /// Of the values: added to; where there is none, that of the keys is, for keys that are their own values.
    pub values: Option<&'a mut [Lane]>,
    /// Of the positions, by lane: added to.
    pub positions: &'a mut [Lane],
}

/// Rows that a group may have.
pub const GROUP: usize = 16;

/// What a group of rows leaves behind: one row of weights, as long as the longest context, and one over its sum.
#[derive(Clone, Debug)]
pub struct Group {
    length: usize,
    /// [GROUP, t]
    weights: Vec<Lane>,
    slopes: Vec<Lane>,
    inverse: Vec<Lane>,
}

impl Group {
    /// Room for rows of contexts up to t = `length`.
    pub fn new(length: usize) -> Self {
        Self {
            length,
            weights: vec![Lane::ZERO; GROUP * length],
            slopes: vec![Lane::ZERO; GROUP * length],
            inverse: vec![Lane::ZERO; GROUP],
        }
    }
}

/// Rows that share what they load.
const PAIR: usize = 2;

/// Keys of a block, so that it stays in the fastest cache: an even number.
#[inline(always)]
fn block_size(columns: Columns) -> usize {
    const CACHED_LANES: usize = 512;
    (CACHED_LANES / columns.size).max(8) & !1
}

/// Calls `$tile::<…, R, C, L>(…)` for all keys of a block that rows i … i + R − 1 see. The arguments may use the names given for
/// the first row of a tile, its first key, and its row's number within the R.
macro_rules! over_tiles {
    ($r:ident, $i:expr, $block:expr, |$row:ident, $key:ident, $a:ident|
        $tile:ident::<$($flag:ident),*>($($argument:expr),* $(,)?)) => {
        let (i, block) = ($i, $block);
        let ($row, $a) = (i, 0);
        let common = block.end.min(i + 1);
        if $r == PAIR {
            let whole = block.start + (common.max(block.start) - block.start) / 2 * 2;
            for $key in (block.start..whole).step_by(2) {
                $tile::<$($flag,)* 2, 2, 3>($($argument),*);
            }
            for $key in whole..common {
                $tile::<$($flag,)* 2, 1, 2>($($argument),*);
            }
            if block.contains(&(i + 1)) {
                let ($row, $key, $a) = (i + 1, i + 1, 1);
                $tile::<$($flag,)* 1, 1, 1>($($argument),*);
            }
        } else {
            for $key in block.start..common {
                $tile::<$($flag,)* 1, 1, 1>($($argument),*);
            }
        }
    };
}

leveled!(
    /// Sets the rows of `out` (laid out as the values), and leaves their weights in `group`.
    pub fn forward(inputs: &Inputs, rows: Range<usize>, group: &mut Group, out: &mut [Lane]) = forward_any
);

leveled!(
    /// Leaves the weights of a group's rows behind, as [`forward`] does.
    pub fn weights(inputs: &Inputs, rows: Range<usize>, group: &mut Group) = weights_any
);

leveled!(
    /// The gradients of a group's rows, right after its [`forward`] or [`weights`]: `out` is what the forward computed,
    /// `d_out` its gradient.
    pub fn backward(
        inputs: &Inputs,
        rows: Range<usize>,
        group: &mut Group,
        out: &[Lane],
        d_out: &[Lane],
        grads: &mut Gradients,
    ) = backward_any
);

#[inline(always)]
fn forward_any<const FUSED: bool>(
    inputs: &Inputs,
    rows: Range<usize>,
    group: &mut Group,
    out: &mut [Lane],
) {
    weights_any::<FUSED>(inputs, rows.clone(), group);
    let (columns, weights) = (
        inputs.columns,
        Triangle::new(&group.weights, group.length, &rows),
    );
    for i in rows.clone() {
        columns.row_mut(out, i).fill(Lane::ZERO);
    }
    for block in blocks(&rows, columns) {
        let values = Source {
            data: inputs.values,
            columns,
        };
        weights.sum_over_keys::<FUSED>(&block, values, out);
    }
    for (i, &inverse) in rows.zip(&group.inverse) {
        for sum in columns.row_mut(out, i) {
            *sum = *sum * inverse;
        }
    }
}

#[inline(always)]
fn weights_any<const FUSED: bool>(inputs: &Inputs, rows: Range<usize>, group: &mut Group) {
    let length = group.length;
    for block in blocks(&rows, inputs.columns) {
        let weights = group.weights.chunks_mut(PAIR * length);
        for (i, weights) in rows.clone().step_by(PAIR).zip(weights) {
            match rows.end - i {
                1 => scores_of_rows::<FUSED, 1>(inputs, i, &block, length, weights),
                _ => scores_of_rows::<FUSED, 2>(inputs, i, &block, length, weights),
            }
        }
    }
    let weights = group.weights.chunks_mut(length).zip(&mut group.inverse);
    for (i, (row, inverse)) in rows.clone().zip(weights) {
        *inverse = exponentials::<FUSED>(&mut row[..=i]).inverse();
        // What a row does not see, its pair may.
        row[i + 1..rows.end].fill(Lane::ZERO);
    }
}

/// Blocks of the keys that some rows see.
#[inline(always)]
fn blocks(rows: &Range<usize>, columns: Columns) -> impl Iterator<Item = Range<usize>> + use<> {
    let (size, end) = (block_size(columns), rows.end);
    (0..end)
        .step_by(size)
        .map(move |start| start..(start + size).min(end))
}

/// The scores of rows i … i + R − 1 in a block of keys, one row of `scores` each.
#[inline(always)]
fn scores_of_rows<const FUSED: bool, const R: usize>(
    inputs: &Inputs,
    i: usize,
    block: &Range<usize>,
    length: usize,
    scores: &mut [Lane],
) {
    over_tiles!(R, i, block, |row, key, a| score_tile::<FUSED>(
        inputs,
        (row, key),
        length,
        &mut scores[a * length..]
    ));
}

/// The scores of rows i … i + R − 1 at keys j … j + C − 1, none of them later than i. L = R + C − 1 is the number of
/// lags they have: row a and key b are i − j + a − b apart.
#[inline(always)]
fn score_tile<const FUSED: bool, const R: usize, const C: usize, const L: usize>(
    inputs: &Inputs,
    (i, j): (usize, usize),
    length: usize,
    scores: &mut [Lane],
) {
    let columns = inputs.columns;
    let q: [&[Lane]; R] = columns.rows(inputs.queries, i);
    let k: [&[Lane]; C] = columns.rows(inputs.keys, j);
    let first = i - j + 1 - C;
    let mut sums = [[Lane::ZERO; C]; R];
    if inputs.relative == RelativeTerm::Absent {
        for m in 0..columns.size {
            for a in 0..R {
                for b in 0..C {
                    sums[a][b] = q[a][m].times_plus::<FUSED>(k[b][m], sums[a][b]);
                }
            }
        }
    } else {
        let lags: [&[f32]; L] = lags(inputs, first);
        if inputs.bias {
            for a in 0..R {
                for b in 0..C {
                    let lag = inputs.lag_columns.stride * (first + a + C - 1 - b);
                    let bias = inputs.positions[lag + inputs.lag_columns.offset - 1];
                    sums[a][b] = Lane::splat(bias);
                }
            }
        }
        if inputs.relative == RelativeTerm::Key {
            for m in 0..columns.size {
                for a in 0..R {
                    for b in 0..C {
                        let asks = q[a][m] + Lane::splat(lags[a + C - 1 - b][m]);
                        sums[a][b] = asks.times_plus::<FUSED>(k[b][m], sums[a][b]);
                    }
                }
            }
        } else {
            let p: [&[Lane]; R] = columns.rows(inputs.asking(), i);
            for m in 0..columns.size {
                for a in 0..R {
                    for b in 0..C {
                        let position = Lane::splat(lags[a + C - 1 - b][m]);
                        sums[a][b] = q[a][m].times_plus::<FUSED>(k[b][m], sums[a][b]);
                        sums[a][b] = p[a][m].times_plus::<FUSED>(position, sums[a][b]);
                    }
                }
            }
        }
    }
    for a in 0..R {
        scores[a * length + j..][..C].copy_from_slice(&sums[a]);
    }
}

/// The positional vectors of L lags from `first` on.
#[inline(always)]
fn lags<'a, const L: usize>(inputs: &Inputs<'a>, first: usize) -> [&'a [f32]; L] {
    inputs.lag_columns.rows(inputs.positions, first)
}

/// Makes a row of scores into weights 2^(s − largest), and returns their sum.
#[inline(always)]
fn exponentials<const FUSED: bool>(row: &mut [Lane]) -> Lane {
    let mut most = row[0];
    for &score in row.iter() {
        most = most.max(score);
    }
    let mut sum = Lane::ZERO;
    for score in row {
        *score = (*score - most).exp2_clamped::<FUSED>();
        sum += *score;
    }
    sum
}

/// - p = softmax(s)        ⟹  ds_ij = p_ij (dp_ij − Σ_l p_il dp_il), and the sum is dout_i · out_i
/// - out_i = Σ_j p_ij u_j  ⟹  du_j += Σ_i p_ij dout_i
/// - s_ij = bias_δ + q_i · k_j + r_δ · k_j or r_δ · p_i  ⟹  dbias_δ += Σ ds_ij, dq_i = Σ_j ds_ij k_j,
///   dk_j += Σ_i ds_ij (q_i + r_δ), dr_δ += Σ ds_ij k_j, or without r_δ, dp_i += Σ_j ds_ij r_δ, dr_δ += Σ ds_ij p_i
#[inline(always)]
fn backward_any<const FUSED: bool>(
    inputs: &Inputs,
    rows: Range<usize>,
    group: &mut Group,
    out: &[Lane],
    d_out: &[Lane],
    grads: &mut Gradients,
) {
    let (columns, length) = (inputs.columns, group.length);
    let weights = group.weights.chunks_mut(length).zip(&group.inverse);
    let mut below_centres = [Lane::ZERO; GROUP];
    for ((i, (row, &inverse)), below) in rows.clone().zip(weights).zip(&mut below_centres) {
        for weight in &mut row[..=i] {
            *weight = *weight * inverse;
        }
        let (out_row, d_row) = (columns.row(out, i), columns.row(d_out, i));
        for m in 0..columns.size {
            *below = *below - out_row[m] * d_row[m];
        }
        columns.row_mut(grads.queries, i).fill(Lane::ZERO);
    }
    for block in blocks(&rows, columns) {
        let pairs = group.weights.chunks(PAIR * length);
        let pairs = pairs.zip(group.slopes.chunks_mut(PAIR * length));
        for (a, (pattern, slopes)) in (0..rows.len()).step_by(PAIR).zip(pairs) {
            let (i, below) = (rows.start + a, &below_centres[a..]);
            match rows.len() - a {
                1 => slopes_of_rows::<FUSED, 1>(inputs, d_out, below, i, &block, pattern, slopes),
                _ => slopes_of_rows::<FUSED, 2>(inputs, d_out, below, i, &block, pattern, slopes),
            }
        }
        let pattern = Triangle::new(&group.weights, length, &rows);
        let slopes = Triangle::new(&group.slopes, length, &rows);
        let source = |data| Source { data, columns };
        slopes.sum_over_keys::<FUSED>(&block, source(inputs.keys), grads.queries);
        match (&mut grads.values, inputs.relative) {
            (None, RelativeTerm::Key) => {
                slopes
                    .sum_asked_over_rows::<FUSED, true>(pattern, &block, inputs, d_out, grads.keys);
            }
            (Some(values), RelativeTerm::Key) => {
                slopes.sum_asked_over_rows::<FUSED, false>(
                    pattern, &block, inputs, d_out, grads.keys,
                );
                pattern.sum_over_rows::<FUSED>(&block, source(d_out), values);
            }
            (values, _) => {
                slopes.sum_over_rows::<FUSED>(&block, source(inputs.queries), grads.keys);
                let values = values.as_deref_mut().unwrap_or(&mut *grads.keys);
                pattern.sum_over_rows::<FUSED>(&block, source(d_out), values);
            }
        }
    }
    if inputs.relative == RelativeTerm::Absent {
        return;
    }
    let slopes = Triangle::new(&group.slopes, length, &rows);
    if inputs.bias {
        for (i, slopes) in rows.clone().zip(group.slopes.chunks(length)) {
            let lags = grads.positions.chunks_mut(inputs.lag_columns.stride);
            for (lag, &ds) in lags.zip(slopes[..=i].iter().rev()) {
                lag[inputs.lag_columns.offset - 1] += ds;
            }
        }
    }
    if inputs.relative == RelativeTerm::Key {
        let source = Source {
            data: inputs.keys,
            columns,
        };
        slopes.sum_by_lag::<FUSED, true>(source, inputs.lag_columns, grads.positions);
    } else {
        let source = Source {
            data: inputs.asking(),
            columns,
        };
        slopes.sum_by_lag::<FUSED, false>(source, inputs.lag_columns, grads.positions);
        let d_asking = match inputs.asking {
            Asking::Query => &mut *grads.queries,
            Asking::Key => &mut *grads.keys,
        };
        slopes.sum_lags_over_keys::<FUSED>(inputs, d_asking);
    }
}

/// The slopes of rows i … i + R − 1 in a block of keys.
#[inline(always)]
fn slopes_of_rows<const FUSED: bool, const R: usize>(
    inputs: &Inputs,
    d_out: &[Lane],
    below: &[Lane],
    i: usize,
    block: &Range<usize>,
    pattern: &[Lane],
    slopes: &mut [Lane],
) {
    let (columns, length) = (inputs.columns, slopes.len() / PAIR);
    let d_rows: [&[Lane]; R] = columns.rows(d_out, i);
    let mut below_centre = [Lane::ZERO; R];
    below_centre.copy_from_slice(&below[..R]);
    // Rows have no weight where they do not see: what is behind the last of a pair matters to others of the group.
    let whole = block.start + block.len() / 2 * 2;
    for j in (block.start..whole).step_by(2) {
        let values = columns.rows(inputs.values, j);
        slope_tile::<FUSED, R, 2>(d_rows, values, below_centre, pattern, (length, j), slopes);
    }
    for j in whole..block.end {
        let values = columns.rows(inputs.values, j);
        slope_tile::<FUSED, R, 1>(d_rows, values, below_centre, pattern, (length, j), slopes);
    }
}

/// ds of R rows at keys j … j + C − 1: ln 2 · p_ij (dout_i · u_j − dout_i · out_i). `place` is (row length, j).
#[inline(always)]
fn slope_tile<const FUSED: bool, const R: usize, const C: usize>(
    d_rows: [&[Lane]; R],
    values: [&[Lane]; C],
    below_centre: [Lane; R],
    pattern: &[Lane],
    (length, j): (usize, usize),
    slopes: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; C]; R];
    for a in 0..R {
        sums[a] = [below_centre[a]; C];
    }
    for m in 0..d_rows[0].len() {
        for a in 0..R {
            for b in 0..C {
                sums[a][b] = d_rows[a][m].times_plus::<FUSED>(values[b][m], sums[a][b]);
            }
        }
    }
    for a in 0..R {
        let p = &pattern[a * length + j..][..C];
        let ds = &mut slopes[a * length + j..][..C];
        for b in 0..C {
            ds[b] = p[b] * sums[a][b] * LN_2;
        }
    }
}

/// Weights (or their slopes) of a group of rows at all keys, zero where a row does not see a key, and the sums that they weigh.
#[derive(Clone, Copy)]
struct Triangle<'a> {
    /// [rows, t]
    entries: &'a [Lane],
    length: usize,
    /// The group's first row, and how many.
    first: usize,
    count: usize,
}

/// Entries that are not side by side in a triangle, brought together: one a row of the group.
type Packed = [Lane; GROUP];

impl<'a> Triangle<'a> {
    #[inline(always)]
    fn new(entries: &'a [Lane], length: usize, rows: &Range<usize>) -> Self {
        Self {
            entries,
            length,
            first: rows.start,
            count: rows.len(),
        }
    }

    /// Entries from `start` on, `step` apart: down a column, or along a diagonal.
    #[inline(always)]
    fn packed(self, start: usize, step: usize, count: usize) -> Packed {
        let mut packed = [Lane::ZERO; GROUP];
        let entries = self.entries[start..].iter().step_by(step);
        for (slot, &entry) in packed.iter_mut().zip(entries.take(count)) {
            *slot = entry;
        }
        packed
    }

    /// out_i += Σ_j entries_ij source_j over the keys of a block, for every row.
    #[inline(always)]
    fn sum_over_keys<const FUSED: bool>(
        self,
        block: &Range<usize>,
        source: Source<Lane>,
        out: &mut [Lane],
    ) {
        let columns = source.columns;
        for a in (0..self.count).step_by(PAIR) {
            let row = |a: usize| &self.entries[a * self.length..][block.clone()];
            let (i, keys) = (self.first + a, block.start);
            if a + 1 < self.count {
                let weights = [row(a), row(a + 1)];
                add_sums::<FUSED, false, Lane, 2>(weights, keys, source, columns, [i, i + 1], out);
            } else {
                add_sums::<FUSED, false, Lane, 1>([row(a)], keys, source, columns, [i], out);
            }
        }
    }

    /// out_j += Σ_i entries_ij source_i over the group's rows, for every key of a block.
    #[inline(always)]
    fn sum_over_rows<const FUSED: bool>(
        self,
        block: &Range<usize>,
        source: Source<Lane>,
        out: &mut [Lane],
    ) {
        let (columns, first, count) = (source.columns, self.first, self.count);
        for j in block.clone().step_by(PAIR) {
            let one = self.packed(j, self.length, count);
            if j + 1 < block.end {
                let other = self.packed(j + 1, self.length, count);
                let weights = [&one[..count], &other[..count]];
                add_sums::<FUSED, false, Lane, 2>(weights, first, source, columns, [j, j + 1], out);
            } else {
                let weights = [&one[..count]];
                add_sums::<FUSED, false, Lane, 1>(weights, first, source, columns, [j], out);
            }
        }
    }

    /// out_j += Σ_i entries_ij (q_i + r_{i−j}) over the group's rows, for every key of a block; where keys are their `OWN` values,
    /// + Σ_i pattern_ij dout_i in the same go.
    #[inline(always)]
    fn sum_asked_over_rows<const FUSED: bool, const OWN: bool>(
        self,
        pattern: Self,
        block: &Range<usize>,
        inputs: &Inputs,
        d_out: &[Lane],
        out: &mut [Lane],
    ) {
        let (columns, count, length) = (inputs.columns, self.count, self.length);
        // Up to the group's first row, all rows see both keys of a pair; the later of the two has the smaller lags.
        let common = block.end.min(self.first + 1).max(block.start);
        let whole = block.start + (common - block.start) / 2 * 2;
        for j in (block.start..whole).step_by(PAIR) {
            let asked = Asked {
                slopes: [
                    self.packed(j + 1, length, count),
                    self.packed(j, length, count),
                ],
                pattern: [
                    pattern.packed(j + 1, length, count),
                    pattern.packed(j, length, count),
                ],
                count,
                row: self.first,
                lag: self.first - j - 1,
            };
            let mut start = 0;
            while start < columns.size {
                start += match columns.size - start {
                    1 => asked.add_columns::<FUSED, OWN, 1>(inputs, start, d_out, [j + 1, j], out),
                    2 | 3 => {
                        asked.add_columns::<FUSED, OWN, 2>(inputs, start, d_out, [j + 1, j], out)
                    }
                    _ => asked.add_columns::<FUSED, OWN, 4>(inputs, start, d_out, [j + 1, j], out),
                };
            }
        }
        let lags = Source {
            data: inputs.positions,
            columns: inputs.lag_columns,
        };
        for j in whole..block.end {
            // Rows before key j do not see it.
            let unseen = j.saturating_sub(self.first);
            let (row, count) = (self.first + unseen, count - unseen);
            let from = unseen * length + j;
            let slopes = self.packed(from, length, count);
            let slopes = [&slopes[..count]];
            let source = |data| Source { data, columns };
            let queries = source(inputs.queries);
            add_sums::<FUSED, false, Lane, 1>(slopes, row, queries, columns, [j], out);
            add_sums::<FUSED, true, f32, 1>(slopes, row - j, lags, columns, [j], out);
            if OWN {
                let pattern = pattern.packed(from, length, count);
                let pattern = [&pattern[..count]];
                add_sums::<FUSED, false, Lane, 1>(pattern, row, source(d_out), columns, [j], out);
            }
        }
    }

    /// dr_δ += Σ_i entries_{i,i−δ} source over the group's rows, for every lag: the source is that of key i − δ if `KEY`, else
    /// that of row i. `places` are the lags' in `out`.
    #[inline(always)]
    fn sum_by_lag<const FUSED: bool, const KEY: bool>(
        self,
        source: Source<Lane>,
        places: Columns,
        out: &mut [Lane],
    ) {
        let (count, step) = (self.count, self.length + 1);
        // All rows have the lags up to the first row's longest; the longer of two has the earlier keys.
        let whole = (self.first + 1) / PAIR * PAIR;
        for lag in (0..whole).step_by(PAIR) {
            let key = self.first - lag - 1;
            let longer = self.packed(key, step, count);
            let shorter = self.packed(key + 1, step, count);
            let (weights, rows) = ([&longer[..count], &shorter[..count]], [lag + 1, lag]);
            let first = if KEY { key } else { self.first };
            add_sums::<FUSED, KEY, Lane, 2>(weights, first, source, places, rows, out);
        }
        for lag in whole..self.first + self.count {
            let without = lag.saturating_sub(self.first);
            let (row, count) = (self.first + without, count - without);
            let packed = self.packed(without * self.length + row - lag, step, count);
            let first = if KEY { row - lag } else { row };
            add_sums::<FUSED, KEY, Lane, 1>([&packed[..count]], first, source, places, [lag], out);
        }
    }

    /// out_i += Σ_j entries_ij r_{i−j}, for every row.
    #[inline(always)]
    fn sum_lags_over_keys<const FUSED: bool>(self, inputs: &Inputs, out: &mut [Lane]) {
        let rows = self.entries.chunks(self.length).take(self.count);
        for (a, entries) in rows.enumerate() {
            let i = self.first + a;
            let out_row = inputs.columns.row_mut(out, i);
            for (j, &entry) in entries[..=i].iter().enumerate() {
                let lag = inputs.lag_columns.row(inputs.positions, i - j);
                for (sum, &r) in out_row.iter_mut().zip(lag) {
                    *sum = entry.times_plus::<FUSED>(Lane::splat(r), *sum);
                }
            }
        }
    }
}

/// What the rows of a group ask of two neighbouring keys, the later one first.
struct Asked {
    slopes: [Packed; 2],
    pattern: [Packed; 2],
    count: usize,
    /// The group's first row, and its lag to the later key.
    row: usize,
    lag: usize,
}

impl Asked {
    /// Adds slopes_i (q_i + r) and, if `OWN`, pattern_i dout_i, summed over rows, to N columns from `start` on of two rows of
    /// `out`; returns N.
    #[inline(always)]
    fn add_columns<const FUSED: bool, const OWN: bool, const N: usize>(
        &self,
        inputs: &Inputs,
        start: usize,
        d_out: &[Lane],
        rows: [usize; 2],
        out: &mut [Lane],
    ) -> usize {
        let part = |columns: Columns| Columns {
            offset: columns.offset + start,
            size: N,
            ..columns
        };
        let (columns, lag_columns) = (part(inputs.columns), part(inputs.lag_columns));
        let mut sums = [[Lane::ZERO; N]; 2];
        for r in 0..2 {
            sums[r].copy_from_slice(columns.row(out, rows[r]));
        }
        for n in 0..self.count {
            let q = columns.row(inputs.queries, self.row + n);
            let d = columns.row(d_out, self.row + n);
            for r in 0..2 {
                let lag = lag_columns.row(inputs.positions, self.lag + n + r);
                for c in 0..N {
                    let asks = q[c] + Lane::splat(lag[c]);
                    sums[r][c] = self.slopes[r][n].times_plus::<FUSED>(asks, sums[r][c]);
                    if OWN {
                        sums[r][c] = self.pattern[r][n].times_plus::<FUSED>(d[c], sums[r][c]);
                    }
                }
            }
        }
        for r in 0..2 {
            columns.row_mut(out, rows[r]).copy_from_slice(&sums[r]);
        }
        N
    }
}

/// Rows that a sum takes its terms from: lanes, or plain numbers that all lanes share.
#[derive(Clone, Copy)]
struct Source<'a, T> {
    data: &'a [T],
    columns: Columns,
}

/// A number that all lanes may share.
trait Number: Copy {
    fn lane(self) -> Lane;
}

impl Number for Lane {
    #[inline(always)]
    fn lane(self) -> Lane {
        self
    }
}

impl Number for f32 {
    #[inline(always)]
    fn lane(self) -> Lane {
        Lane::splat(self)
    }
}

/// Adds to R rows of `out` a sum each: Σ_n weights_r[n] source[first + n], one row of the source later for the second if
/// `DIAGONAL`.
#[inline(always)]
fn add_sums<const FUSED: bool, const DIAGONAL: bool, T: Number, const R: usize>(
    weights: [&[Lane]; R],
    first: usize,
    source: Source<T>,
    columns: Columns,
    rows: [usize; R],
    out: &mut [Lane],
) {
    let mut start = 0;
    while start < columns.size {
        let part = |columns: Columns| Columns {
            offset: columns.offset + start,
            ..columns
        };
        let source = Source {
            columns: part(source.columns),
            ..source
        };
        let place = part(columns);
        start += match columns.size - start {
            1 => add_columns::<FUSED, DIAGONAL, T, R, 1>(weights, first, source, place, rows, out),
            2 | 3 => {
                add_columns::<FUSED, DIAGONAL, T, R, 2>(weights, first, source, place, rows, out)
            }
            _ => add_columns::<FUSED, DIAGONAL, T, R, 4>(weights, first, source, place, rows, out),
        };
    }
}

/// The same for N columns; returns N.
#[inline(always)]
fn add_columns<
    const FUSED: bool,
    const DIAGONAL: bool,
    T: Number,
    const R: usize,
    const N: usize,
>(
    weights: [&[Lane]; R],
    first: usize,
    source: Source<T>,
    columns: Columns,
    rows: [usize; R],
    out: &mut [Lane],
) -> usize {
    let columns = Columns { size: N, ..columns };
    let mut sums = [[Lane::ZERO; N]; R];
    for r in 0..R {
        sums[r].copy_from_slice(columns.row(out, rows[r]));
    }
    // All of one length, so that nothing is checked inside the loop; the second of one is the first again.
    let Columns { stride, offset, .. } = source.columns;
    let terms = &source.data[first * stride..];
    let shift = if DIAGONAL { (R - 1) * stride } else { 0 };
    let pairs = weights[0].iter().zip(weights[R - 1]);
    let terms = terms
        .chunks_exact(stride)
        .zip(terms[shift..].chunks_exact(stride));
    for ((&one, &other), (row, shifted)) in pairs.zip(terms) {
        let (row, shifted) = (&row[offset..][..N], &shifted[offset..][..N]);
        for c in 0..N {
            sums[0][c] = one.times_plus::<FUSED>(row[c].lane(), sums[0][c]);
        }
        if R == PAIR {
            for c in 0..N {
                sums[R - 1][c] = other.times_plus::<FUSED>(shifted[c].lane(), sums[R - 1][c]);
            }
        }
    }
    for r in 0..R {
        columns.row_mut(out, rows[r]).copy_from_slice(&sums[r]);
    }
    N
}

/// Shows every row of a head's attention to `probe`, by the very passes of the forward; `constant` is a part of every score of
/// row i that does not depend on j and that the queries lack, in units of ln 2.
pub fn show(
    level: Level,
    inputs: &Inputs,
    rows: usize,
    (layer, head): (usize, usize),
    constant: impl Fn(usize) -> Lane,
    probe: AttnProbe,
) {
    let mut group = Group::new(rows);
    let mut attn_scores = vec![Lane::ZERO; rows];
    for i in 0..rows {
        scores(level, inputs, i, &mut group);
        let (constant, row) = (constant(i), &mut group.weights[..=i]);
        for (shown, &score) in attn_scores.iter_mut().zip(row.iter()) {
            *shown = (score + constant) * LN_2;
        }
        weights(level, inputs, i..i + 1, &mut group);
        let (inverse, row) = (group.inverse[0], &mut group.weights[..=i]);
        row.iter_mut()
            .for_each(|weight| *weight = *weight * inverse);
        probe(AttnRow {
            layer,
            head,
            position: i,
            attn_scores: &attn_scores[..=i],
            attn_pattern: row,
        });
    }
}

leveled!(
    /// The scores of one row, into the group's first row of weights.
    fn scores(inputs: &Inputs, i: usize, group: &mut Group) = scores_any
);

#[inline(always)]
fn scores_any<const FUSED: bool>(inputs: &Inputs, i: usize, group: &mut Group) {
    let length = group.length;
    scores_of_rows::<FUSED, 1>(inputs, i, &(0..i + 1), length, &mut group.weights);
}
