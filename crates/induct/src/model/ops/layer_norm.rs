//! y = g · x̂ + b with x̂ = (x − mean) / √(var + ε), mean and variance over the features of a position.

use crate::lanes::{Lane, leveled};
use crate::model::matrix::Matrix;

/// ε
pub const EPSILON: f64 = 1e-5;

leveled!(
    /// Sets y to the normalised x. Shapes: x, y [rows, d]; gain, bias `[d]`.
    pub fn forward<const FUSED: bool>(x: &[Lane], gain: &[f32], bias: &[f32], y: &mut [Lane]) {
        let d = gain.len();
        for (x_row, y_row) in x.chunks_exact(d).zip(y.chunks_exact_mut(d)) {
            let (mean, inverse) = statistics(x_row);
            for c in 0..d {
                y_row[c] = (x_row[c] - mean) * inverse * gain[c] + Lane::splat(bias[c]);
            }
        }
    }
);

leveled!(
    /// y = g x̂ + b  ⟹  dg += Σ dy x̂, db += Σ dy, and with h = g dy:
    /// dx += (h − mean(h) − x̂ mean(h x̂)) / √(var + ε).
    pub fn backward<const FUSED: bool>(
        x: &[Lane],
        gain: &[f32],
        dy: &[Lane],
        dx: &mut [Lane],
        d_gain: &mut [Lane],
        d_bias: &mut [Lane],
    ) {
        let d = gain.len();
        for ((x_row, dy_row), dx_row) in x
            .chunks_exact(d)
            .zip(dy.chunks_exact(d))
            .zip(dx.chunks_exact_mut(d))
        {
            let (mean, inverse) = statistics(x_row);
            let (mut mean_h, mut mean_hx) = (Lane::ZERO, Lane::ZERO);
            for c in 0..d {
                let unit = (x_row[c] - mean) * inverse;
                let h = dy_row[c] * gain[c];
                mean_h += h;
                mean_hx += h * unit;
                d_gain[c] += dy_row[c] * unit;
                d_bias[c] += dy_row[c];
            }
            let share = 1.0 / d as f32;
            let (mean_h, mean_hx) = (mean_h * share, mean_hx * share);
            for c in 0..d {
                let unit = (x_row[c] - mean) * inverse;
                dx_row[c] += (dy_row[c] * gain[c] - mean_h - unit * mean_hx) * inverse;
            }
        }
    }
);

/// Mean and 1/√(var + ε) of one position.
#[inline(always)]
fn statistics(x_row: &[Lane]) -> (Lane, Lane) {
    let share = 1.0 / x_row.len() as f32;
    let mean = x_row.iter().fold(Lane::ZERO, |sum, &x| sum + x) * share;
    let variance = x_row
        .iter()
        .fold(Lane::ZERO, |sum, &x| sum + (x - mean) * (x - mean))
        * share;
    (
        mean,
        (variance + Lane::splat(EPSILON as f32)).inverse_root(),
    )
}

/// Normalisation in f64.
pub fn naive_forward(x: &Matrix, gain: &[f64], bias: &[f64]) -> Matrix {
    let (unit, _) = naive_unit(x);
    Matrix::from_fn(x.rows, x.cols, |i, j| gain[j] * unit[(i, j)] + bias[j])
}

/// The gradients in f64: (dx, dgain, dbias), through the Jacobian
/// ∂x̂_j/∂x_m = (δ_jm − 1/d − x̂_j x̂_m / d) / √(var + ε).
pub fn naive_backward(x: &Matrix, gain: &[f64], dy: &Matrix) -> (Matrix, Vec<f64>, Vec<f64>) {
    let (unit, inverse) = naive_unit(x);
    let d = x.cols as f64;
    let dx = Matrix::from_fn(x.rows, x.cols, |i, m| {
        (0..x.cols)
            .map(|j| {
                let same = if j == m { 1.0 } else { 0.0 };
                dy[(i, j)]
                    * gain[j]
                    * (same - 1.0 / d - unit[(i, j)] * unit[(i, m)] / d)
                    * inverse[i]
            })
            .sum()
    });
    let over_rows = |f: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
        (0..x.cols)
            .map(|j| (0..x.rows).map(|i| f(i, j)).sum())
            .collect()
    };
    let d_gain = over_rows(&|i, j| dy[(i, j)] * unit[(i, j)]);
    let d_bias = over_rows(&|i, j| dy[(i, j)]);
    (dx, d_gain, d_bias)
}

/// x̂ and 1/√(var + ε) of every row.
fn naive_unit(x: &Matrix) -> (Matrix, Vec<f64>) {
    let d = x.cols as f64;
    let mean: Vec<f64> = (0..x.rows)
        .map(|i| x.row(i).iter().sum::<f64>() / d)
        .collect();
    let inverse: Vec<f64> = (0..x.rows)
        .map(|i| {
            let variance = x.row(i).iter().map(|v| (v - mean[i]).powi(2)).sum::<f64>() / d;
            1.0 / (variance + EPSILON).sqrt()
        })
        .collect();
    let unit = Matrix::from_fn(x.rows, x.cols, |i, j| (x[(i, j)] - mean[i]) * inverse[i]);
    (unit, inverse)
}
