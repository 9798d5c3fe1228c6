//! y = max(x, 0): the rectified linear unit.

use crate::lanes::{Lane, leveled};
use crate::model::matrix::Matrix;

leveled!(
    /// Sets y to max(x, 0), and x to the slope there, 1 above zero and 0 elsewhere, for the backward.
    pub fn forward<const FUSED: bool>(x: &mut [Lane], y: &mut [Lane]) {
        for (x, y) in x.iter_mut().zip(y) {
            let slope = x.is_positive();
            // A maximum would turn NaN into 0, and hide that training has diverged.
            (*x, *y) = (slope, *x * slope);
        }
    }
);

/// max(x, 0) in f64.
pub fn naive_forward(x: &Matrix) -> Matrix {
    Matrix::from_fn(x.rows, x.cols, |i, j| x[(i, j)].max(0.0))
}

/// Its gradient in f64.
pub fn naive_backward(x: &Matrix, dy: &Matrix) -> Matrix {
    Matrix::from_fn(x.rows, x.cols, |i, j| {
        if x[(i, j)] > 0.0 { dy[(i, j)] } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Level;

    #[test]
    fn lanes_match_the_twin_and_the_twin_its_differences() {
        for x in [-30.0, -0.7, -1e-4, 1e-4, 0.3, 2.0, 30.0] {
            let at = |x: f64| Matrix::from_slice(1, 1, &[x]);
            let (value, slope) = (naive_forward(&at(x)), naive_backward(&at(x), &at(1.0)));
            let h = 1e-5;
            let difference =
                (naive_forward(&at(x + h)).data[0] - naive_forward(&at(x - h)).data[0]) / (2.0 * h);
            assert!((slope.data[0] - difference).abs() < 1e-9, "slope at {x}");
            for level in Level::all() {
                let (mut lane, mut y) = ([Lane::splat(x as f32)], [Lane::ZERO]);
                forward(level, &mut lane, &mut y);
                assert_eq!(f64::from(y[0].0[2]), f64::from(value.data[0] as f32));
                assert_eq!(f64::from(lane[0].0[2]), slope.data[0]);
            }
        }
    }

    #[test]
    fn a_number_that_is_none_does_not_vanish() {
        let (mut lane, mut y) = ([Lane::splat(f32::NAN)], [Lane::ZERO]);
        forward(Level::detect(), &mut lane, &mut y);
        assert!(y[0].0.iter().all(|y| y.is_nan()));
    }
}
