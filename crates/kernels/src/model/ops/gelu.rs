//! y = ½ x (1 + tanh u), u = √(2/π) (x + 0.044715 x³): the Gaussian error linear unit, tanh form.

use std::f32::consts::LOG2_E;

use crate::lanes::{Lane, leveled};

const ROOT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
const CUBIC: f32 = 0.044_715;

leveled!(
    /// Sets y to gelu(x), and x to the slope dgelu/dx = ½ (1 + tanh u) + ½ x (1 − tanh²
    /// u) u′ there, for the backward.
    pub fn forward<const FUSED: bool>(x: &mut [Lane], y: &mut [Lane]) {
        // Two at a time: the compiler would interchange a loop over single lanes, to
        // vectors of one lane's numbers.
        let (mut x, mut y) = (x.chunks_exact_mut(2), y.chunks_exact_mut(2));
        for (x, y) in (&mut x).zip(&mut y) {
            for u in 0..2 {
                (x[u], y[u]) = slope_and_value::<FUSED>(x[u]);
            }
        }
        for (x, y) in x.into_remainder().iter_mut().zip(y.into_remainder()) {
            (*x, *y) = slope_and_value::<FUSED>(*x);
        }
    }
);

#[inline(always)]
fn slope_and_value<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
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

const TWICE: f32 = 2.0 * ROOT_2_OVER_PI as f32;
