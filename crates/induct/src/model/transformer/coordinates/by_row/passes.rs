//! Passes over pairs of a row and a key, eight rows at a time, and the turning of lanes into rows and back.

use std::f32::consts::LN_2;
use std::ops::Range;

use super::{AHEAD, Lags, Sequence, Sizes, Turn};
use crate::chain::LANES;
use crate::model::across::{Planes, add_products, add_slid_products, transpose};
use crate::model::lane::Lane;
use crate::model::level::{Level, leveled};
use crate::model::ops::attention::fast::{in_tiles, up_to_five};

/// Vectors of rows that go forward, and backward, together.
pub(super) const GROUP: usize = 4;

/// Keys that scores and slopes take at a time, and lags that two vectors of rows have to them.
const TILE: usize = LANES / 2;
const NEAR: usize = TILE - 1 + 2 * LANES;

/// Room for the backward of one sequence.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    /// Gradients of a group's averages for its scores, which are in units of ln 2, [k−1, GROUP]
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

/// N entries from `start` on.
#[inline(always)]
fn window<T, const N: usize>(data: &[T], start: usize) -> &[T; N] {
    data[start..][..N].try_into().expect("N entries")
}

#[inline(always)]
fn window_mut<T, const N: usize>(data: &mut [T], start: usize) -> &mut [T; N] {
    (&mut data[start..][..N]).try_into().expect("N entries")
}

/// Eight numbers from `start` on as a vector.
#[inline(always)]
fn lane(data: &[f32], start: usize) -> Lane {
    Lane::load(window(data, start))
}

leveled!(
    /// Weights and averages of a group of rows. `GENTLE` promises that no score is beyond ±40: then the largest need not be known.
    pub(super) fn forward[GENTLE: bool](sizes: Sizes, lags: &Lags, group: Range<usize>, sequence: &mut Sequence) = forward_any
);

