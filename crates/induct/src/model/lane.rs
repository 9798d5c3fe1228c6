//! One number of each of [`LANES`] sequences, side by side: the unit of every fast path.

use std::ops::{Add, AddAssign, Mul, Sub};

use crate::chain::LANES;

/// [`LANES`] numbers, one a sequence. Plain loops over the array become vector instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Lane(pub [f32; LANES]);

/// A lane-wise expression. A plain loop rather than a closure: closures are compiled apart and would lose the
/// vector instructions that their caller was compiled for.
macro_rules! each_lane {
    (|$lane:ident| $value:expr) => {{
        let mut out = [0.0; LANES];
        for $lane in 0..LANES {
            out[$lane] = $value;
        }
        Lane(out)
    }};
}

impl Lane {
    /// Zero in every lane.
    pub const ZERO: Lane = Lane([0.0; LANES]);

    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(value: f32) -> Self {
        Lane([value; LANES])
    }

    /// `f` of every lane.
    #[inline(always)]
    pub fn map(self, f: impl Fn(f32) -> f32) -> Self {
        each_lane!(|lane| f(self.0[lane]))
    }

    /// The larger of two numbers, lane by lane.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        // `f32::max` treats NaN in a way that costs instructions; scores that are NaN stay NaN later on.
        each_lane!(|lane| if self.0[lane] > other.0[lane] {
            self.0[lane]
        } else {
            other.0[lane]
        })
    }

    /// One over every lane.
    #[inline(always)]
    pub fn inverse(self) -> Self {
        each_lane!(|lane| 1.0 / self.0[lane])
    }

    /// self · factor + addend, rounded once if `FUSED`: only for code compiled for machines that can.
    #[inline(always)]
    pub fn times_plus<const FUSED: bool>(self, factor: Self, addend: Self) -> Self {
        each_lane!(|lane| times_plus::<FUSED>(self.0[lane], factor.0[lane], addend.0[lane]))
    }

    /// Sum over the lanes, in a fixed order.
    #[inline(always)]
    pub fn sum(self) -> f32 {
        self.0.iter().sum()
    }

    /// e^x with relative error below 2·10⁻⁷; arguments are clamped to ±87, so the result is finite.
    #[inline(always)]
    pub fn exp(self) -> Self {
        let below = each_lane!(|lane| if self.0[lane] > 87.0 {
            87.0
        } else {
            self.0[lane]
        });
        below.exp_of_negative::<false>()
    }

    /// e^x for x ≤ 87, as [`Lane::exp`] without its upper clamp.
    ///
    /// x = n ln 2 + r with |r| ≤ ½ ln 2; e^r by a polynomial (the one of the Cephes library), 2ⁿ by its bits.
    #[inline(always)]
    pub fn exp_of_negative<const FUSED: bool>(self) -> Self {
        const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³: adding it leaves the nearest integer in the low bits
        let fused = |a: Lane, b: Lane, c: f32| a.times_plus::<FUSED>(b, Lane::splat(c));
        let x = each_lane!(|lane| if self.0[lane] < -87.0 {
            -87.0
        } else {
            self.0[lane]
        });
        let shifted = fused(x, Lane::splat(std::f32::consts::LOG2_E), ROUND);
        let n = shifted - Lane::splat(ROUND);
        let r = n.times_plus::<FUSED>(Lane::splat(-0.693_359_4), x);
        let r = n.times_plus::<FUSED>(Lane::splat(2.121_944_4e-4), r);
        let mut p = fused(Lane::splat(1.987_569_1e-4), r, 1.398_2e-3);
        p = fused(p, r, 8.333_452e-3);
        p = fused(p, r, 4.166_579_6e-2);
        p = fused(p, r, 1.666_666_5e-1);
        p = fused(p, r, 0.5);
        let fraction = p.times_plus::<FUSED>(r * r, r) + Lane::splat(1.0);
        let power = each_lane!(|lane| {
            let exponent = (shifted.0[lane].to_bits() << 23).wrapping_add(0x3f80_0000);
            f32::from_bits(exponent)
        });
        fraction * power
    }
}

#[inline(always)]
fn times_plus<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

impl Add for Lane {
    type Output = Lane;
    #[inline(always)]
    fn add(self, other: Lane) -> Lane {
        each_lane!(|lane| self.0[lane] + other.0[lane])
    }
}

impl Sub for Lane {
    type Output = Lane;
    #[inline(always)]
    fn sub(self, other: Lane) -> Lane {
        each_lane!(|lane| self.0[lane] - other.0[lane])
    }
}

impl Mul for Lane {
    type Output = Lane;
    #[inline(always)]
    fn mul(self, other: Lane) -> Lane {
        each_lane!(|lane| self.0[lane] * other.0[lane])
    }
}

impl Mul<f32> for Lane {
    type Output = Lane;
    #[inline(always)]
    fn mul(self, factor: f32) -> Lane {
        each_lane!(|lane| self.0[lane] * factor)
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
