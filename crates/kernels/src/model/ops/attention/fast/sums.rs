//! Sums of rows, weighted by the weights of a group or by their slopes: over keys, over rows, and by lag.

use std::ops::Range;

use super::{Columns, GROUP, Inputs, PAIR};
use crate::lanes::Lane;
use crate::model::ops::linear::heights;

/// Runs `$body` over tiles of columns: `$start` is the first of $N columns, at most five. `$width` gives the
/// width of the next tile, from the number of columns left.
macro_rules! in_tiles {
    ($size:expr, $width:ident, |$start:ident, $N:ident| $body:expr) => {{
        let (size, mut $start) = ($size, 0);
        while $start < size {
            let width = $width(size - $start);
            match width {
                1 => in_tiles!(@1 $N $body),
                2 => in_tiles!(@2 $N $body),
                3 => in_tiles!(@3 $N $body),
                4 => in_tiles!(@4 $N $body),
                _ => in_tiles!(@5 $N $body),
            }
            $start += width;
        }
    }};
    (@$n:literal $N:ident $body:expr) => {{
        const $N: usize = $n;
        $body
    }};
}

pub(super) use in_tiles;

/// Up to five columns, chosen so that no single column is left over if that can be avoided.
#[inline(always)]
pub(super) fn up_to_five(left: usize) -> usize {
    match left {
        0..=5 => left,
        6 => 3,
        _ if left.is_multiple_of(4) || left == 7 => 4,
        _ => 5,
    }
}

/// The same for up to four.
#[inline(always)]
fn up_to_four(left: usize) -> usize {
    match left {
        0..=4 => left,
        5 | 6 | 9 => 3,
        _ => 4,
    }
}

/// Weights (or their slopes) of a group of rows at all keys, zero where a row does not see a key,
/// and the sums that they weight.
#[derive(Clone, Copy)]
pub(super) struct Triangle<'a> {
    /// [rows, t]
    pub(super) entries: &'a [Lane],
    pub(super) length: usize,
    /// The group's first row, and the number of rows.
    pub(super) first: usize,
    pub(super) count: usize,
}

/// Entries that are not contiguous in a triangle, packed: one per row of the group.
type Packed = [Lane; GROUP];

const UNPACKED: Packed = [Lane::ZERO; GROUP];

impl<'a> Triangle<'a> {
    #[inline(always)]
    pub fn new(entries: &'a [Lane], length: usize, rows: &Range<usize>) -> Self {
        Self {
            entries,
            length,
            first: rows.start,
            count: rows.len(),
        }
    }

    /// Packs `count` entries from `start` on, `step` apart: a column or a diagonal.
    #[inline(always)]
    fn pack(self, start: usize, step: usize, count: usize, packed: &mut Packed) -> &[Lane] {
        let packed = &mut packed[..count];
        let entries = &self.entries[start..];
        for n in 0..count {
            packed[n] = entries[n * step];
        }
        packed
    }

    /// out_i += Σ_j entries_ij source_j over the keys of a block, for every row.
    #[inline(always)]
    pub fn sum_over_keys<const FUSED: bool, const TALL: usize>(
        self,
        block: &Range<usize>,
        source: Source,
        out: &mut [Lane],
    ) {
        let mut a = 0;
        for (height, end) in heights::<TALL>(self.count) {
            while a < end {
                match height {
                    1 => self.rows_over_keys::<FUSED, 1>(a, block, source, out),
                    2 => self.rows_over_keys::<FUSED, 2>(a, block, source, out),
                    _ => self.rows_over_keys::<FUSED, TALL>(a, block, source, out),
                }
                a += height;
            }
        }
    }

    /// The same for R rows of the group, from row a on.
    #[inline(always)]
    fn rows_over_keys<const FUSED: bool, const R: usize>(
        self,
        a: usize,
        block: &Range<usize>,
        source: Source,
        out: &mut [Lane],
    ) {
        let i = self.first + a;
        // None of the rows sees beyond this.
        let keys = block.start..block.end.min(i + R).max(block.start);
        let (mut weights, mut rows) = ([&self.entries[..0]; R], [i; R]);
        for r in 0..R {
            weights[r] = &self.entries[(a + r) * self.length..][keys.clone()];
            rows[r] += r;
        }
        add_sums::<FUSED, false, R>(weights, keys.start, source, source.columns, rows, out);
    }

    /// out_j += Σ_i entries_ij source_i over the group's rows, for every key of a block and
    /// all columns but the first `data`.
    #[inline(always)]
    pub fn sum_over_rows<const FUSED: bool, const TALL: usize>(
        self,
        block: &Range<usize>,
        data: usize,
        source: Source,
        out: &mut [Lane],
    ) {
        let mut j = block.start;
        for (height, end) in heights::<TALL>(block.len()) {
            while j < block.start + end {
                match height {
                    1 => self.keys_over_rows::<FUSED, 1>(j, data, source, out),
                    2 => self.keys_over_rows::<FUSED, 2>(j, data, source, out),
                    _ => self.keys_over_rows::<FUSED, TALL>(j, data, source, out),
                }
                j += height;
            }
        }
    }

