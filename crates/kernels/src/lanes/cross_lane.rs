//! Operations across lanes: sums over lanes, and transposes that turn lanes into rows.
//!
//! This is the only place where numbers change lanes, and so the only one with hand-written instructions:
//! what the compiler makes of shuffled arrays takes several times as long.

use super::lane::{LANES, Lane};
use super::level::Level;

/// Sets `sums` to the sums over the lanes, in a fixed order.
pub fn sum_lanes(level: Level, lanes: &[Lane], sums: &mut [f32]) {
    let (eights, rest) = lanes.as_chunks();
    let (of_eights, of_rest) = sums.as_chunks_mut();
    each_of_eight(level, eights, of_eights);
    for (sum, lane) in of_rest.iter_mut().zip(rest) {
        *sum = lane.sum();
    }
}

/// Rows of numbers; consecutive rows start `stride` numbers apart.
#[derive(Clone, Copy)]
pub struct Strided<'a> {
    /// The numbers of all rows.
    pub data: &'a [Lane],
    /// Distance from one row to the next.
    pub stride: usize,
}

impl<'a> Strided<'a> {
    #[inline(always)]
    fn row(self, row: usize, length: usize) -> &'a [Lane] {
        &self.data[row * self.stride..][..length]
    }
}

/// Adds Σ_n Σ_lanes x_n\[a\] · turned_s\[n\]\[lane\] to the numbers of `sums` that begin at a `stride` + 8 s: products
/// of single numbers with vectors that [`transpose_rows`] has turned over. Rows of `sums` have `width` numbers.
pub fn add_turned_products<const S: usize>(
    level: Level,
    x: Strided,
    turned: [&[[Lane; LANES]]; S],
    width: usize,
    stride: usize,
    sums: &mut [f32],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        #[expect(
            unsafe_code,
            reason = "the level proves that the instructions are available"
        )]
        // SAFETY: both levels exist only where AVX2 and FMA were detected.
        Level::Avx2(_) | Level::Avx512(_) => unsafe {
            avx::add_turned_products(x, turned, width, stride, sums)
        },
        _ => portable::add_turned_products(x, turned, width, stride, sums),
    }
}

fn each_of_eight(level: Level, eights: &[[Lane; LANES]], sums: &mut [[f32; LANES]]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        #[expect(
            unsafe_code,
            reason = "the level proves that the instructions are available"
        )]
        // SAFETY: both levels exist only where AVX2 was detected.
        Level::Avx2(_) | Level::Avx512(_) => unsafe { avx::set_sums(eights, sums) },
        _ => portable::set_sums(eights, sums),
    }
}

/// Transposes every tile of eight vectors: number n of vector m becomes number m of vector n.
pub fn transpose(level: Level, tiles: &mut [[Lane; LANES]]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        #[expect(
            unsafe_code,
            reason = "the level proves that the instructions are available"
        )]
        // SAFETY: both levels exist only where AVX2 was detected.
        Level::Avx2(_) | Level::Avx512(_) => unsafe { avx::transpose(tiles) },
        _ => portable::transpose(tiles),
    }
}

/// Sets every tile to `width` ≤ 8 vectors of a row, turned over. What is missing of eight counts as zero.
pub fn transpose_rows(level: Level, rows: Strided, width: usize, tiles: &mut [[Lane; LANES]]) {
    match level {
        #[cfg(target_arch = "x86_64")]
        #[expect(
            unsafe_code,
            reason = "the level proves that the instructions are available"
        )]
        // SAFETY: both levels exist only where AVX2 was detected.
        Level::Avx2(_) | Level::Avx512(_) if width == LANES => unsafe {
            avx::transpose_rows(rows, tiles)
        },
        _ => {
            for (n, tile) in tiles.iter_mut().enumerate() {
                tile[..width].copy_from_slice(rows.row(n, width));
                tile[width..].fill(Lane::ZERO);
            }
            transpose(level, tiles);
        }
    }
}

