//! Weights and averages of a group of rows, eight rows at a time.

use std::ops::Range;

use super::{AHEAD, GROUP, Lags, Sequence, Sizes, TILE};
use crate::lanes::{LANES, Lane, leveled};
use crate::model::ops::attention::fast::{in_tiles, up_to_five};
use crate::model::window::{window, window_mut};

/// Number of lags between two vectors of rows and the keys of a tile.
const NEAR: usize = TILE - 1 + 2 * LANES;

/// Eight numbers from `start` on as a vector.
#[inline(always)]
fn lane(data: &[f32], start: usize) -> Lane {
    Lane::load(window(data, start))
}

leveled!(
    /// Weights and averages of a group of rows. `BOUNDED` promises that no score is beyond ±40: then the
    /// largest need not be known.
    pub(super) fn forward<const FUSED: bool, const BOUNDED: bool>(
        sizes: Sizes,
        lags: &Lags,
        group: Range<usize>,
        sequence: &mut Sequence,
    ) {
        let count = group.len();
        for n in (0..count).step_by(2) {
            match count - n {
                1 => weights::<FUSED, BOUNDED, 1>(sizes, lags, group.start, n, sequence),
                _ => weights::<FUSED, BOUNDED, 2>(sizes, lags, group.start, n, sequence),
            }
        }
        let Sequence {
            weights,
            keys,
            out,
            inverse,
            ..
        } = sequence;
        sums_over_keys::<FUSED>(
            sizes,
            weights,
            &group,
            (keys, sizes.rest),
            sizes.values(),
            (out, 0, GROUP),
        );
        for v in 0..sizes.values() {
            for n in 0..count {
                out[v * GROUP + n] = out[v * GROUP + n] * inverse[n];
            }
        }
    }
);

/// Computes the weights of N vectors of rows, from vector `n` of the group on, and one over their sums.
#[inline(always)]
fn weights<const FUSED: bool, const BOUNDED: bool, const N: usize>(
    sizes: Sizes,
    lags: &Lags,
    group: usize,
    n: usize,
    sequence: &mut Sequence,
) {
    let first = group + n;
    let (mut most, mut sums) = ([Lane::splat(f32::NEG_INFINITY); N], [Lane::ZERO; N]);
    // Keys that all rows see, if that matters, then all others.
    let all_see = if BOUNDED { first * LANES } else { 0 };
    for j in (0..all_see).step_by(TILE) {
        let scores = scores::<FUSED, N>(sizes, lags, first, j, sequence);
        for a in 0..N {
            let place = (j / LANES * GROUP + n + a) * LANES + j % LANES;
            let row: &mut [Lane; TILE] = window_mut(&mut sequence.weights, place);
            for u in 0..TILE {
                row[u] = scores[u][a].exp2_in_range::<FUSED>();
                sums[a] += row[u];
            }
        }
    }
    for j in (all_see..(first + N) * LANES).step_by(TILE) {
        let scores = scores::<FUSED, N>(sizes, lags, first, j, sequence);
        for a in 0..N {
            let place = (j / LANES * GROUP + n + a) * LANES + j % LANES;
            let row: &mut [Lane; TILE] = window_mut(&mut sequence.weights, place);
            for u in 0..TILE {
                if BOUNDED {
                    row[u] = scores[u][a].exp2_or_zero::<FUSED>();
                    sums[a] += row[u];
                } else {
                    row[u] = scores[u][a];
                    most[a] = most[a].max(row[u]);
                }
            }
        }
    }
    for b in 0..if BOUNDED { 0 } else { first + N } {
        for a in 0..N {
            let row: &mut [Lane; LANES] =
                window_mut(&mut sequence.weights, (b * GROUP + n + a) * LANES);
            // Two keys at a time, so that neither exponential waits for the other.
            for u in (0..LANES).step_by(2) {
                row[u] = (row[u] - most[a]).exp2_or_zero::<FUSED>();
                row[u + 1] = (row[u + 1] - most[a]).exp2_or_zero::<FUSED>();
                sums[a] += row[u] + row[u + 1];
            }
        }
    }
    for a in 0..N {
        sequence.inverse[n + a] = sums[a].inverse();
    }
}

