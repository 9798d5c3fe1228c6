//! Products of small dense matrices, added to what is there. A matrix is a slice and its row stride, so
//! that heads (blocks of columns) need no copies.

/// A matrix to read.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub data: &'a [f32],
    pub stride: usize,
}

impl<'a> View<'a> {
    /// All of `data`, rows of `stride`.
    pub fn new(data: &'a [f32], stride: usize) -> Self {
        Self { data, stride }
    }

    /// From row `row` and column `column` on.
    pub fn from(self, row: usize, column: usize) -> Self {
        Self {
            data: &self.data[row * self.stride + column..],
            stride: self.stride,
        }
    }

    fn row(&self, row: usize, width: usize) -> &'a [f32] {
        &self.data[row * self.stride..][..width]
    }
}

/// A matrix to add to.
pub(super) struct ViewMut<'a> {
    pub data: &'a mut [f32],
    pub stride: usize,
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

/// out[n, m] += factor · a[n, inner] b[inner, m]
pub(super) fn add_product(
    mut out: ViewMut,
    a: View,
    b: View,
    (n, inner, m): (usize, usize, usize),
    factor: f32,
) {
    for i in 0..n {
        let (out_row, a_row) = (out.row(i, m), a.row(i, inner));
        for (x, &a_ix) in a_row.iter().enumerate() {
            let scaled = factor * a_ix;
            for (o, &b_xj) in out_row.iter_mut().zip(b.row(x, m)) {
                *o += scaled * b_xj;
            }
        }
    }
}

/// out[n, m] += factor · a[n, inner] b[m, inner]ᵀ
pub(super) fn add_product_with_transposed(
    mut out: ViewMut,
    a: View,
    b: View,
    (n, inner, m): (usize, usize, usize),
    factor: f32,
) {
    for i in 0..n {
        let a_row = a.row(i, inner);
        for (j, o) in out.row(i, m).iter_mut().enumerate() {
            let products = a_row.iter().zip(b.row(j, inner)).map(|(x, y)| x * y);
            *o += factor * products.sum::<f32>();
        }
    }
}

/// out[n, m] += factor · a[inner, n]ᵀ b[inner, m]
pub(super) fn add_transposed_product(
    mut out: ViewMut,
    a: View,
    b: View,
    (n, inner, m): (usize, usize, usize),
    factor: f32,
) {
    for x in 0..inner {
        let (a_row, b_row) = (a.row(x, n), b.row(x, m));
        for (i, &a_xi) in a_row.iter().enumerate() {
            let scaled = factor * a_xi;
            for (o, &b_xj) in out.row(i, m).iter_mut().zip(b_row) {
                *o += scaled * b_xj;
            }
        }
    }
}
