//! y_i = x_i W (+ b): a row vector times a matrix, at every position.

use crate::model::lane::Lane;
use crate::model::matrix::Matrix;

/// Outputs that are summed side by side in registers.
const OUTPUTS: usize = 8;

/// Rows whose gradients are added to dW together, so that it is read and written less often.
const ROWS: usize = 4;

/// Adds x W to y. Shapes: x [rows, inner], W [inner, outer], y [rows, outer].
#[inline(always)]
pub fn add_forward(x: &[Lane], w: &[f32], inner: usize, outer: usize, y: &mut [Lane]) {
    for (x_row, y_row) in x.chunks_exact(inner).zip(y.chunks_exact_mut(outer)) {
        let mut blocks = y_row.chunks_exact_mut(OUTPUTS);
        let mut start = 0;
        for block in &mut blocks {
            let mut sums = [Lane::ZERO; OUTPUTS];
            for (&x_a, w_row) in x_row.iter().zip(w.chunks_exact(outer)) {
                let w_row = &w_row[start..][..OUTPUTS];
                for c in 0..OUTPUTS {
                    sums[c] += x_a * w_row[c];
                }
            }
            for c in 0..OUTPUTS {
                block[c] += sums[c];
            }
            start += OUTPUTS;
        }
        for (c, y_c) in blocks.into_remainder().iter_mut().enumerate() {
            for (&x_a, w_row) in x_row.iter().zip(w.chunks_exact(outer)) {
                *y_c += x_a * w_row[start + c];
            }
        }
    }
}

/// Sets y to x W.
#[inline(always)]
pub fn forward(x: &[Lane], w: &[f32], inner: usize, outer: usize, y: &mut [Lane]) {
    y.fill(Lane::ZERO);
    add_forward(x, w, inner, outer, y);
}

/// y += x W  ⟹  dx += dy Wᵀ, dW += xᵀ dy. Shapes: dy [rows, outer], dx [rows, inner], dW [inner, outer].
#[inline(always)]
pub fn backward(
    x: &[Lane],
    w: &[f32],
    inner: usize,
    outer: usize,
    dy: &[Lane],
    dx: &mut [Lane],
    dw: &mut [Lane],
) {
    let rows = x.len() / inner;
    let whole = rows - rows % ROWS;
    for row in (0..whole).step_by(ROWS) {
        let (x, dx) = (&x[row * inner..], &mut dx[row * inner..]);
        rows_backward::<ROWS>(x, w, inner, outer, &dy[row * outer..], dx, dw);
    }
    for row in whole..rows {
        let (x, dx) = (&x[row * inner..], &mut dx[row * inner..]);
        rows_backward::<1>(x, w, inner, outer, &dy[row * outer..], dx, dw);
    }
}

/// The gradients of the first R rows.
#[inline(always)]
fn rows_backward<const R: usize>(
    x: &[Lane],
    w: &[f32],
    inner: usize,
    outer: usize,
    dy: &[Lane],
    dx: &mut [Lane],
    dw: &mut [Lane],
) {
    let dy = &dy[..R * outer];
    for a in 0..inner {
        let (w_row, dw_row) = (&w[a * outer..][..outer], &mut dw[a * outer..][..outer]);
        let mut x_a = [Lane::ZERO; R];
        let mut dx_a = [Lane::ZERO; R];
        for row in 0..R {
            x_a[row] = x[row * inner + a];
        }
        for c in 0..outer {
            let mut sum = dw_row[c];
            for row in 0..R {
                let dy_c = dy[row * outer + c];
                sum += x_a[row] * dy_c;
                dx_a[row] += dy_c * w_row[c];
            }
            dw_row[c] = sum;
        }
        for row in 0..R {
            dx[row * inner + a] += dx_a[row];
        }
    }
}

/// Adds the bias b (`[outer]`) to every row of y.
#[inline(always)]
pub fn add_bias(b: &[f32], y: &mut [Lane]) {
    for y_row in y.chunks_exact_mut(b.len()) {
        for (y_c, &b_c) in y_row.iter_mut().zip(b) {
            *y_c += Lane::splat(b_c);
        }
    }
}

/// y_i += b  ⟹  db += Σ_i dy_i.
#[inline(always)]
pub fn bias_backward(dy: &[Lane], db: &mut [Lane]) {
    for dy_row in dy.chunks_exact(db.len()) {
        for (db_c, &dy_c) in db.iter_mut().zip(dy_row) {
            *db_c += dy_c;
        }
    }
}

/// The gradients of y = x W in f64: (dx, dW).
pub fn naive_backward(x: &Matrix, w: &Matrix, dy: &Matrix) -> (Matrix, Matrix) {
    (dy.times(&w.transposed()), x.transposed().times(dy))
}
