//! One number from each of [`LANES`] sequences, side by side.

use std::ops::{Add, AddAssign, Mul, Sub};

/// How many sequences sit side by side.
pub const LANES: usize = 8;

/// [`LANES`] numbers, one per sequence. Plain loops over the array become vector instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Lane(pub [f32; LANES]);

/// A lane-wise expression. A plain loop rather than a closure: closures are compiled separately and would
/// lose the vector instructions that their caller was compiled for.
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

    /// The larger of two numbers, lane by lane. If one of them is NaN, the other.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        each_lane!(|lane| self.0[lane].max(other.0[lane]))
    }

    /// The larger of two numbers, lane by lane. If one of them is NaN, the second: that takes one instruction.
    #[inline(always)]
    pub fn larger(self, other: Self) -> Self {
        each_lane!(|lane| if self.0[lane] > other.0[lane] {
            self.0[lane]
        } else {
            other.0[lane]
        })
    }

    /// One in the lanes that are above zero, zero elsewhere.
    #[inline(always)]
    pub fn is_positive(self) -> Self {
        each_lane!(|lane| if self.0[lane] > 0.0 { 1.0 } else { 0.0 })
    }

    /// One in the lanes that are above zero or not a number, zero elsewhere.
    #[inline(always)]
    pub fn is_not_below(self) -> Self {
        each_lane!(|lane| if self.0[lane] <= 0.0 { 0.0 } else { 1.0 })
    }

    /// Its own numbers in the lanes where `flag` is one, the other's elsewhere.
    #[inline(always)]
    pub fn where_one(self, flag: Self, other: Self) -> Self {
        each_lane!(|lane| if flag.0[lane] == 1.0 {
            self.0[lane]
        } else {
            other.0[lane]
        })
    }

    /// Every lane's right neighbour; the first lane's number goes to the last.
    #[inline(always)]
    pub fn rotated(self) -> Self {
        each_lane!(|lane| self.0[(lane + 1) % LANES])
    }

    /// One over every lane.
    #[inline(always)]
    pub fn inverse(self) -> Self {
        each_lane!(|lane| 1.0 / self.0[lane])
    }

    /// One over the square root of every lane.
    #[inline(always)]
    pub fn inverse_root(self) -> Self {
        each_lane!(|lane| 1.0 / self.0[lane].sqrt())
    }

    /// self · factor + addend, rounded once if `FUSED`, which is only for code
    /// compiled for machines that can.
    #[inline(always)]
    pub fn times_plus<const FUSED: bool>(self, factor: Self, addend: Self) -> Self {
        each_lane!(|lane| times_plus::<FUSED>(self.0[lane], factor.0[lane], addend.0[lane]))
    }

    /// One in the lanes that hold the given symbol, zero elsewhere.
    #[inline(always)]
    pub fn is(symbols: &[u8; LANES], symbol: usize) -> Self {
        let symbol = symbol as u32;
        each_lane!(|lane| if u32::from(symbols[lane]) == symbol {
            1.0
        } else {
            0.0
        })
    }

    /// Sum over the lanes, in a fixed order.
    #[inline(always)]
    pub fn sum(self) -> f32 {
        self.0.iter().sum()
    }

    /// e^x with relative error below 4·10⁻⁷; arguments are clamped to ±87, so the result is finite.
    ///
    /// x = n ln 2 + r; e^x = 2^(n + r log₂ e).
    #[inline(always)]
    pub fn exp<const FUSED: bool>(self) -> Self {
        let x = each_lane!(|lane| if self.0[lane] > 87.0 {
            87.0
        } else {
            self.0[lane]
        });
        let x = each_lane!(|lane| if x.0[lane] < -87.0 { -87.0 } else { x.0[lane] });
        let shifted = x * std::f32::consts::LOG2_E + Lane::splat(ROUND);
        let n = shifted - Lane::splat(ROUND);
        // ln 2 in two parts: n times the first is exact.
        let r = n.times_plus::<FUSED>(Lane::splat(-0.693_359_4), x);
        let r = n.times_plus::<FUSED>(Lane::splat(2.121_944_4e-4), r);
        let [power] = powers::<FUSED, 1>([shifted], [r * std::f32::consts::LOG2_E]);
        power
    }

    /// 2^x for x ≤ 126; anything below −126 counts as −126. Relative error below 3·10⁻⁷.
    #[inline(always)]
    pub fn exp2_clamped<const FUSED: bool>(self) -> Self {
        let x = each_lane!(|lane| if self.0[lane] < -126.0 {
            -126.0
        } else {
            self.0[lane]
        });
        x.exp2_in_range::<FUSED>()
    }

    /// 2^x; x is clamped to ±126. Relative error below 3·10⁻⁷.
    #[inline(always)]
    pub fn exp2_saturated<const FUSED: bool>(self) -> Self {
        let x = each_lane!(|lane| if self.0[lane] > 126.0 {
            126.0
        } else {
            self.0[lane]
        });
        x.exp2_clamped::<FUSED>()
    }

    /// [`exp2_clamped`](Self::exp2_clamped) of two at once: neither waits for the other.
    #[inline(always)]
    pub fn exp2_pair_clamped<const FUSED: bool>(x: [Self; 2]) -> [Self; 2] {
        let least = Lane::splat(-126.0);
        // (What is not a number stays so.)
        Lane::exp2_pair_in_range::<FUSED>([least.larger(x[0]), least.larger(x[1])])
    }

    /// 2^x for |x| ≤ 126, for two at once: neither waits for the other. Relative error below 3·10⁻⁷.
    #[inline(always)]
    pub fn exp2_pair_in_range<const FUSED: bool>([a, b]: [Self; 2]) -> [Self; 2] {
        let shifted = [a + Lane::splat(ROUND), b + Lane::splat(ROUND)];
        let f = [
            a - (shifted[0] - Lane::splat(ROUND)),
            b - (shifted[1] - Lane::splat(ROUND)),
        ];
        powers::<FUSED, 2>(shifted, f)
    }

    /// 2^x for |x| ≤ 126. Relative error below 3·10⁻⁷.
    #[inline(always)]
    pub fn exp2_in_range<const FUSED: bool>(self) -> Self {
        let shifted = self + Lane::splat(ROUND);
        let [power] = powers::<FUSED, 1>([shifted], [self - (shifted - Lane::splat(ROUND))]);
        power
    }
}

