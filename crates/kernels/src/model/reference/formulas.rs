//! Formulas of single operations.

use super::tape::Value;
use crate::model::matrix::Matrix;
use crate::model::ops::dropout::Rate;
use crate::model::ops::layer_norm::EPSILON;

/// y = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))
pub fn gelu(x: Value) -> Value {
    let cube = x.each_times(x).each_times(x);
    let inner = (x + cube.scaled(0.044_715)).scaled((2.0 / std::f64::consts::PI).sqrt());
    let tanh = inner.each(f64::tanh, |u| 1.0 - u.tanh().powi(2));
    x.each_times(tanh.shifted(1.0)).scaled(0.5)
}

/// y = x Φ(x), Φ(x) = ½ erfc(−x / √2)
pub fn gelu_exact(x: Value) -> Value {
    let share = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    x.each_times(x.each(share, density))
}

/// y = max(x, 0)
pub fn relu(x: Value) -> Value {
    x.each(|x| x.max(0.0), |x| if x > 0.0 { 1.0 } else { 0.0 })
}

/// y = g (x − mean) / √(var + ε) + b, with mean and variance over each row. Gain and bias are rows.
pub fn layer_norm<'t>(x: Value<'t>, gain: Value<'t>, bias: Value<'t>) -> Value<'t> {
    let (rows, _) = x.size();
    let centred = x - x.row_means();
    let variance = centred.each_times(centred).row_means().shifted(EPSILON);
    let inverse = variance.each(|v| 1.0 / v.sqrt(), |v| -0.5 * v.powf(-1.5));
    let unit = centred.each_times(inverse);
    gain.repeated(rows).each_times(unit) + bias.repeated(rows)
}

/// What dropout multiplies `rows` × `columns` entries of one sequence with, whose pairs are numbered from
/// `first` on.
pub fn mask(rate: Rate, keys: [u32; 2], first: u32, (rows, columns): (usize, usize)) -> Matrix {
    Matrix::from_fn(rows, columns, |i, j| {
        let pairs_before = i * columns.div_ceil(2) + j / 2;
        let mut x = first
            .wrapping_add(pairs_before as u32)
            .wrapping_add(keys[0]);
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15))
            .wrapping_add(keys[1])
            .wrapping_mul(0x846c_a68b);
        x ^= x >> 16;
        let bits = if j % 2 == 0 { x % 65536 } else { x / 65536 };
        if bits < rate.threshold {
            0.0
        } else {
            rate.scale()
        }
    })
}