/// Scores of N vectors of rows at the keys of a tile from `j` on.
#[inline(always)]
fn scores<const FUSED: bool, const N: usize>(
    sizes: Sizes,
    lags: &Lags,
    first: usize,
    j: usize,
    sequence: &Sequence,
) -> [[Lane; N]; TILE] {
    // Entry TILE − 1 − u + 8 a is the lag of row 8 (first + a) and key j + u.
    let lag = AHEAD + first * LANES - j - (TILE - 1);
    let symbols: &[u8; TILE] = window(&sequence.symbols, j);
    let mut sums = [[Lane::ZERO; N]; TILE];
    for u in 0..TILE {
        let symbol = symbols[u] as usize;
        let queries: &[Lane; N] = window(&sequence.queries, symbol * sizes.vectors + first);
        let lags: &[f32; NEAR] = lags.planes.window(symbol, lag);
        for a in 0..N {
            sums[u][a] = queries[a] + lane(lags, TILE - 1 - u + a * LANES);
        }
    }
    let keys = &sequence.keys[j / LANES * sizes.columns()..][..sizes.rest];
    let half = j % LANES;
    for r in 0..sizes.rest {
        let queries: &[Lane; N] = window(
            &sequence.queries,
            (sizes.states + r) * sizes.vectors + first,
        );
        let lags: &[f32; NEAR] = lags.planes.window(sizes.states + r, lag);
        let key: &[f32; TILE] = window(&keys[r].0, half);
        for u in 0..TILE {
            let key = Lane::splat(key[u]);
            for a in 0..N {
                sums[u][a] = key.times_plus::<FUSED>(queries[a], sums[u][a]);
                let lag = lane(lags, TILE - 1 - u + a * LANES);
                sums[u][a] = key.times_plus::<FUSED>(lag, sums[u][a]);
            }
        }
    }
    sums
}

/// Sets `count` planes of `out`, from the entry that its place gives, to Σ_j entries_ij keys_j,
/// column by column from `first` on.
#[inline(always)]
pub(super) fn sums_over_keys<const FUSED: bool>(
    sizes: Sizes,
    entries: &[Lane],
    group: &Range<usize>,
    (keys, first): (&[Lane], usize),
    count: usize,
    (out, start, stride): (&mut [Lane], usize, usize),
) {
    for n in (0..group.len()).step_by(2) {
        let seen = (group.start + n + 2).min(group.end);
        in_tiles!(count, up_to_five, |column, C| {
            let keys = keys[..seen * sizes.columns()].chunks_exact(sizes.columns());
            let place = start + column * stride + n;
            let own = &mut out[place..];
            let entries = &entries[n * LANES..];
            match group.len() - n {
                1 => sum_columns::<FUSED, 1, C>(entries, keys, first + column, (own, stride)),
                _ => sum_columns::<FUSED, 2, C>(entries, keys, first + column, (own, stride)),
            }
        });
    }
}

/// The same for N vectors of rows and C columns.
#[inline(always)]
fn sum_columns<const FUSED: bool, const N: usize, const C: usize>(
    entries: &[Lane],
    keys: std::slice::ChunksExact<Lane>,
    column: usize,
    (out, stride): (&mut [Lane], usize),
) {
    let mut sums = [[Lane::ZERO; N]; C];
    for (b, key) in keys.enumerate() {
        let key: &[Lane; C] = window(key, column);
        let mut rows = [&[Lane::ZERO; LANES]; N];
        for a in 0..N {
            rows[a] = window(entries, (b * GROUP + a) * LANES);
        }
        for u in 0..LANES {
            for c in 0..C {
                let key = Lane::splat(key[c].0[u]);
                for a in 0..N {
                    sums[c][a] = rows[a][u].times_plus::<FUSED>(key, sums[c][a]);
                }
            }
        }
    }
    for c in 0..C {
        out[c * stride..][..N].copy_from_slice(&sums[c]);
    }
}
