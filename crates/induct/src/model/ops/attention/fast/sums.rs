//! Sums of rows, weighted by the weights of a group or by their slopes: over keys, over rows, and by lag.

use std::ops::Range;

use super::{Columns, GROUP, Inputs, PAIR};
use crate::model::lane::Lane;

/// Runs `$body` for tiles of columns: `$start` is the first of $N columns, at most five.
macro_rules! in_tiles {
    ($size:expr, |$start:ident, $N:ident| $body:expr) => {{
        let (size, mut $start) = ($size, 0);
        while $start < size {
            let width = tile_width(size - $start);
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

/// How many of the columns that are left go next: so that none is left alone, as long as that can be.
#[inline(always)]
fn tile_width(left: usize) -> usize {
    match left {
        0..=5 => left,
        6 => 3,
        _ if left % 4 == 0 || left == 7 => 4,
        _ => 5,
    }
}

/// Weights (or their slopes) of a group of rows at all keys, zero where a row does not see a key, and the sums that they weigh.
#[derive(Clone, Copy)]
pub(super) struct Triangle<'a> {
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
    pub fn new(entries: &'a [Lane], length: usize, rows: &Range<usize>) -> Self {
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
    pub fn sum_over_keys<const FUSED: bool>(
        self,
        block: &Range<usize>,
        source: Source<Lane>,
        out: &mut [Lane],
    ) {
        let columns = source.columns;
        for a in (0..self.count).step_by(PAIR) {
            let i = self.first + a;
            // A pair sees no more.
            let keys = block.start..block.end.min(i + PAIR).max(block.start);
            let row = |a: usize| &self.entries[a * self.length..][keys.clone()];
            let start = keys.start;
            if a + 1 < self.count {
                let weights = [row(a), row(a + 1)];
                add_sums::<FUSED, false, Lane, 2>(weights, start, source, columns, [i, i + 1], out);
            } else {
                add_sums::<FUSED, false, Lane, 1>([row(a)], start, source, columns, [i], out);
            }
        }
    }

    /// out_j += Σ_i entries_ij source_i over the group's rows, for every key of a block and all columns but the first `data`.
    #[inline(always)]
    pub fn sum_over_rows<const FUSED: bool>(
        self,
        block: &Range<usize>,
        data: usize,
        source: Source<Lane>,
        out: &mut [Lane],
    ) {
        let (first, count) = (self.first, self.count);
        let columns = source.columns.without(data);
        let source = Source { columns, ..source };
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

    /// out_j += Σ_i entries_ij (q_i + r_{i−j}) over the group's rows, for every key of a block and all columns but those that are data;
    /// where keys are their `OWN` values, + Σ_i pattern_ij dout_i in the same go.
    #[inline(always)]
    pub fn sum_asked_over_rows<const FUSED: bool, const OWN: bool>(
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
        let (first, count, length) = (self.first, self.count, self.length);
        for j in block.clone().step_by(PAIR) {
            // Rows before a key do not see it.
            let from = j.saturating_sub(first);
            if j + 1 == block.end {
                let slopes = [&self.packed(j, length, count)[from..count]];
                let pattern = [&pattern.packed(j, length, count)[from..count]];
                asked.add::<FUSED, OWN, 1>(slopes, pattern, first + from, [j], out);
                continue;
            }
            let packed = |triangle: Self, j: usize| triangle.packed(j, length, count);
            // The later of two keys has the smaller lags.
            let slopes = [packed(self, j + 1), packed(self, j)];
            let pattern = [packed(pattern, j + 1), packed(pattern, j)];
            let mut both = from;
            if j >= first {
                let (slopes, pattern) = (&slopes[1][from..=from], &pattern[1][from..=from]);
                asked.add::<FUSED, OWN, 1>([slopes], [pattern], j, [j], out);
                both += 1;
            }
            let slopes = [&slopes[0][both..count], &slopes[1][both..count]];
            let pattern = [&pattern[0][both..count], &pattern[1][both..count]];
            asked.add::<FUSED, OWN, 2>(slopes, pattern, first + both, [j + 1, j], out);
        }
    }

    /// dr_δ += Σ_i entries_{i,i−δ} source over the group's rows, for every lag: the source is that of key i − δ if `KEY`, else
    /// that of row i; and dbias_δ += Σ_i entries_{i,i−δ}, where there is one.
    #[inline(always)]
    pub fn sum_by_lag<const FUSED: bool, const KEY: bool>(
        self,
        inputs: &Inputs,
        source: Source<Lane>,
        out: &mut [Lane],
    ) {
        let (first, step, places) = (self.first, self.length + 1, inputs.lag_columns);
        let end = first + self.count;
        for lag in (0..end).step_by(PAIR) {
            // Rows before a lag do not have it.
            let row = first.max(lag);
            let along = |row: usize, lag: usize| {
                self.packed((row - first) * self.length + row - lag, step, end - row)
            };
            let shorter = along(row, lag);
            let mut shorter = &shorter[..end - row];
            if inputs.bias {
                let bias = &mut out[lag * places.stride + places.offset - 1];
                for &entry in shorter {
                    *bias += entry;
                }
            }
            if lag + 1 == end {
                let start = if KEY { row - lag } else { row };
                add_sums::<FUSED, KEY, Lane, 1>([shorter], start, source, places, [lag], out);
                continue;
            }
            // The longer of two lags has the earlier keys.
            let both = first.max(lag + 1);
            let longer = along(both, lag + 1);
            let longer = &longer[..end - both];
            if inputs.bias {
                let bias = &mut out[(lag + 1) * places.stride + places.offset - 1];
                for &entry in longer {
                    *bias += entry;
                }
            }
            if row < both {
                let start = if KEY { 0 } else { row };
                add_sums::<FUSED, KEY, Lane, 1>([&shorter[..1]], start, source, places, [lag], out);
                shorter = &shorter[1..];
            }
            let start = if KEY { both - lag - 1 } else { both };
            let lags = [lag + 1, lag];
            add_sums::<FUSED, KEY, Lane, 2>([longer, shorter], start, source, places, lags, out);
        }
    }

    /// out_i += Σ_j entries_ij r_{i−j}, for every row.
    #[inline(always)]
    pub fn sum_lags_over_keys<const FUSED: bool>(
        self,
        inputs: &Inputs,
        data: usize,
        out: &mut [Lane],
    ) {
        let (columns, lag_columns) = (
            inputs.columns.without(data),
            inputs.lag_columns.without(data),
        );
        let rows = self.entries.chunks(self.length).take(self.count);
        for (a, entries) in rows.enumerate() {
            let i = self.first + a;
            let out_row = columns.row_mut(out, i);
            for (j, &entry) in entries[..=i].iter().enumerate() {
                let lag = lag_columns.row(inputs.positions, i - j);
                for (sum, &r) in out_row.iter_mut().zip(lag) {
                    *sum = entry.times_plus::<FUSED>(Lane::splat(r), *sum);
                }
            }
        }
    }
}

/// What rows ask of keys, and what is asked for: all columns but those that are data.
struct Asked<'a> {
    places: Columns,
    lags: Columns,
    inputs: &'a Inputs<'a>,
    d_out: &'a [Lane],
}

impl Asked<'_> {
    /// Adds Σ_n slopes[n] (q + r) of the rows from `row` on to the rows `keys` of `out`, the latest key first, and, if `OWN`, Σ_n pattern[n] dout.
    #[inline(always)]
    fn add<const FUSED: bool, const OWN: bool, const R: usize>(
        &self,
        slopes: [&[Lane]; R],
        pattern: [&[Lane]; R],
        row: usize,
        keys: [usize; R],
        out: &mut [Lane],
    ) {
        in_tiles!(self.places.size, |start, N| {
            self.add_columns::<FUSED, OWN, R, N>(slopes, pattern, row, keys, start, out)
        });
    }

    /// The same for N columns from `start` on.
    #[inline(always)]
    fn add_columns<const FUSED: bool, const OWN: bool, const R: usize, const N: usize>(
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
        let first_lag = row - keys[0];
        for n in 0..slopes[0].len() {
            let q = columns.row(self.inputs.queries, row + n);
            let d = columns.row(self.d_out, row + n);
            for r in 0..R {
                let lag = lags.row(self.inputs.positions, first_lag + n + r);
                for c in 0..N {
                    let asks = q[c] + Lane::splat(lag[c]);
                    sums[r][c] = slopes[r][n].times_plus::<FUSED>(asks, sums[r][c]);
                    if OWN {
                        sums[r][c] = pattern[r][n].times_plus::<FUSED>(d[c], sums[r][c]);
                    }
                }
            }
        }
        for r in 0..R {
            columns.row_mut(out, keys[r]).copy_from_slice(&sums[r]);
        }
    }
}

/// Rows that a sum takes its terms from: lanes, or plain numbers that all lanes share.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, T> {
    pub data: &'a [T],
    pub columns: Columns,
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
    in_tiles!(columns.size, |start, N| {
        let source = Source {
            columns: source.columns.part::<N>(start),
            ..source
        };
        let place = columns.part::<N>(start);
        add_columns::<FUSED, DIAGONAL, T, R, N>(weights, first, source, place, rows, out)
    });
}

/// The same for N columns.
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
) {
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
}
