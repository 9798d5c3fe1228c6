//! Functions of single numbers, with their slopes.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

use crate::lanes::{Lane, leveled};
use crate::model::reference::{Value, formulas};

/// A function of single numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// ½ x (1 + tanh u), u = √(2/π) (x + 0.044715 x³): the Gaussian error linear unit, tanh form.
    Gelu,
    /// x Φ(x), Φ(x) = ½ erfc(−x / √2): the same with the normal distribution itself.
    GeluExact,
    /// max(x, 0): the rectified linear unit.
    Relu,
    /// x σ(x), σ(x) = 1 / (1 + e^−x): the sigmoid linear unit.
    Silu,
    /// ln(1 + e^x): a positive number for every x.
    Softplus,
}

impl Function {
    /// Its formula.
    pub fn formula(self, x: Value) -> Value {
        match self {
            Function::Gelu => formulas::gelu(x),
            Function::GeluExact => formulas::gelu_exact(x),
            Function::Relu => formulas::relu(x),
            Function::Silu => formulas::silu(x),
            Function::Softplus => formulas::softplus(x),
        }
    }
}

/// Sets `$y` to `$function` of `$x`, and `$x` to its slope. Two at a time: the compiler would interchange a loop
/// over single lanes, to vectors of one lane's numbers.
macro_rules! each {
    ($x:ident, $y:ident, $function:ident) => {{
        let (mut x, mut y) = ($x.chunks_exact_mut(2), $y.chunks_exact_mut(2));
        for (x, y) in (&mut x).zip(&mut y) {
            for u in 0..2 {
                (x[u], y[u]) = $function::<FUSED>(x[u]);
            }
        }
        for (x, y) in x.into_remainder().iter_mut().zip(y.into_remainder()) {
            (*x, *y) = $function::<FUSED>(*x);
        }
    }};
}

leveled!(
    /// Sets y to f(x), and x to the slope there, for the backward.
    pub fn forward<const FUSED: bool>(f: Function, x: &mut [Lane], y: &mut [Lane]) {
        match f {
            Function::Gelu => each!(x, y, gelu),
            Function::GeluExact => each!(x, y, gelu_exact),
            Function::Relu => each!(x, y, relu),
            Function::Silu => each!(x, y, silu),
            Function::Softplus => each!(x, y, softplus),
        }
    }
);

/// 2 √(2/π)
const TWICE: f32 = 2.0 * 0.797_884_560_802_865_4_f64 as f32;
const CUBIC: f32 = 0.044_715;

/// Slope ½ (1 + tanh u) + ½ x (1 − tanh² u) u′, and value.
#[inline(always)]
fn gelu<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let (one, square) = (Lane::splat(1.0), x * x);
    // 2u / x in units of ln 2, and 2u′
    let ratio = square.times_plus::<FUSED>(
        Lane::splat(TWICE * CUBIC * LOG2_E),
        Lane::splat(TWICE * LOG2_E),
    );
    let slope = square.times_plus::<FUSED>(Lane::splat(3.0 * TWICE * CUBIC), Lane::splat(TWICE));
    // ½ (1 + tanh u) = 1 − r and ½ (1 − tanh² u) = 2 r (1 − r), with r = 1 / (1 + e^2u)
    let r = (one + (x * ratio).exp2_saturated::<FUSED>()).inverse();
    let upper = one - r;
    ((x * slope).times_plus::<FUSED>(r * upper, upper), x * upper)
}

/// erfc(z) = t e^(−z² + P(t)) for z ≥ 0, with t = 1 / (1 + z/2), to 1.2·10⁻⁷ of its value: the Chebyshev fit of
/// Numerical Recipes (Press et al.), highest power first, rounded to single precision.
const FIT: [f32; 10] = [
    0.170_872_77,
    -0.822_152_23,
    1.488_515_9,
    -1.135_204,
    0.278_868_07,
    -0.186_288_06,
    0.096_784_18,
    0.374_091_96,
    1.000_023_7,
    -1.265_512_2,
];

/// 1 / √(2π)
const DENSITY: f32 = 0.398_942_3;

/// Slope Φ(x) + x φ(x), and value.
#[inline(always)]
fn gelu_exact<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let (one, zero) = (Lane::splat(1.0), Lane::ZERO);
    let z = x.max(zero - x) * FRAC_1_SQRT_2;
    let t = (one + z * 0.5).inverse();
    let fit = FIT[1..].iter().fold(Lane::splat(FIT[0]), |sum, &next| {
        sum.times_plus::<FUSED>(t, Lane::splat(next))
    });
    let square = z * z;
    // Φ(−|x|), and Φ(x) from it
    let below = t * ((fit - square) * LOG2_E).exp2_saturated::<FUSED>() * 0.5;
    let share = below + x.is_positive() * (one - below - below);
    let density = (square * -LOG2_E).exp2_saturated::<FUSED>() * DENSITY;
    (share + x * density, x * share)
}

/// A maximum would turn NaN into 0, and hide that training has diverged.
#[inline(always)]
fn relu<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let slope = x.is_positive();
    (slope, x * slope)
}

/// Slope σ(x) (1 + x (1 − σ(x))), and value.
#[inline(always)]
fn silu<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let one = Lane::splat(1.0);
    let share = (one + (x * -LOG2_E).exp2_saturated::<FUSED>()).inverse();
    let y = x * share;
    (y.times_plus::<FUSED>(one - share, share), y)
}

/// Slope 1 / (1 + e^−x), and value.
#[inline(always)]
fn softplus<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let (one, positive) = (Lane::splat(1.0), x.is_positive());
    // With e = e^−|x| nothing overflows: y = max(x, 0) + ln(1 + e).
    let above = x * positive;
    let e = (x - above * 2.0).exp::<FUSED>();
    let sum = one + e;
    let share = sum.inverse();
    let slope = share.where_one(positive, e * share);
    // What rounding does to 1 + e, it does to the logarithm too: e over what is left of it there takes that out.
    let left = sum - one;
    let tail = sum.ln::<FUSED>() * e * left.inverse();
    (slope, above + tail.where_one(left.is_positive(), e))
}
