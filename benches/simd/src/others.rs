//! The same by three crates, without `unsafe` of our own.

use fearless_simd::{Bytes, Simd, SimdBase, f32x8 as Fearless, f64x4, u32x8};
use wide::bytemuck::cast;
use wide::f32x8 as Wide;

use crate::kernels::{Eight, LANES, Lane, inlined};

impl Eight for Wide {
    type Token = ();

    inlined! {
        fn load(_: (), lane: &Lane) -> Self { Wide::new(lane.0) }
        fn splat(_: (), value: f32) -> Self { Wide::splat(value) }
        fn lane(self) -> Lane { Lane(self.to_array()) }
        fn times_plus(self, factor: Self, addend: Self) -> Self { self.mul_add(factor, addend) }
        fn scaled(self, shifted: Self) -> Self {
            cast(cast::<Wide, wide::u32x8>(self) + (cast::<Wide, wide::u32x8>(shifted) << 23_u32))
        }
        fn sums(_: (), eight: &[Lane; LANES]) -> Lane {
            let a = Wide::transpose(eight.map(|lane| Wide::new(lane.0)));
            (((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))).lane()
        }
    }
}

impl<S: Simd> Eight for Fearless<S> {
    type Token = S;

    inlined! {
        fn load(simd: S, lane: &Lane) -> Self { Fearless::load_array_ref(simd, &lane.0) }
        fn splat(simd: S, value: f32) -> Self { simd.splat_f32x8(value) }
        fn lane(self) -> Lane { Lane(self.into()) }
        fn times_plus(self, factor: Self, addend: Self) -> Self {
            self.simd.mul_add_f32x8(self, factor, addend)
        }
        fn scaled(self, shifted: Self) -> Self {
            (self.bitcast::<u32x8<S>>() + (shifted.bitcast::<u32x8<S>>() << 23)).bitcast()
        }
        fn sums(simd: S, eight: &[Lane; LANES]) -> Lane {
            let (mut four, mut two) = ([simd.splat_f32x8(0.0); 4], [simd.splat_f32x8(0.0); 2]);
            for n in 0..4 {
                let (a0, a1) = simd.split_f32x8(Self::load(simd, &eight[2 * n]));
                let (b0, b1) = simd.split_f32x8(Self::load(simd, &eight[2 * n + 1]));
                four[n] = simd.combine_f32x4(a0, b0) + simd.combine_f32x4(a1, b1);
            }
            for n in 0..2 {
                let (a, b): (f64x4<S>, f64x4<S>) = (four[2 * n].bitcast(), four[2 * n + 1].bitcast());
                let (low, high) = (simd.unzip_low_f64x4(a, b), simd.unzip_high_f64x4(a, b));
                two[n] = low.bitcast::<Self>() + high.bitcast::<Self>();
            }
            let [a, b] = two;
            (simd.unzip_low_f32x8(a, b) + simd.unzip_high_f32x8(a, b)).lane()
        }
    }
}

/// With pulp, eight numbers are the vector of AVX2, here also compiled for AVX-512. Its generic vectors are
/// as wide as the machine's: 16 numbers with AVX-512, 4 with NEON or in WebAssembly, 1 without AVX2.
#[cfg(target_arch = "x86_64")]
pub mod of_pulp {
    use std::ops::{Add, Div, Mul, Sub};

    use pulp::{Simd, cast, f32x8, x86::V3};

    use crate::kernels::{Eight, LANES, Lane, inlined, operator};

    #[derive(Clone, Copy)]
    pub struct Pulp(V3, f32x8);

    operator!(Add add, [] Pulp, |a, b| Pulp(a.0, a.0.add_f32s(a.1, b.1)));
    operator!(Sub sub, [] Pulp, |a, b| Pulp(a.0, a.0.sub_f32s(a.1, b.1)));
    operator!(Mul mul, [] Pulp, |a, b| Pulp(a.0, a.0.mul_f32s(a.1, b.1)));
    operator!(Div div, [] Pulp, |a, b| Pulp(a.0, a.0.div_f32s(a.1, b.1)));

    impl Eight for Pulp {
        type Token = V3;

        inlined! {
            fn load(simd: V3, lane: &Lane) -> Self { Pulp(simd, cast(lane.0)) }
            fn splat(simd: V3, value: f32) -> Self { Pulp(simd, simd.splat_f32s(value)) }
            fn lane(self) -> Lane { Lane(cast(self.1)) }
            fn times_plus(self, factor: Self, addend: Self) -> Self {
                Pulp(self.0, self.0.mul_add_f32s(self.1, factor.1, addend.1))
            }
            fn scaled(self, shifted: Self) -> Self {
                let exponent = self.0.shl_const_u32x8::<23>(cast(shifted.1));
                Pulp(self.0, cast(self.0.add_u32s(cast(self.1), exponent)))
            }
            fn sums(simd: V3, eight: &[Lane; LANES]) -> Lane {
                let mut sums = Lane::default();
                for n in 0..LANES {
                    sums.0[n] = simd.reduce_sum_f32s(cast(eight[n].0));
                }
                sums
            }
        }
    }
}