    /// The same for R keys, from key j on.
    #[inline(always)]
    fn keys_over_rows<const FUSED: bool, const R: usize>(
        self,
        j: usize,
        data: usize,
        source: Source,
        out: &mut [Lane],
    ) {
        let columns = source.columns.without(data);
        in_tiles!(columns.size, up_to_five, |start, N| {
            let columns = columns.part::<N>(start);
            let mut sums = [[Lane::ZERO; N]; R];
            for r in 0..R {
                sums[r].copy_from_slice(columns.row(out, j + r));
            }
            for n in 0..self.count {
                let entries: &[Lane; R] = self.entries[n * self.length + j..]
                    .first_chunk()
                    .expect("R keys");
                let row: &[Lane; N] = columns
                    .row(source.data, self.first + n)
                    .first_chunk()
                    .expect("N columns");
                for c in 0..N {
                    for r in 0..R {
                        sums[r][c] = entries[r].times_plus::<FUSED>(row[c], sums[r][c]);
                    }
                }
            }
            for r in 0..R {
                columns.row_mut(out, j + r).copy_from_slice(&sums[r]);
            }
        });
    }

    /// out_j += Σ_i entries_ij (q_i + r_{i−j}) + Σ_i pattern_ij dout_i over the group's rows, for every key of a
    /// block and all columns that are not data: both gradients of keys that are their own values.
    #[inline(always)]
    pub fn sum_asked_over_rows<const FUSED: bool>(
        self,
        pattern: Self,
        block: &Range<usize>,
        inputs: &Inputs,
        d_out: &[Lane],
        out: &mut [Lane],
    ) {
        let asked = Asked {
            places: inputs.columns.without(inputs.data),
            lags: inputs.lag_columns.without(inputs.data),
            inputs,
            d_out,
        };
        let (first, end, length) = (self.first, self.first + self.count, self.length);
        let mut packed = [UNPACKED; 4];
        let [a, b, c, d] = &mut packed;
        for j in block.clone().step_by(PAIR) {
            // Rows before a key do not see it; the later of two keys has the smaller lags.
            let row = first.max(j);
            let start = (row - first) * length + j;
            let mut slopes = self.pack(start, length, end - row, a);
            let mut weights = pattern.pack(start, length, end - row, b);
            if j + 1 == block.end {
                asked.add::<FUSED, 1>([slopes], [weights], row, [j], out);
                continue;
            }
            let both = first.max(j + 1);
            if row < both {
                asked.add::<FUSED, 1>([&slopes[..1]], [&weights[..1]], j, [j], out);
                (slopes, weights) = (&slopes[1..], &weights[1..]);
            }
            let start = (both - first) * length + j + 1;
            let slopes = [self.pack(start, length, end - both, c), slopes];
            let weights = [pattern.pack(start, length, end - both, d), weights];
            asked.add::<FUSED, 2>(slopes, weights, both, [j + 1, j], out);
        }
    }

    /// dr_δ += Σ_i entries_{i,i−δ} source_{i−δ} over the group's rows, for every lag. Also
    /// dbias_δ += Σ_i entries_{i,i−δ}, where there is a bias.
    #[inline(always)]
    pub fn sum_keys_by_lag<const FUSED: bool>(
        self,
        inputs: &Inputs,
        source: Source,
        out: &mut [Lane],
    ) {
        let (first, step, places) = (self.first, self.length + 1, inputs.lag_columns);
        let end = first + self.count;
        let (mut one, mut other) = (UNPACKED, UNPACKED);
        for lag in (0..end).step_by(PAIR) {
            // Rows before a lag do not have it.
            let row = first.max(lag);
            let start = (row - first) * self.length + row - lag;
            let mut shorter = self.pack(start, step, end - row, &mut one);
            if inputs.bias {
                let bias = &mut out[lag * places.stride + places.offset - 1];
                for &entry in shorter {
                    *bias += entry;
                }
            }
            if lag + 1 == end {
                add_sums::<FUSED, true, 1>([shorter], row - lag, source, places, [lag], out);
                continue;
            }
            // The longer of two lags has the earlier keys.
            let both = first.max(lag + 1);
            let start = (both - first) * self.length + both - lag - 1;
            let longer = self.pack(start, step, end - both, &mut other);
            if inputs.bias {
                let bias = &mut out[(lag + 1) * places.stride + places.offset - 1];
                for &entry in longer {
                    *bias += entry;
                }
            }
            if row < both {
                add_sums::<FUSED, true, 1>([&shorter[..1]], 0, source, places, [lag], out);
                shorter = &shorter[1..];
            }
            let (start, lags) = (both - lag - 1, [lag + 1, lag]);
            add_sums::<FUSED, true, 2>([longer, shorter], start, source, places, lags, out);
        }
    }
}

