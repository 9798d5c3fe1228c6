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

/// y = max(x, 0)
pub fn relu(x: Value) -> Value {
    x.each(|x| x.max(0.0), |x| if x > 0.0 { 1.0 } else { 0.0 })
}

/// y = x / (1 + e^−x)
pub fn silu(x: Value) -> Value {
    let share = |x: f64| 1.0 / (1.0 + (-x).exp());
    let of_share = move |x: f64| share(x) * (1.0 - share(x));
    x.each_times(x.each(share, of_share))
}

/// y = ln(1 + e^x)
pub fn softplus(x: Value) -> Value {
    let y = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    x.each(y, |x| 1.0 / (1.0 + (-x).exp()))
}

/// y_i = Σ_l k_l ⊙ x_{i−l}; row l of the kernel is k_l.
pub fn short_convolution<'t>(x: Value<'t>, kernel: Value<'t>) -> Value<'t> {
    let (rows, columns) = x.size();
    let (length, _) = kernel.size();
    let term = |l: usize| {
        let tap = kernel.take((rows, columns), move |_, c| Some((l, c)));
        let before = x.take((rows, columns), move |i, c| Some((i.checked_sub(l)?, c)));
        tap.each_times(before)
    };
    (1..length).fold(term(0), |sum, l| sum + term(l))
}

/// The linear recurrence h_t = a_t h_{t−1} + u_t B_tᵀ, y_t = h_t C_t, as one sum: y_i = Σ_{j≤i} a_{j+1} ⋯ a_i (C_i·B_j) u_j.
/// `log_decays` are ln a, one per row; u is [rows, channels], B and C are [rows, N].
pub fn scan<'t>(log_decays: Value<'t>, u: Value<'t>, b: Value<'t>, c: Value<'t>) -> Value<'t> {
    let (rows, _) = u.size();
    let is_seen = |i: usize, j: usize| f64::from(u8::from(j <= i));
    let seen = u.tape().constant(Matrix::from_fn(rows, rows, is_seen));
    let sums = seen.times(log_decays);
    let to = sums.take((rows, rows), |i, _| Some((i, 0)));
    let from = sums.take((rows, rows), |_, j| Some((j, 0)));
    let log_weights = (to - from).each_times(seen);
    let weights = log_weights.each(f64::exp, f64::exp).each_times(seen);
    c.times(b.transposed()).each_times(weights).times(u)
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
