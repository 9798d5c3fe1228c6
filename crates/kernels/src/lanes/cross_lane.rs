//! Operations across lanes: sums over lanes, and transposes that turn lanes into rows.
//!
//! This is the only place where numbers change lanes, and so the only one with hand-written instructions:
//! what the compiler makes of shuffled arrays takes several times as long.

use super::lane::{LANES, Lane};
use super::{Level, leveled};

/// Sets `sums` to the sums over the lanes, in a fixed order: half a vector apart, then a quarter, then neighbours.
pub fn sum_lanes(level: Level, lanes: &[Lane], sums: &mut [f32]) {
    let (eights, rest) = lanes.as_chunks();
    let (of_eights, of_rest) = sums.as_chunks_mut();
    for (eight, sums) in eights.iter().zip(of_eights) {
        let mut turned = [*eight];
        transpose(level, &mut turned);
        let [[a, b, c, d, e, f, g, h]] = turned;
        let (even, odd) = ((a + e) + (c + g), (b + f) + (d + h));
        *sums = (even + odd).0;
    }
    for (sum, lane) in of_rest.iter_mut().zip(rest) {
        *sum = lane.sum();
    }
}

/// Adds the sums over the lanes of at most eight numbers to as many totals.
pub fn add_sums(level: Level, lanes: &[Lane; LANES], totals: &mut [f32]) {
    let mut sums = [0.0; LANES];
    sum_lanes(level, lanes, &mut sums);
    for (total, sum) in totals.iter_mut().zip(sums) {
        *total += sum;
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

leveled!(
    /// Adds Σ_n Σ_lanes x_n\[a\] · turned_s\[n\]\[lane\] to the numbers of `sums` that begin at a `stride` + 8 s:
    /// products of single numbers with vectors that [`transpose_rows`] has turned over. Rows of `sums` have `width`
    /// numbers.
    pub fn add_turned_products<const FUSED: bool, const S: usize>(
        x: Strided,
        turned: [&[[Lane; LANES]]; S],
        width: usize,
        stride: usize,
        sums: &mut [f32],
    ) {
        let mut a = 0;
        while a < x.stride {
            let place = (a, width, stride);
            // As many as registers hold: with more of them, the compiler would broadcast from memory for every sum.
            a += match x.stride - a {
                1 => turned_tile::<FUSED, 1, S>(x, turned, place, sums),
                2 | 3 => turned_tile::<FUSED, 2, S>(x, turned, place, sums),
                4 | 5 => turned_tile::<FUSED, 4, S>(x, turned, place, sums),
                _ => turned_tile::<FUSED, 6, S>(x, turned, place, sums),
            };
        }
    }
);

/// The same for A numbers of a row. Returns A.
#[inline(always)]
fn turned_tile<const FUSED: bool, const A: usize, const S: usize>(
    x: Strided,
    turned: [&[[Lane; LANES]]; S],
    (first, width, stride): (usize, usize, usize),
    sums: &mut [f32],
) -> usize {
    let mut parts = [[Lane::ZERO; S]; A];
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
                let factor = Lane::splat(factors[a].0[lane]);
                for s in 0..S {
                    parts[a][s] = factor.times_plus::<FUSED>(panels[s][n][lane], parts[a][s]);
                }
            }
        }
    }
    for a in 0..A {
        add_row(&parts[a], &mut sums[(first + a) * stride..][..width]);
    }
    A
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
    use super::{LANES, Lane};

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
