//! y = x Φ(x), Φ(x) = ½ erfc(−x / √2): the Gaussian error linear unit, with the normal distribution itself.

use std::f32::consts::LOG2_E;

use crate::lanes::{Lane, leveled};

leveled!(
    /// Sets y to x Φ(x), and x to the slope Φ(x) + x φ(x) there, for the backward.
    pub fn forward<const FUSED: bool>(x: &mut [Lane], y: &mut [Lane]) {
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = slope_and_value::<FUSED>(*x);
        }
    }
);

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

const ROOT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
/// 1 / √(2π)
const DENSITY: f32 = 0.398_942_3;

#[inline(always)]
fn slope_and_value<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let (one, zero) = (Lane::splat(1.0), Lane::ZERO);
    let z = x.max(zero - x) * ROOT_HALF;
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
