//! y_i = x_i W (+ b): a row vector times a matrix, at every position.

use crate::model::lane::Lane;
use crate::model::matrix::Matrix;

/// Adds x W to y. Shapes: x [rows, inner], W [inner, outer], y [rows, outer].
pub fn add_forward(x: &[Lane], w: &[f32], inner: usize, outer: usize, y: &mut [Lane]) {
    for (x_row, y_row) in x.chunks_exact(inner).zip(y.chunks_exact_mut(outer)) {
        for (&x_a, w_row) in x_row.iter().zip(w.chunks_exact(outer)) {
            for (y_c, &w_ac) in y_row.iter_mut().zip(w_row) {
                *y_c += x_a * w_ac;
            }
        }
    }
}

/// Sets y to x W.
pub fn forward(x: &[Lane], w: &[f32], inner: usize, outer: usize, y: &mut [Lane]) {
    y.fill(Lane::ZERO);
    add_forward(x, w, inner, outer, y);
}

/// y += x W  ⟹  dx += dy Wᵀ, dW += xᵀ dy. Shapes: dy [rows, outer], dx [rows, inner], dW [inner, outer].
pub fn backward(
    x: &[Lane],
    w: &[f32],
    inner: usize,
    outer: usize,
    dy: &[Lane],
    dx: &mut [Lane],
    dw: &mut [Lane],
) {
    for ((x_row, dx_row), dy_row) in x
        .chunks_exact(inner)
        .zip(dx.chunks_exact_mut(inner))
        .zip(dy.chunks_exact(outer))
    {
        for a in 0..inner {
            let (w_row, dw_row) = (&w[a * outer..][..outer], &mut dw[a * outer..][..outer]);
            let x_a = x_row[a];
            let mut dx_a = dx_row[a];
            for ((&dy_c, &w_ac), dw_ac) in dy_row.iter().zip(w_row).zip(dw_row) {
                dx_a += dy_c * w_ac;
                *dw_ac += x_a * dy_c;
            }
            dx_row[a] = dx_a;
        }
    }
}

/// Adds the bias b (`[outer]`) to every row of y.
pub fn add_bias(b: &[f32], y: &mut [Lane]) {
    for y_row in y.chunks_exact_mut(b.len()) {
        for (y_c, &b_c) in y_row.iter_mut().zip(b) {
            *y_c += Lane::splat(b_c);
        }
    }
}

/// y_i += b  ⟹  db += Σ_i dy_i.
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
