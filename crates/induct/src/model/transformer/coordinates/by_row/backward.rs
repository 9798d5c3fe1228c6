//! Gradients of a group of rows, eight rows at a time.

use std::f32::consts::LN_2;
use std::ops::Range;

use super::forward::sums_over_keys;
use super::{AHEAD, GROUP, Lags, Sequence, Sizes, TILE};
use crate::lanes::cross_lane::{Strided, add_products, add_slid_products};
use crate::lanes::{LANES, Lane, Level, leveled};
use crate::model::window::{window, window_mut};

/// Scratch buffers for the backward of one sequence.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    /// Gradients of a group's averages, scaled for its scores, which are in units of ln 2, [k−1, GROUP]
    d_out: Vec<Lane>,
    /// Gradients of its scores, [vectors, GROUP, 8]
    slopes: Vec<Lane>,
}

impl Scratch {
    pub fn new(sizes: Sizes) -> Self {
        Self {
            d_out: vec![Lane::ZERO; sizes.values() * GROUP],
            slopes: vec![Lane::ZERO; sizes.vectors * LANES * GROUP],
        }
    }
}

/// The gradients of a group of rows, given that of its averages. Call it right after the group's forward.
pub(super) fn backward(
    level: Level,
    sizes: Sizes,
    lags: &Lags,
    group: Range<usize>,
    sequence: &mut Sequence,
    d_lags: &mut Lags,
    scratch: &mut Scratch,
) {
    backward_at(level, level, sizes, lags, group, sequence, d_lags, scratch);
}

leveled!(
    /// - p = softmax(s)       ⟹  ds_ij = ln 2 · p_ij (dout_i · u_j − dout_i · out_i)
    /// - out_i = Σ_j p_ij u_j ⟹  du_j = Σ_i p_ij dout_i
    /// - s_ij as above        ⟹  w_i[x_j] and T_δ[x_j] get ds_ij, w_ir and T_δr get ds_ij a_jr,
    ///   and a_jr gets ds_ij (w_ir + T_δr)
    fn backward_at<const FUSED: bool>(
        level: Level,
        sizes: Sizes,
        lags: &Lags,
        group: Range<usize>,
        sequence: &mut Sequence,
        d_lags: &mut Lags,
        scratch: &mut Scratch,
    ) {
        let count = group.len();
        // One over a row's sum is multiplied into the gradients of its averages.
        let mut below = [Lane::ZERO; GROUP];
        for v in 0..sizes.values() {
            for n in 0..count {
                let d = sequence.d_out[v * GROUP + n] * sequence.inverse[n];
                sequence.d_out[v * GROUP + n] = d;
                scratch.d_out[v * GROUP + n] = d * LN_2;
                below[n] = below[n] - d * LN_2 * sequence.out[v * GROUP + n];
            }
        }
        for n in (0..count).step_by(2) {
            match count - n {
                1 => slopes::<FUSED, 1>(sizes, group.start, n, &below, sequence, scratch),
                _ => slopes::<FUSED, 2>(sizes, group.start, n, &below, sequence, scratch),
            }
        }
        let Sequence {
            keys, d_queries, ..
        } = sequence;
        let place = (
            &mut d_queries[..],
            sizes.states * sizes.vectors + group.start,
            sizes.vectors,
        );
        sums_over_keys::<FUSED>(sizes, &scratch.slopes, &group, (keys, 0), sizes.rest, place);
        sums_by_lag::<FUSED>(sizes, &group, sequence, &scratch.slopes, d_lags);
        sums_over_rows(level, sizes, lags, &group, sequence, scratch);
    }
);

/// Slopes of N vectors of rows, from vector `n` of the group on.
#[inline(always)]
fn slopes<const FUSED: bool, const N: usize>(
    sizes: Sizes,
    group: usize,
    n: usize,
    below: &[Lane; GROUP],
    sequence: &Sequence,
    scratch: &mut Scratch,
) {
    let first = group + n;
    for j in (0..(first + N) * LANES).step_by(TILE) {
        let mut sums: [[Lane; N]; TILE] = [*window(below, n); TILE];
        let values = &sequence.keys[j / LANES * sizes.columns() + sizes.rest..][..sizes.values()];
        let half = j % LANES;
        for v in 0..sizes.values() {
            let d: &[Lane; N] = window(&scratch.d_out, v * GROUP + n);
            let value: &[f32; TILE] = window(&values[v].0, half);
            for u in 0..TILE {
                for a in 0..N {
                    sums[u][a] = d[a].times_plus::<FUSED>(Lane::splat(value[u]), sums[u][a]);
                }
            }
        }
        for a in 0..N {
            let place = (j / LANES * GROUP + n + a) * LANES + half;
            let weights: &[Lane; TILE] = window(&sequence.weights, place);
            let slopes: &mut [Lane; TILE] = window_mut(&mut scratch.slopes, place);
            for u in 0..TILE {
                slopes[u] = weights[u] * sums[u][a];
            }
        }
    }
}