impl Lane {
    /// Natural logarithm of positive normal numbers. The error is below
    /// 2·10⁻⁷ times the larger of |ln x| and one.
    ///
    /// x = 2ⁿ m with m in [√½, √2); ln m by a polynomial in m − 1 (the Cephes library's).
    #[inline(always)]
    pub fn ln<const FUSED: bool>(self) -> Self {
        const ROOT_HALF: u32 = 0x3f35_04f3;
        // Bits relative to those of √½: the exponent n in the upper ones, the mantissa in the lower ones.
        let n = each_lane!(|lane| {
            let above = self.0[lane].to_bits().wrapping_sub(ROOT_HALF);
            ((above as i32) >> 23) as f32
        });
        let m = each_lane!(|lane| {
            let above = self.0[lane].to_bits().wrapping_sub(ROOT_HALF);
            f32::from_bits((above & 0x007f_ffff) + ROOT_HALF)
        });
        let x = m - Lane::splat(1.0);
        let mut p = Lane::splat(LN[0]);
        for coefficient in &LN[1..] {
            p = p.times_plus::<FUSED>(x, Lane::splat(*coefficient));
        }
        let square = x * x;
        let tail = n.times_plus::<FUSED>(Lane::splat(-2.121_944_4e-4), p * x * square);
        let tail = square.times_plus::<FUSED>(Lane::splat(-0.5), tail);
        // NaN stays NaN, although its bits look like a number's.
        n.times_plus::<FUSED>(Lane::splat(0.693_359_4), x + tail) + self * 0.0
    }
}

/// Coefficients of (ln(1 + x) − x + x²/2) / x³, highest first, from `logf` of the Cephes library.
const LN: [f32; 9] = [
    7.037_683_6e-2,
    -1.151_461e-1,
    1.167_699_9e-1,
    -1.242_014_1e-1,
    1.424_932_3e-1,
    -1.666_805_8e-1,
    2.000_071_5e-1,
    -2.499_999_4e-1,
    3.333_333e-1,
];

/// 1.5 · 2²³: adding it to a number leaves the nearest integer in the low bits.
const ROUND: f32 = 12_582_912.0;

/// 2^(n + f) for |f| ≤ ½, with n in the low bits of `shifted`: 2^f by a polynomial, n added to the exponent.
#[inline(always)]
fn powers<const FUSED: bool, const N: usize>(shifted: [Lane; N], f: [Lane; N]) -> [Lane; N] {
    let mut p = [Lane::splat(EXP2[5]); N];
    for coefficient in EXP2[..5].iter().rev() {
        for u in 0..N {
            p[u] = p[u].times_plus::<FUSED>(f[u], Lane::splat(*coefficient));
        }
    }
    for u in 0..N {
        p[u] = scaled(p[u], shifted[u]);
    }
    p
}

/// p · 2ⁿ, with n in the low bits of `shifted`.
#[inline(always)]
fn scaled(p: Lane, shifted: Lane) -> Lane {
    each_lane!(|lane| {
        let exponent = shifted.0[lane].to_bits() << 23;
        f32::from_bits(p.0[lane].to_bits().wrapping_add(exponent))
    })
}

/// Coefficients of 2^f on |f| ≤ ½: the polynomial through the six Chebyshev points (golden/exp2.py).
const EXP2: [f32; 6] = [
    1.000_000_1,
    std::f32::consts::LN_2,
    0.240_221_07,
    0.055_503_57,
    0.009_676_032,
    0.001_339_086_3,
];

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
