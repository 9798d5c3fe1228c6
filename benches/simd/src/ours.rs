//! The library's way, copied from its module `lanes`: arrays of eight, loops that the compiler turns into
//! vector instructions, a function per instruction level, and intrinsics where numbers change lanes.

use std::ops::{Add, Div, Mul, Sub};

use crate::kernels::{Eight, Kernel, LANES, Lane, Work, inlined, operator, run};

/// `FUSED` is only for functions compiled for machines with fused multiply-add.
#[derive(Clone, Copy)]
pub struct Ours<const FUSED: bool>([f32; LANES]);

/// A lane-wise expression.
macro_rules! each_lane {
    (|$lane:ident| $value:expr) => {{
        let mut out = [0.0; LANES];
        for $lane in 0..LANES {
            out[$lane] = $value;
        }
        Ours(out)
    }};
}

operator!(Add add, [const FUSED: bool] Ours<FUSED>, |a, b| each_lane!(|n| a.0[n] + b.0[n]));
operator!(Sub sub, [const FUSED: bool] Ours<FUSED>, |a, b| each_lane!(|n| a.0[n] - b.0[n]));
operator!(Mul mul, [const FUSED: bool] Ours<FUSED>, |a, b| each_lane!(|n| a.0[n] * b.0[n]));
operator!(Div div, [const FUSED: bool] Ours<FUSED>, |a, b| each_lane!(|n| a.0[n] / b.0[n]));

impl<const FUSED: bool> Eight for Ours<FUSED> {
    type Token = ();

    inlined! {
        fn load(_: (), lane: &Lane) -> Self { Ours(lane.0) }
        fn splat(_: (), value: f32) -> Self { Ours([value; LANES]) }
        fn lane(self) -> Lane { Lane(self.0) }
        fn times_plus(self, factor: Self, addend: Self) -> Self {
            each_lane!(|lane| match FUSED {
                true => self.0[lane].mul_add(factor.0[lane], addend.0[lane]),
                false => self.0[lane] * factor.0[lane] + addend.0[lane],
            })
        }
        fn scaled(self, shifted: Self) -> Self {
            each_lane!(|lane| {
                let exponent = shifted.0[lane].to_bits() << 23;
                f32::from_bits(self.0[lane].to_bits().wrapping_add(exponent))
            })
        }
        fn sums(_: (), eight: &[Lane; LANES]) -> Lane {
            #[cfg(target_arch = "x86_64")]
            if FUSED {
                // SAFETY: `FUSED` is used only where AVX2 was detected.
                return unsafe { avx::sums(eight) };
            }
            let sum = |Lane(a)| ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
            Lane(eight.map(sum))
        }
    }
}

/// What every machine of its kind has.
pub fn portable(kernel: Kernel, work: &mut Work) {
    run::<Ours<{ cfg!(target_arch = "aarch64") }>>((), kernel, work);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub fn avx2(kernel: Kernel, work: &mut Work) {
    run::<Ours<true>>((), kernel, work);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
pub fn avx512(kernel: Kernel, work: &mut Work) {
    run::<Ours<true>>((), kernel, work);
}

#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::*;
    use std::mem::transmute;

    use super::{LANES, Lane};

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn sums(eight: &[Lane; LANES]) -> Lane {
        // SAFETY: both types are eight f32 without padding, for which all bits are good.
        let eight = eight.map(|lane| unsafe { transmute::<Lane, __m256>(lane) });
        let (mut four, mut two) = ([_mm256_setzero_ps(); 4], [_mm256_setzero_ps(); 2]);
        for n in 0..4 {
            let (a, b) = (eight[n], eight[n + 4]);
            let low = _mm256_permute2f128_ps::<0x20>(a, b);
            four[n] = _mm256_add_ps(low, _mm256_permute2f128_ps::<0x31>(a, b));
        }
        for n in 0..2 {
            let (a, b) = (four[n], four[n + 2]);
            let low = _mm256_shuffle_ps::<0x44>(a, b);
            two[n] = _mm256_add_ps(low, _mm256_shuffle_ps::<0xee>(a, b));
        }
        let [a, b] = two;
        let even = _mm256_blend_ps::<0xaa>(a, _mm256_moveldup_ps(b));
        let odd = _mm256_blend_ps::<0xaa>(_mm256_movehdup_ps(a), b);
        // SAFETY: as above.
        unsafe { transmute::<__m256, Lane>(_mm256_add_ps(even, odd)) }
    }
}
