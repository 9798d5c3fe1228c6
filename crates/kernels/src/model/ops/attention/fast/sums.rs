//! Sums of rows, weighted by the weights of a group or by their slopes: over keys, over rows, and by lag.
//!
//! Position i sees key j at lag δ = i − j, and any two of the three tell the third. So each pass over a group is
//! one product of matrices,
//!
//! > out_n += Σ_x entry(n, x) · source_x,
//!
//! where n is one of the three, and x another. Its tiles are several n by up to five columns, which share the rows
//! that they are multiplied with.

use std::ops::Range;

use super::{Columns, TileRows};
use crate::lanes::{Lane, leveled};
use crate::model::ops::linear::heights;

/// Zeros around a group's slopes, which sums over lags read: one less than a tile is high.
pub(super) const BEYOND: usize = 3;

/// Weights (or their slopes) of a group of rows, zero where a row does not see a key.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    /// [rows, length]
    data: &'a [Lane],
    /// Where row 0 would be if the group began there.
    origin: isize,
    /// From one n to the next, and from one x to the next.
    steps: [isize; 2],
}

impl TileRows {
    /// The weights of a group whose first row is `first`, by row and key.
    pub(super) fn weights_by_row(&self, first: usize) -> Entries<'_> {
        Entries::new(&self.weights, 0, first, self.length)
    }

    /// The same of the slopes, which have rows of zeros around them.
    pub(super) fn slopes_by_row(&self, first: usize) -> Entries<'_> {
        Entries::new(&self.slopes, BEYOND, first, self.length)
    }
}

impl<'a> Entries<'a> {
    fn new(data: &'a [Lane], before: usize, first: usize, length: usize) -> Self {
        Self {
            data,
            origin: (before as isize - first as isize) * length as isize,
            steps: [length as isize, 1],
        }
    }

    fn stepping(self, by_sum: isize, by_term: isize) -> Self {
        Self {
            steps: [by_sum, by_term],
            ..self
        }
    }

    /// By key and row.
    pub fn by_key(self) -> Self {
        self.stepping(1, self.steps[0])
    }

    /// By key and lag.
    pub fn by_key_and_lag(self) -> Self {
        self.stepping(self.steps[0] + 1, self.steps[0])
    }

    /// By lag and key.
    pub fn by_lag_and_key(self) -> Self {
        self.stepping(self.steps[0], self.steps[0] + 1)
    }

    /// By row and lag.
    pub fn by_row_and_lag(self) -> Self {
        self.stepping(self.steps[0] + 1, -1)
    }

    /// By lag and row.
    pub fn by_lag_and_row(self) -> Self {
        self.stepping(-1, self.steps[0] + 1)
    }

    #[inline(always)]
    pub fn at(&self, n: usize, x: usize) -> Lane {
        let [by_sum, by_term] = self.steps;
        self.data[(self.origin + n as isize * by_sum + x as isize * by_term) as usize]
    }
}

/// Rows that a sum takes its terms from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Lanes(&'a [Lane], Columns),
    /// The same for all sequences.
    Numbers(&'a [f32], Columns),
}

/// Rows that sums are added to.
pub(super) struct Sums<'a> {
    pub data: &'a mut [Lane],
    pub columns: Columns,
}

leveled!(
    /// out_n += Σ_x entry(n, x) · source_x for the n of a range. `terms` gives the x of a tile: of so many n, from
    /// one on.
    pub(super) fn add_sums<const FUSED: bool, tall TALL>(
        entries: Entries,
        sums: Range<usize>,
        terms: &dyn Fn(usize, usize) -> Range<usize>,
        source: Source,
        out: Sums,
    ) {
        let Sums { data: out, columns } = out;
        match source {
            Source::Lanes(data, from) => {
                all_tiles::<FUSED, TALL, Lane>(entries, sums, terms, data, [from, columns], out);
            }
            Source::Numbers(data, from) => {
                all_tiles::<FUSED, TALL, f32>(entries, sums, terms, data, [from, columns], out);
            }
        }
    }
);