/// Adds Σ_i ds_{i,i−δ} a_{i−δ} to the gradient of every lag δ, and ds_ij to the gradients of
/// everything that is looked up for x_j.
#[inline(always)]
fn sums_by_lag<const FUSED: bool>(
    sizes: Sizes,
    group: &Range<usize>,
    sequence: &mut Sequence,
    slopes: &[Lane],
    d_lags: &mut Lags,
) {
    // A group starts at an even vector, so keys before it can be taken two at a time.
    let Range { start, end } = *group;
    for u in 0..LANES {
        for b in (0..start).step_by(2) {
            if group.len() == GROUP {
                add_by_lag::<FUSED, 2, GROUP>(sizes, (start, 0, b, u), sequence, slopes, d_lags);
            } else {
                for i in start..end {
                    let place = (i, i - start, b, u);
                    add_by_lag::<FUSED, 2, 1>(sizes, place, sequence, slopes, d_lags);
                }
            }
        }
    }
    for u in 0..LANES {
        for b in start..end {
            let place = (b, b - start, b, u);
            match end - b {
                1 => add_by_lag::<FUSED, 1, 1>(sizes, place, sequence, slopes, d_lags),
                2 => add_by_lag::<FUSED, 1, 2>(sizes, place, sequence, slopes, d_lags),
                3 => add_by_lag::<FUSED, 1, 3>(sizes, place, sequence, slopes, d_lags),
                _ => add_by_lag::<FUSED, 1, GROUP>(sizes, place, sequence, slopes, d_lags),
            }
        }
    }
}

/// The same for N vectors of rows and K keys that are eight apart: rows 8 i …, which are vector n of the
/// group, and keys 8 b + u, ….
///
/// The lags of two such keys differ by eight, so their sums are loaded and stored once.
#[inline(always)]
fn add_by_lag<const FUSED: bool, const K: usize, const N: usize>(
    sizes: Sizes,
    (i, n, b, u): (usize, usize, usize, usize),
    sequence: &mut Sequence,
    slopes: &[Lane],
    d_lags: &mut Lags,
) {
    let (columns, rest) = (sizes.columns(), sizes.rest);
    let mut own = [[Lane::ZERO; N]; K];
    for a in 0..K {
        for m in 0..N {
            own[a][m] = slopes[((b + a) * GROUP + n + m) * LANES + u];
        }
    }
    let lag = AHEAD + (i + 1 - b - K) * LANES - u;
    for a in 0..K {
        let symbol = sequence.symbols[(b + a) * LANES + u] as usize;
        let d_queries: &mut [Lane; N] =
            window_mut(&mut sequence.d_queries, symbol * sizes.vectors + i);
        let lags = d_lags.planes.tail_mut(symbol, lag + (K - 1 - a) * LANES);
        let lags = &mut lags[..N * LANES];
        for m in 0..N {
            d_queries[m] += own[a][m];
            let lags: &mut [f32; LANES] = window_mut(lags, m * LANES);
            *lags = (Lane::load(lags) + own[a][m]).0;
        }
    }
    let mut rows = [&sequence.keys[..0]; K];
    for a in 0..K {
        rows[a] = &sequence.keys[(b + a) * columns..][..rest];
    }
    for r in 0..rest {
        let lags = d_lags.planes.tail_mut(sizes.states + r, lag);
        let lags = &mut lags[..(N + K - 1) * LANES];
        let mut sums = [Lane::ZERO; 8];
        for m in 0..N + K - 1 {
            sums[m] = Lane::load(window(lags, m * LANES));
        }
        for a in 0..K {
            let key = Lane::splat(rows[a][r].0[u]);
            for m in 0..N {
                sums[m + K - 1 - a] = own[a][m].times_plus::<FUSED>(key, sums[m + K - 1 - a]);
            }
        }
        for m in 0..N + K - 1 {
            *window_mut(lags, m * LANES) = sums[m].0;
        }
    }
}

/// Adds Σ_i ds_ij (w_i + T_{i−j}) and Σ_i p_ij dout_i to the gradient of every key j.
fn sums_over_rows(
    level: Level,
    sizes: Sizes,
    lags: &Lags,
    group: &Range<usize>,
    sequence: &mut Sequence,
    scratch: &Scratch,
) {
    let columns = sizes.columns();
    for b in 0..group.end {
        let from = group.start.max(b);
        let seen = b * GROUP + from - group.start..b * GROUP + group.len();
        let d_keys = &mut sequence.d_keys[b * columns..][..columns];
        let (d_rest, d_values) = d_keys.split_at_mut(sizes.rest);
        let asks = Strided {
            data: &sequence.queries[sizes.states * sizes.vectors + from..],
            stride: sizes.vectors,
        };
        // Entry 8 (i − from) + 7 − u is the lag of row 8 i and key 8 b + u.
        let lag = AHEAD + (from - b) * LANES - (LANES - 1);
        let lags = Strided {
            data: lags.planes.tail(sizes.states, lag),
            stride: lags.planes.width(),
        };
        let slopes = &scratch.slopes.as_chunks().0[seen.clone()];
        add_slid_products(level, slopes, asks, lags, d_rest);
        let d_out = Strided {
            data: &sequence.d_out[from - group.start..],
            stride: GROUP,
        };
        let weights = &sequence.weights.as_chunks().0[seen];
        add_products(level, weights, d_out, d_values);
    }
}