/// Adds the numbers of some vectors to those of a row, as far as it goes.
#[inline(always)]
fn add_row(vectors: &[Lane], row: &mut [f32]) {
    let (eights, rest) = row.as_chunks_mut::<LANES>();
    for (eight, &vector) in eights.iter_mut().zip(vectors) {
        *eight = (Lane(*eight) + vector).0;
    }
    if let Some(vector) = vectors.get(eights.len()) {
        for (sum, part) in rest.iter_mut().zip(vector.0) {
            *sum += part;
        }
    }
}

/// The same on any machine.
mod portable {
    use super::{LANES, Lane, Strided};

    pub fn set_sums(eights: &[[Lane; LANES]], sums: &mut [[f32; LANES]]) {
        for (eight, sums) in eights.iter().zip(sums) {
            *sums = of_each(eight).0;
        }
    }

    pub fn add_turned_products<const S: usize>(
        x: Strided,
        turned: [&[[Lane; LANES]]; S],
        width: usize,
        stride: usize,
        sums: &mut [f32],
    ) {
        for a in 0..x.stride {
            let mut parts = [Lane::ZERO; S];
            for n in 0..turned[0].len() {
                let factors = x.row(n, x.stride)[a];
                for lane in 0..LANES {
                    for s in 0..S {
                        parts[s] += turned[s][n][lane] * factors.0[lane];
                    }
                }
            }
            super::add_row(&parts, &mut sums[a * stride..][..width]);
        }
    }

    /// Adds lanes half a vector apart, then a quarter, then neighbours.
    fn of_each(eight: &[Lane; LANES]) -> Lane {
        Lane(eight.map(|Lane(a)| {
            let (even, odd) = ((a[0] + a[4]) + (a[2] + a[6]), (a[1] + a[5]) + (a[3] + a[7]));
            even + odd
        }))
    }

    pub fn transpose(tiles: &mut [[Lane; LANES]]) {
        for tile in tiles {
            for m in 0..LANES {
                for n in 0..m {
                    let (above, below) = (tile[m].0[n], tile[n].0[m]);
                    (tile[m].0[n], tile[n].0[m]) = (below, above);
                }
            }
        }
    }
}