leveled!(
    /// dbias_δ += Σ_i entry(i, i−δ) over a group's rows. The biases are the numbers before those of `columns`.
    pub(super) fn add_biases<const FUSED: bool>(entries: Entries, rows: Range<usize>, out: Sums) {
        let Columns { stride, offset, .. } = out.columns;
        for lag in 0..rows.end {
            let bias = &mut out.data[lag * stride + offset - 1];
            for i in rows.start.max(lag)..rows.end {
                *bias += entries.at(i, i - lag);
            }
        }
    }
);

/// One of several numbers by which a lane is multiplied.
trait Factor: Copy {
    fn lane(self) -> Lane;
}

impl Factor for Lane {
    #[inline(always)]
    fn lane(self) -> Lane {
        self
    }
}

impl Factor for f32 {
    #[inline(always)]
    fn lane(self) -> Lane {
        Lane::splat(self)
    }
}

#[inline(always)]
fn all_tiles<const FUSED: bool, const TALL: usize, T: Factor>(
    entries: Entries,
    sums: Range<usize>,
    terms: &dyn Fn(usize, usize) -> Range<usize>,
    source: &[T],
    columns: [Columns; 2],
    out: &mut [Lane],
) {
    let mut n = sums.start;
    for (height, end) in heights::<TALL>(sums.len()) {
        while n < sums.start + end {
            let terms = terms(n, height);
            match height {
                1 => all_columns::<FUSED, 1, T>(entries, n, terms, source, columns, out),
                2 => all_columns::<FUSED, 2, T>(entries, n, terms, source, columns, out),
                _ => all_columns::<FUSED, TALL, T>(entries, n, terms, source, columns, out),
            }
            n += height;
        }
    }
}

#[inline(always)]
fn all_columns<const FUSED: bool, const R: usize, T: Factor>(
    entries: Entries,
    n: usize,
    terms: Range<usize>,
    source: &[T],
    columns: [Columns; 2],
    out: &mut [Lane],
) {
    let (size, mut start) = (columns[1].size, 0);
    while start < size {
        let (terms, columns) = (terms.clone(), columns.map(|all| all.after(start)));
        let width = up_to_five(size - start);
        match width {
            1 => tile::<FUSED, R, 1, T>(entries, n, terms, source, columns, out),
            2 => tile::<FUSED, R, 2, T>(entries, n, terms, source, columns, out),
            3 => tile::<FUSED, R, 3, T>(entries, n, terms, source, columns, out),
            4 => tile::<FUSED, R, 4, T>(entries, n, terms, source, columns, out),
            _ => tile::<FUSED, R, 5, T>(entries, n, terms, source, columns, out),
        }
        start += width;
    }
}

/// Up to five columns, chosen so that no single column is left over if that can be avoided.
#[inline(always)]
fn up_to_five(left: usize) -> usize {
    match left {
        0..=5 => left,
        6 => 3,
        _ if left.is_multiple_of(4) || left == 7 => 4,
        _ => 5,
    }
}

/// R sums, from n on, of the first N columns.
#[inline(always)]
fn tile<const FUSED: bool, const R: usize, const N: usize, T: Factor>(
    entries: Entries,
    n: usize,
    terms: Range<usize>,
    source: &[T],
    [from, to]: [Columns; 2],
    out: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; N]; R];
    for r in 0..R {
        sums[r].copy_from_slice(&to.row(out, n + r)[..N]);
    }
    for x in terms {
        let row: &[T; N] = from.row(source, x).first_chunk().expect("N columns");
        for r in 0..R {
            let entry = entries.at(n + r, x);
            for c in 0..N {
                sums[r][c] = entry.times_plus::<FUSED>(row[c].lane(), sums[r][c]);
            }
        }
    }
    for r in 0..R {
        to.row_mut(out, n + r)[..N].copy_from_slice(&sums[r]);
    }
}
