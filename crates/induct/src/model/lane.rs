//! One number of each of [`LANES`] sequences, side by side: the unit of every fast path.

use std::ops::{Add, AddAssign, Mul, Sub};

use crate::chain::LANES;

/// [`LANES`] numbers, one a sequence. Plain loops over the array become vector instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Lane(pub [f32; LANES]);

impl Lane {
    /// Zero in every lane.
    pub const ZERO: Lane = Lane([0.0; LANES]);

    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(value: f32) -> Self {
        Lane([value; LANES])
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Lane(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
    }

    /// `f` of every lane.
    #[inline(always)]
    pub fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Lane(self.0.map(f))
    }

    /// The larger of two numbers, lane by lane.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        // `f32::max` treats NaN in a way that costs instructions; scores that are NaN stay NaN later on.
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    /// Sum over the lanes, in a fixed order.
    #[inline(always)]
    pub fn sum(self) -> f32 {
        self.0.iter().sum()
    }

    /// e^x with relative error below 2·10⁻⁷; arguments are clamped to ±87, so the result is finite.
    ///
    /// x = n ln 2 + r with |r| ≤ ½ ln 2; e^r by a polynomial (the one of the Cephes library), 2ⁿ by its bits.
    #[inline(always)]
    pub fn exp(self) -> Self {
        const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves the nearest integer in the low bits
        self.map(|x| {
            let x = if x > 87.0 { 87.0 } else { x };
            let x = if x < -87.0 { -87.0 } else { x };
            let shifted = x * std::f32::consts::LOG2_E + ROUND;
            let n = shifted - ROUND;
            let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
            let mut p = 1.987_569_1e-4;
            p = p * r + 1.398_2e-3;
            p = p * r + 8.333_452e-3;
            p = p * r + 4.166_579_6e-2;
            p = p * r + 1.666_666_5e-1;
            p = p * r + 0.5;
            let fraction = p * r * r + r + 1.0;
            let exponent = (shifted.to_bits() << 23).wrapping_add(0x3f80_0000);
            fraction * f32::from_bits(exponent)
        })
    }
}

impl Add for Lane {
    type Output = Lane;
    #[inline(always)]
    fn add(self, other: Lane) -> Lane {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for Lane {
    type Output = Lane;
    #[inline(always)]
    fn sub(self, other: Lane) -> Lane {
        self.zip(other, |a, b| a - b)
    }
}

impl Mul for Lane {
    type Output = Lane;
    #[inline(always)]
    fn mul(self, other: Lane) -> Lane {
        self.zip(other, |a, b| a * b)
    }
}

impl Mul<f32> for Lane {
    type Output = Lane;
    #[inline(always)]
    fn mul(self, factor: f32) -> Lane {
        self.map(|a| a * factor)
    }
}

impl AddAssign for Lane {
    #[inline(always)]
    fn add_assign(&mut self, other: Lane) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_accurate_over_its_whole_range() {
        let mut x = -87.0_f32;
        while x < 87.0 {
            let got = f64::from(Lane::splat(x).exp().0[3]);
            let exact = f64::from(x).exp();
            assert!(
                (got / exact - 1.0).abs() < 2e-7,
                "exp({x}) = {got}, not {exact}"
            );
            x += 0.013;
        }
    }

    #[test]
    fn exp_stays_finite_beyond_its_range() {
        assert_eq!(Lane::splat(0.0).exp(), Lane::splat(1.0));
        assert!(Lane::splat(-1e30).exp().0[0] < 1e-37);
        assert!(Lane::splat(1e30).exp().0[0].is_finite());
    }
}