/// The same with AVX.
#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::*;

    use super::{LANES, Lane, Strided};

    /// Converts a lane to the instructions' own type, and back.
    #[inline(always)]
    fn vector(lane: Lane) -> __m256 {
        #[expect(unsafe_code, reason = "plain numbers either way")]
        // SAFETY: both types are eight f32 without padding, and every bit pattern is valid for both.
        unsafe {
            std::mem::transmute::<Lane, __m256>(lane)
        }
    }

    #[inline(always)]
    fn lane(vector: __m256) -> Lane {
        #[expect(unsafe_code, reason = "plain numbers either way")]
        // SAFETY: both types are eight f32 without padding, and every bit pattern is valid for both.
        unsafe {
            std::mem::transmute::<__m256, Lane>(vector)
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn set_sums(eights: &[[Lane; LANES]], sums: &mut [[f32; LANES]]) {
        for (eight, sums) in eights.iter().zip(sums) {
            *sums = lane(of_each(&eight.map(vector))).0;
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn add_turned_products<const S: usize>(
        x: Strided,
        turned: [&[[Lane; LANES]]; S],
        width: usize,
        stride: usize,
        sums: &mut [f32],
    ) {
        let mut a = 0;
        // As many as registers hold: with more of them, the compiler would broadcast from memory for every sum.
        while a + 6 <= x.stride {
            turned_tile::<6, S>(x, turned, a, (width, stride), sums);
            a += 6;
        }
        if a + 4 <= x.stride {
            turned_tile::<4, S>(x, turned, a, (width, stride), sums);
            a += 4;
        }
        while a + 2 <= x.stride {
            turned_tile::<2, S>(x, turned, a, (width, stride), sums);
            a += 2;
        }
        if a < x.stride {
            turned_tile::<1, S>(x, turned, a, (width, stride), sums);
        }
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn turned_tile<const A: usize, const S: usize>(
        x: Strided,
        turned: [&[[Lane; LANES]]; S],
        first: usize,
        (width, stride): (usize, usize),
        sums: &mut [f32],
    ) {
        let mut parts = [[_mm256_setzero_ps(); S]; A];
        // (By loops: `map` would be a call.)
        let (count, mut panels) = (turned[0].len(), turned);
        for s in 0..S {
            panels[s] = &turned[s][..count];
        }
        for n in 0..count {
            let factors: &[Lane; A] = x.row(n, x.stride)[first..]
                .first_chunk()
                .expect("A numbers");
            for lane in 0..LANES {
                for a in 0..A {
                    let factor = _mm256_broadcast_ss(&factors[a].0[lane]);
                    for s in 0..S {
                        let vector = vector(panels[s][n][lane]);
                        parts[a][s] = _mm256_fmadd_ps(factor, vector, parts[a][s]);
                    }
                }
            }
        }
        for a in 0..A {
            let mut own = [Lane::ZERO; S];
            for s in 0..S {
                own[s] = lane(parts[a][s]);
            }
            super::add_row(&own, &mut sums[(first + a) * stride..][..width]);
        }
    }

    /// Takes two vectors at a time: adds lanes half a vector apart, then a quarter, then neighbours.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn of_each(eight: &[__m256; LANES]) -> __m256 {
        let zero = _mm256_setzero_ps();
        let mut four = [zero; 4];
        for n in 0..4 {
            let (a, b) = (eight[n], eight[n + 4]);
            let (low, high) = (
                _mm256_permute2f128_ps::<0x20>(a, b),
                _mm256_permute2f128_ps::<0x31>(a, b),
            );
            four[n] = _mm256_add_ps(low, high);
        }
        let mut two = [zero; 2];
        for n in 0..2 {
            let (a, b) = (four[n], four[n + 2]);
            let (low, high) = (
                _mm256_shuffle_ps::<0x44>(a, b),
                _mm256_shuffle_ps::<0xee>(a, b),
            );
            two[n] = _mm256_add_ps(low, high);
        }
        let [a, b] = two;
        let even = _mm256_blend_ps::<0xaa>(a, _mm256_moveldup_ps(b));
        let odd = _mm256_blend_ps::<0xaa>(_mm256_movehdup_ps(a), b);
        _mm256_add_ps(even, odd)
    }

    #[target_feature(enable = "avx2")]
    pub fn transpose(tiles: &mut [[Lane; LANES]]) {
        for tile in tiles {
            *tile = turned(tile);
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn transpose_rows(rows: Strided, tiles: &mut [[Lane; LANES]]) {
        for (n, tile) in tiles.iter_mut().enumerate() {
            *tile = turned(rows.row(n, LANES).first_chunk().expect("eight vectors"));
        }
    }

    /// Single numbers swap places first, then pairs, then halves.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn turned(tile: &[Lane; LANES]) -> [Lane; LANES] {
        let zero = _mm256_setzero_ps();
        let mut pairs = [zero; LANES];
        for n in (0..LANES).step_by(2) {
            let (a, b) = (vector(tile[n]), vector(tile[n + 1]));
            pairs[n] = _mm256_unpacklo_ps(a, b);
            pairs[n + 1] = _mm256_unpackhi_ps(a, b);
        }
        let mut quarters = [zero; LANES];
        for n in [0, 4] {
            for half in 0..2 {
                let (a, b) = (pairs[n + half], pairs[n + half + 2]);
                quarters[n + 2 * half] = _mm256_shuffle_ps::<0x44>(a, b);
                quarters[n + 2 * half + 1] = _mm256_shuffle_ps::<0xee>(a, b);
            }
        }
        let mut turned = [Lane::ZERO; LANES];
        for n in 0..4 {
            let (a, b) = (quarters[n], quarters[n + 4]);
            turned[n] = lane(_mm256_permute2f128_ps::<0x20>(a, b));
            turned[n + 4] = lane(_mm256_permute2f128_ps::<0x31>(a, b));
        }
        turned
    }
}
