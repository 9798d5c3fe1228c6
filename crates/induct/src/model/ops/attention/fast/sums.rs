//! Sums of rows, weighted by the weights of a group or by their slopes: over keys, over rows, and by lag.

use std::ops::Range;

use super::{Columns, GROUP, Inputs, PAIR};
use crate::model::lane::Lane;

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
    pub fn sum_over_rows<const FUSED: bool>(
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
    pub fn sum_asked_over_rows<const FUSED: bool, const OWN: bool>(
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
    pub fn sum_by_lag<const FUSED: bool, const KEY: bool>(
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
    pub fn sum_lags_over_keys<const FUSED: bool>(self, inputs: &Inputs, out: &mut [Lane]) {
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
