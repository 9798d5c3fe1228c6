//! Products of small dense matrices, added to an output. A matrix is a slice and its row stride, so that
//! heads (blocks of columns) need no copies.

use crate::lanes::{LANES, Lane, leveled};

/// A matrix to read: rows that are `stride` apart, whose entries are `step` apart.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub data: &'a [f32],
    stride: usize,
    step: usize,
}

impl<'a> View<'a> {
    /// All of `data`, rows of `stride`.
    pub fn new(data: &'a [f32], stride: usize) -> Self {
        let step = 1;
        Self { data, stride, step }
    }

    /// From row `row` and column `column` on.
    pub fn from(self, row: usize, column: usize) -> Self {
        Self {
            data: &self.data[row * self.stride + column * self.step..],
            ..self
        }
    }

    /// The same matrix turned over.
    pub fn transposed(self) -> Self {
        Self {
            data: self.data,
            stride: self.step,
            step: self.stride,
        }
    }

    /// A row of a matrix that is not turned over.
    fn row(&self, row: usize, width: usize) -> &'a [f32] {
        &self.data[row * self.stride..][..width]
    }
}

/// A matrix to add to.
pub struct ViewMut<'a> {
    data: &'a mut [f32],
    stride: usize,
}

impl<'a> ViewMut<'a> {
    /// All of `data` from `start` on, rows of `stride`.
    pub fn new(data: &'a mut [f32], stride: usize, start: usize) -> Self {
        Self {
            data: &mut data[start..],
            stride,
        }
    }

    fn row(&mut self, row: usize, width: usize) -> &mut [f32] {
        &mut self.data[row * self.stride..][..width]
    }
}

/// out[n, m] += factor · a[n, inner] b[inner, m], where a may be turned over.
pub fn add_product(
    mut out: ViewMut,
    a: View,
    b: View,
    (n, inner, m): (usize, usize, usize),
    factor: f32,
) {
    for i in 0..n {
        let out_row = out.row(i, m);
        for x in 0..inner {
            let scaled = factor * a.data[i * a.stride + x * a.step];
            for (o, &b_xj) in out_row.iter_mut().zip(b.row(x, m)) {
                *o += scaled * b_xj;
            }
        }
    }
}

leveled!(
    /// out[n, m] += factor · a[n, inner] b[m, inner]ᵀ
    ///
    /// It takes eight columns at a time, where there are that many. Every sum still runs along `inner` in
    /// order, and is rounded twice, so that it is the same at all instruction levels.
    pub fn add_product_with_transposed<const FUSED: bool>(
        out: ViewMut,
        a: View,
        b: View,
        sizes: (usize, usize, usize),
        factor: f32,
    ) {
        let (mut out, (n, inner, m)) = (out, sizes);
        let mut done = 0;
        while inner <= DEEP && done + LANES <= m {
            let mut turned = [Lane::ZERO; DEEP];
            for lane in 0..LANES {
                for (turned, &x) in turned.iter_mut().zip(b.row(done + lane, inner)) {
                    turned.0[lane] = x;
                }
            }
            let (turned, whole) = (&turned[..inner], n / TALL * TALL);
            for i in (0..whole).step_by(TALL) {
                add_rows::<TALL>(&mut out, a, turned, (i, done), factor);
            }
            for i in whole..n {
                add_rows::<1>(&mut out, a, turned, (i, done), factor);
            }
            done += LANES;
        }
        for i in 0..n {
            let a_row = a.row(i, inner);
            for (j, o) in out.row(i, m).iter_mut().enumerate().skip(done) {
                let products = a_row.iter().zip(b.row(j, inner)).map(|(x, y)| x * y);
                *o += factor * products.sum::<f32>();
            }
        }
    }
);

/// Rows of a that are taken together, and the largest row length for that.
const TALL: usize = 4;
const DEEP: usize = 128;

/// The same for R rows from i on and the eight columns from j on, whose numbers are contiguous in `turned`.
#[inline(always)]
fn add_rows<const R: usize>(
    out: &mut ViewMut,
    a: View,
    turned: &[Lane],
    (i, j): (usize, usize),
    factor: f32,
) {
    let mut rows = [&a.data[..0]; R];
    for r in 0..R {
        rows[r] = a.row(i + r, turned.len());
    }
    let mut sums = [Lane::ZERO; R];
    for x in 0..turned.len() {
        for r in 0..R {
            sums[r] += turned[x] * rows[r][x];
        }
    }
    for r in 0..R {
        let out = &mut out.row(i + r, j + LANES)[j..];
        for (o, sum) in out.iter_mut().zip(sums[r].0) {
            *o += factor * sum;
        }
    }
}
