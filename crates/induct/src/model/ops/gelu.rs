//! y = ½ x (1 + tanh u), u = √(2/π) (x + 0.044715 x³): the Gaussian error linear unit, tanh form.

use crate::model::lane::Lane;
use crate::model::matrix::Matrix;

const ROOT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
const CUBIC: f64 = 0.044_715;

/// Sets y to gelu(x).
#[inline(always)]
pub fn forward(x: &[Lane], y: &mut [Lane]) {
    for (&x, y) in x.iter().zip(y) {
        *y = x * 0.5 * (Lane::splat(1.0) + tanh_inner(x));
    }
}

/// dx = dy · dgelu/dx, with dgelu/dx = ½ (1 + tanh u) + ½ x (1 − tanh² u) u′.
#[inline(always)]
pub fn backward(x: &[Lane], dy: &[Lane], dx: &mut [Lane]) {
    for ((&x, &dy), dx) in x.iter().zip(dy).zip(dx) {
        let one = Lane::splat(1.0);
        let th = tanh_inner(x);
        let du = (one + x * x * (3.0 * CUBIC as f32)) * ROOT_2_OVER_PI as f32;
        *dx = dy * ((one + th) * 0.5 + x * 0.5 * (one - th * th) * du);
    }
}

/// tanh u of the inner cubic; tanh u = 1 − 2 / (e^{2u} + 1).
#[inline(always)]
fn tanh_inner(x: Lane) -> Lane {
    let u = (x + x * x * x * CUBIC as f32) * ROOT_2_OVER_PI as f32;
    Lane::splat(1.0) - ((u * 2.0).exp() + Lane::splat(1.0)).map(|e| 2.0 / e)
}

/// gelu in f64.
pub fn naive_forward(x: &Matrix) -> Matrix {
    Matrix::from_fn(x.rows, x.cols, |i, j| {
        let x = x[(i, j)];
        0.5 * x * (1.0 + (ROOT_2_OVER_PI * (x + CUBIC * x.powi(3))).tanh())
    })
}

/// The gradient of gelu in f64.
pub fn naive_backward(x: &Matrix, dy: &Matrix) -> Matrix {
    Matrix::from_fn(x.rows, x.cols, |i, j| {
        let (x, dy) = (x[(i, j)], dy[(i, j)]);
        let th = (ROOT_2_OVER_PI * (x + CUBIC * x.powi(3))).tanh();
        let du = ROOT_2_OVER_PI * (1.0 + 3.0 * CUBIC * x * x);
        dy * (0.5 * (1.0 + th) + 0.5 * x * (1.0 - th * th) * du)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_match_the_twin_and_the_twin_its_differences() {
        for x in [-30.0, -4.0, -0.7, -1e-4, 0.0, 0.3, 2.0, 30.0] {
            let at = |x: f64| Matrix::from_slice(1, 1, &[x]);
            let one = at(1.0);
            let (value, slope) = (naive_forward(&at(x)), naive_backward(&at(x), &one));
            let h = 1e-5;
            let difference =
                (naive_forward(&at(x + h)).data[0] - naive_forward(&at(x - h)).data[0]) / (2.0 * h);
            assert!((slope.data[0] - difference).abs() < 1e-9, "slope at {x}");
            let lane = Lane::splat(x as f32);
            let (mut y, mut dx) = ([Lane::ZERO], [Lane::ZERO]);
            forward(&[lane], &mut y);
            backward(&[lane], &[Lane::splat(1.0)], &mut dx);
            assert!((f64::from(y[0].0[2]) - value.data[0]).abs() < 1e-6 * (1.0 + x.abs()));
            assert!((f64::from(dx[0].0[2]) - slope.data[0]).abs() < 1e-6);
        }
    }
}