#[inline(always)]
fn forward_any<const FUSED: bool, const GENTLE: bool>(
    sizes: Sizes,
    lags: &Lags,
    group: Range<usize>,
    sequence: &mut Sequence,
) {
    let count = group.len();
    for n in (0..count).step_by(2) {
        match count - n {
            1 => weights::<FUSED, GENTLE, 1>(sizes, lags, group.start, n, sequence),
            _ => weights::<FUSED, GENTLE, 2>(sizes, lags, group.start, n, sequence),
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

/// Leaves the weights of N vectors of rows, from `n` of the group on, and one over their sums.
#[inline(always)]
fn weights<const FUSED: bool, const GENTLE: bool, const N: usize>(
    sizes: Sizes,
    lags: &Lags,
    group: usize,
    n: usize,
    sequence: &mut Sequence,
) {
    let first = group + n;
    let (mut most, mut sums) = ([Lane::splat(f32::NEG_INFINITY); N], [Lane::ZERO; N]);
    // Keys that all rows see, if that matters, and all others.
    let all_see = if GENTLE { first * LANES } else { 0 };
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
                if GENTLE {
                    row[u] = scores[u][a].exp2_or_zero::<FUSED>();
                    sums[a] += row[u];
                } else {
                    row[u] = scores[u][a];
                    most[a] = most[a].max(row[u]);
                }
            }
        }
    }
    for b in 0..if GENTLE { 0 } else { first + N } {
        for a in 0..N {
            let row: &mut [Lane; LANES] =
                window_mut(&mut sequence.weights, (b * GROUP + n + a) * LANES);
            // Two keys at a time: neither exponential waits for the other.
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
    // Row 8 (first + a) and key j + u are as far apart as entry TILE − 1 − u + 8 a says.
    let lag = AHEAD + first * LANES - j - (TILE - 1);
    let symbols: &[u8; TILE] = window(&sequence.symbols, j);
    let mut sums = [[Lane::ZERO; N]; TILE];
    for u in 0..TILE {
        let symbol = symbols[u] as usize;
        let asks: &[Lane; N] = window(&sequence.asks, symbol * sizes.vectors + first);
        let lags: &[f32; NEAR] = lags.window(symbol, lag);
        for a in 0..N {
            sums[u][a] = asks[a] + lane(lags, TILE - 1 - u + a * LANES);
        }
    }
    let keys = &sequence.keys[j / LANES * sizes.columns()..][..sizes.rest];
    let half = j % LANES;
    for r in 0..sizes.rest {
        let asks: &[Lane; N] = window(&sequence.asks, (sizes.states + r) * sizes.vectors + first);
        let lags: &[f32; NEAR] = lags.window(sizes.states + r, lag);
        let key: &[f32; TILE] = window(&keys[r].0, half);
        for u in 0..TILE {
            let key = Lane::splat(key[u]);
            for a in 0..N {
                sums[u][a] = key.times_plus::<FUSED>(asks[a], sums[u][a]);
                let lag = lane(lags, TILE - 1 - u + a * LANES);
                sums[u][a] = key.times_plus::<FUSED>(lag, sums[u][a]);
            }
        }
    }
    sums
}

/// Sets `count` planes of `out`, from the entry that its place says on, to Σ_j entries_ij keys_j, column by column from `first` on.
#[inline(always)]
fn sums_over_keys<const FUSED: bool>(
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

/// The gradients of a group of rows, right after its forward, given that of its averages.
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
    fn backward_at(
        own: Level,
        sizes: Sizes,
        lags: &Lags,
        group: Range<usize>,
        sequence: &mut Sequence,
        d_lags: &mut Lags,
        scratch: &mut Scratch,
    ) = backward_any
);

/// - p = softmax(s)       ⟹  ds_ij = ln 2 · p_ij (dout_i · u_j − dout_i · out_i)
/// - out_i = Σ_j p_ij u_j ⟹  du_j = Σ_i p_ij dout_i
/// - s_ij as above        ⟹  w_i[x_j] and T_δ[x_j] get ds_ij, w_ir and T_δr get ds_ij a_jr, and a_jr gets ds_ij (w_ir + T_δr)
#[inline(always)]
fn backward_any<const FUSED: bool>(
    level: Level,
    sizes: Sizes,
    lags: &Lags,
    group: Range<usize>,
    sequence: &mut Sequence,
    d_lags: &mut Lags,
    scratch: &mut Scratch,
) {
    let count = group.len();
    // One over a row's sum goes into the gradients of its averages.
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
    let Sequence { keys, d_asks, .. } = sequence;
    let place = (
        &mut d_asks[..],
        sizes.states * sizes.vectors + group.start,
        sizes.vectors,
    );
    sums_over_keys::<FUSED>(sizes, &scratch.slopes, &group, (keys, 0), sizes.rest, place);
    sums_by_lag::<FUSED>(sizes, &group, sequence, &scratch.slopes, d_lags);
    sums_over_rows(level, sizes, lags, &group, sequence, scratch);
}

/// Slopes of N vectors of rows, from `n` of the group on.
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

/// Adds Σ_i ds_{i,i−δ} a_{i−δ} to the gradient of every lag δ, and ds_ij to those of all that is looked up for x_j.
#[inline(always)]
fn sums_by_lag<const FUSED: bool>(
    sizes: Sizes,
    group: &Range<usize>,
    sequence: &mut Sequence,
    slopes: &[Lane],
    d_lags: &mut Lags,
) {
    // A group starts at an even vector: keys before it go two at a time.
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

/// The same for N vectors of rows and K keys eight apart: rows 8 i …, which are vector n of the group, and keys 8 b + u, ….
///
/// The lags of two keys are the same but for eight: their sums are loaded and stored once.
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
        let d_asks: &mut [Lane; N] = window_mut(&mut sequence.d_asks, symbol * sizes.vectors + i);
        let start = symbol * d_lags.width + lag + (K - 1 - a) * LANES;
        let lags = &mut d_lags.data[start..][..N * LANES];
        for m in 0..N {
            d_asks[m] += own[a][m];
            let lags: &mut [f32; LANES] = window_mut(lags, m * LANES);
            *lags = (Lane::load(lags) + own[a][m]).0;
        }
    }
    let mut rows = [&sequence.keys[..0]; K];
    for a in 0..K {
        rows[a] = &sequence.keys[(b + a) * columns..][..rest];
    }
    for r in 0..rest {
        let start = (sizes.states + r) * d_lags.width + lag;
        let lags = &mut d_lags.data[start..][..(N + K - 1) * LANES];
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
        let asks = Planes {
            data: &sequence.asks[sizes.states * sizes.vectors + from..],
            stride: sizes.vectors,
        };
        // Row 8 i and key 8 b + u are as far apart as entry 8 (i − from) + 7 − u says.
        let lag = AHEAD + (from - b) * LANES - (LANES - 1);
        let lags = Planes {
            data: &lags.data[sizes.states * lags.width + lag..],
            stride: lags.width,
        };
        let slopes = &scratch.slopes.as_chunks().0[seen.clone()];
        add_slid_products(level, slopes, asks, lags, d_rest);
        let d_out = Planes {
            data: &sequence.d_out[from - group.start..],
            stride: GROUP,
        };
        let weights = &sequence.weights.as_chunks().0[seen];
        add_products(level, weights, d_out, d_values);
    }
}

/// Turns lanes into rows, with a buffer for every sequence. Rows that fill the last vector up are zero.
pub(super) fn gather(
    level: Level,
    source: &[Lane],
    rows: Range<usize>,
    turn: Turn,
    targets: &mut [&mut [Lane]; LANES],
) {
    gather_at(level, level, source, rows, turn, targets);
}

leveled!(
    fn gather_at(
        own: Level,
        source: &[Lane],
        rows: Range<usize>,
        turn: Turn,
        targets: &mut [&mut [Lane]; LANES],
    ) = gather_any
);

#[inline(always)]
fn gather_any<const FUSED: bool>(
    level: Level,
    source: &[Lane],
    rows: Range<usize>,
    turn: Turn,
    targets: &mut [&mut [Lane]; LANES],
) {
    for (n, start) in rows.clone().step_by(LANES).enumerate() {
        for column in 0..turn.count {
            let mut tile = [[Lane::ZERO; LANES]];
            for (row, i) in tile[0].iter_mut().zip(start..rows.end) {
                *row = source[i * turn.stride + turn.first + column];
            }
            transpose(level, &mut tile);
            for lane in 0..LANES {
                let place = column * turn.by_column + n * turn.by_vector;
                targets[lane][place] = tile[0][lane];
            }
        }
    }
}

/// The way back: adds rows to lanes.
pub(super) fn scatter(
    level: Level,
    sources: &[&[Lane]; LANES],
    rows: Range<usize>,
    turn: Turn,
    target: &mut [Lane],
) {
    scatter_at(level, level, sources, rows, turn, target);
}

leveled!(
    fn scatter_at(
        own: Level,
        sources: &[&[Lane]; LANES],
        rows: Range<usize>,
        turn: Turn,
        target: &mut [Lane],
    ) = scatter_any
);

#[inline(always)]
fn scatter_any<const FUSED: bool>(
    level: Level,
    sources: &[&[Lane]; LANES],
    rows: Range<usize>,
    turn: Turn,
    target: &mut [Lane],
) {
    for (n, start) in rows.clone().step_by(LANES).enumerate() {
        for column in 0..turn.count {
            let mut tile = [[Lane::ZERO; LANES]];
            for lane in 0..LANES {
                let place = column * turn.by_column + n * turn.by_vector;
                tile[0][lane] = sources[lane][place];
            }
            transpose(level, &mut tile);
            for (row, i) in tile[0].iter().zip(start..rows.end) {
                target[i * turn.stride + turn.first + column] += *row;
            }
        }
    }
}