/// What rows ask of keys, in all columns that are not data.
struct Asked<'a> {
    places: Columns,
    lags: Columns,
    inputs: &'a Inputs<'a>,
    d_out: &'a [Lane],
}

impl Asked<'_> {
    /// Adds Σ_n slopes[n] (q + r) + Σ_n pattern[n] dout of the rows from `row` on to the rows `keys` of `out`,
    /// latest key first.
    #[inline(always)]
    fn add<const FUSED: bool, const R: usize>(
        &self,
        slopes: [&[Lane]; R],
        pattern: [&[Lane]; R],
        row: usize,
        keys: [usize; R],
        out: &mut [Lane],
    ) {
        in_tiles!(self.places.size, up_to_four, |start, N| {
            self.add_columns::<FUSED, R, N>(slopes, pattern, row, keys, start, out)
        });
    }

    /// The same for N columns from `start` on.
    #[inline(always)]
    fn add_columns<const FUSED: bool, const R: usize, const N: usize>(
        &self,
        slopes: [&[Lane]; R],
        pattern: [&[Lane]; R],
        row: usize,
        keys: [usize; R],
        start: usize,
        out: &mut [Lane],
    ) {
        let (columns, lags) = (self.places.part::<N>(start), self.lags.part::<N>(start));
        let mut sums = [[Lane::ZERO; N]; R];
        for r in 0..R {
            sums[r].copy_from_slice(columns.row(out, keys[r]));
        }
        // All slices have one length, so that it is checked once. If there is only
        // one, it also serves as the second.
        let count = slopes[0].len();
        let slopes = [&slopes[0][..count], &slopes[R - 1][..count]];
        let pattern = [&pattern[0][..count], &pattern[R - 1][..count]];
        let lag = row - keys[0];
        for n in 0..count {
            let q = columns.row(self.inputs.queries, row + n);
            let d = columns.row(self.d_out, row + n);
            let near = lags.row(self.inputs.positions, lag + n);
            let far = lags.row(self.inputs.positions, lag + n + R - 1);
            let lags = [near, far];
            for r in 0..R {
                for c in 0..N {
                    let asks = q[c] + Lane::splat(lags[r][c]);
                    sums[r][c] = slopes[r][n].times_plus::<FUSED>(asks, sums[r][c]);
                    sums[r][c] = pattern[r][n].times_plus::<FUSED>(d[c], sums[r][c]);
                }
            }
        }
        for r in 0..R {
            columns.row_mut(out, keys[r]).copy_from_slice(&sums[r]);
        }
    }
}

/// Rows that a sum takes its terms from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub data: &'a [Lane],
    pub columns: Columns,
}

/// Adds one sum to each of R rows of `out`: Σ_n weights_r[n] source[first + n]. If `DIAGONAL`, each sum starts
/// one row of the source later than the one before.
#[inline(always)]
fn add_sums<const FUSED: bool, const DIAGONAL: bool, const R: usize>(
    weights: [&[Lane]; R],
    first: usize,
    source: Source,
    columns: Columns,
    rows: [usize; R],
    out: &mut [Lane],
) {
    in_tiles!(columns.size, up_to_five, |start, N| {
        let source = Source {
            columns: source.columns.part::<N>(start),
            ..source
        };
        let place = columns.part::<N>(start);
        add_columns::<FUSED, DIAGONAL, R, N>(weights, first, source, place, rows, out)
    });
}

/// The same for N columns.
#[inline(always)]
fn add_columns<const FUSED: bool, const DIAGONAL: bool, const R: usize, const N: usize>(
    weights: [&[Lane]; R],
    first: usize,
    source: Source,
    columns: Columns,
    rows: [usize; R],
    out: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; N]; R];
    for r in 0..R {
        sums[r].copy_from_slice(columns.row(out, rows[r]));
    }
    // All slices have one length, so that it is checked once.
    let count = weights[0].len();
    let mut weights = weights;
    for r in 0..R {
        weights[r] = &weights[r][..count];
    }
    for n in 0..count {
        let row = source.columns.row(source.data, first + n);
        for r in 0..R {
            let row = match DIAGONAL {
                true => source.columns.row(source.data, first + n + r),
                false => row,
            };
            for c in 0..N {
                sums[r][c] = weights[r][n].times_plus::<FUSED>(row[c], sums[r][c]);
            }
        }
    }
    for r in 0..R {
        columns.row_mut(out, rows[r]).copy_from_slice(&sums[r]);
    }
}
