//! Products of small dense matrices, added to an output. A matrix is a [`Place`], so that heads (blocks of columns)
//! need no copies.

use std::ops::Range;

use crate::lanes::{LANES, Lane, leveled};
use crate::model::ops::linear::heights;

/// Where a matrix is: rows that are `stride` apart, whose entries are `step` apart.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Which of several buffers it is in.
    pub buffer: usize,
    start: usize,
    pub rows: usize,
    pub columns: usize,
    stride: usize,
    step: usize,
}

impl Place {
    /// A range of a buffer, in rows of `columns`.
    pub fn new(buffer: usize, range: Range<usize>, columns: usize) -> Self {
        Self {
            buffer,
            start: range.start,
            rows: range.len() / columns,
            columns,
            stride: columns,
            step: 1,
        }
    }

    /// Some of its rows.
    pub fn rows(self, rows: Range<usize>) -> Self {
        Self {
            start: self.start + rows.start * self.stride,
            rows: rows.len(),
            ..self
        }
    }

    /// Some of its columns.
    pub fn columns(self, columns: Range<usize>) -> Self {
        self.transposed().rows(columns).transposed()
    }

    /// The same matrix turned over.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            stride: self.step,
            step: self.stride,
            ..self
        }
    }

    /// Its first row, `rows` times.
    pub fn repeated(self, rows: usize) -> Self {
        Self {
            rows,
            stride: 0,
            ..self
        }
    }

    /// Whether its rows are not contiguous.
    pub fn is_turned(self) -> bool {
        self.step != 1
    }

    /// A row of a matrix that is not turned over.
    pub fn row(self, data: &[f32], row: usize) -> &[f32] {
        &data[self.start + row * self.stride..][..self.columns]
    }

    /// The same, to write to.
    pub fn row_mut(self, data: &mut [f32], row: usize) -> &mut [f32] {
        &mut data[self.start + row * self.stride..][..self.columns]
    }

    #[inline(always)]
    fn at(self, row: usize, column: usize) -> usize {
        self.start + row * self.stride + column * self.step
    }
}

/// Rows of a that are taken together, and the longest sums.
const TALL: usize = 4;
const DEEP: usize = 128;

leveled!(
    /// out[n, m] += factor · a[n, inner] b[inner, m], where `out` is not turned over.
    ///
    /// It takes eight columns at a time. Every sum runs along `inner` in order, and is rounded twice, so that it is
    /// the same at all instruction levels.
    pub fn add_product<const FUSED: bool>(
        out: &mut [f32],
        to: Place,
        a: &[f32],
        of_a: Place,
        b: &[f32],
        of_b: Place,
        factor: f32,
    ) {
        let mut panel = [Lane::ZERO; DEEP];
        for first in (0..of_b.rows).step_by(DEEP) {
            let terms = first..of_b.rows.min(first + DEEP);
            let panel = &mut panel[..terms.len()];
            for column in (0..to.columns).step_by(LANES) {
                let width = LANES.min(to.columns - column);
                if width == LANES && !of_b.is_turned() {
                    for (lanes, x) in panel.iter_mut().zip(terms.clone()) {
                        let row = &b[of_b.at(x, column)..];
                        lanes.0 = *row.first_chunk().expect("eight columns");
                    }
                } else {
                    for lane in 0..width {
                        for (lanes, x) in panel.iter_mut().zip(terms.clone()) {
                            lanes.0[lane] = b[of_b.at(x, column + lane)];
                        }
                    }
                }
                let mut row = 0;
                for (height, end) in heights::<TALL>(to.rows) {
                    while row < end {
                        let (a, place) = (&a[of_a.at(row, first)..], (of_a.stride, of_a.step));
                        let out = &mut out[to.at(row, column)..];
                        match height {
                            1 => add_rows::<1>(out, (to.stride, width), a, place, panel, factor),
                            2 => add_rows::<2>(out, (to.stride, width), a, place, panel, factor),
                            _ => add_rows::<TALL>(out, (to.stride, width), a, place, panel, factor),
                        }
                        row += height;
                    }
                }
            }
        }
    }
);

/// The same for R rows and up to eight columns, whose numbers are contiguous in `panel`.
#[inline(always)]
fn add_rows<const R: usize>(
    out: &mut [f32],
    (out_stride, width): (usize, usize),
    a: &[f32],
    (stride, step): (usize, usize),
    panel: &[Lane],
    factor: f32,
) {
    let mut sums = [Lane::ZERO; R];
    for x in 0..panel.len() {
        for r in 0..R {
            sums[r] += panel[x] * a[r * stride + x * step];
        }
    }
    for r in 0..R {
        let out = &mut out[r * out_stride..][..width];
        for (o, sum) in out.iter_mut().zip(sums[r].0) {
            *o += factor * sum;
        }
    }
}
