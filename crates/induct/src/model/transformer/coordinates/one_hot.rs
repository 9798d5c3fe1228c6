//! The first layer's attention, without an exponential a pair.
//!
//! There the coordinates are one-hot, so a score depends on the two symbols and the lag only, and
//!
//! > 2^s_ij = g(x_i, x_j) · e(δ, x_j),   g(a, b) = 2^w_ab,   e(δ, b) = 2^(T_δ0 + T_δb)   (T_δ0 alone for b = 0),
//!
//! two tables that all sequences share. What is left are k causal convolutions of indicator sequences,
//!
//! > N_ib = Σ_j≤i e(i−j, b) 1{x_j = b},   Z_i = Σ_b g(x_i, b) N_ib,   c_ib = g(x_i, b) N_ib / Z_i,
//!
//! and as many correlations in the backward. For positions that meet the key, and gentle scores (see `kernel`).

use std::f32::consts::LN_2;

use crate::model::lane::Lane;
use crate::model::level::{Level, at_level};

/// Rows (or lags) that are worked on side by side, so that their sums do not wait for one another.
const SIDE_BY_SIDE: usize = 4;

/// e and g of one head.
#[derive(Clone, Debug)]
pub(super) struct Factors {
    states: usize,
    /// e(δ, b), [t + 2 (SIDE_BY_SIDE − 1), k]: zeros for lags that would look ahead, then δ = 0, 1, …, then zeros for
    /// lags of rows beyond the last
    by_lag: Vec<f32>,
    /// g(a, b), [k, k]
    by_symbols: Vec<f32>,
}

impl Factors {
    /// Room for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize) -> Self {
        Self {
            states,
            by_lag: vec![0.0; (length + 2 * (SIDE_BY_SIDE - 1)) * states],
            by_symbols: vec![1.0; states * states],
        }
    }

    /// Computes both from the head's tables, `asks` [1 + padded, padded] and `positions` [t, 1 + padded].
    pub fn fill(&mut self, asks: &[f32], positions: &[f32], padded: usize) {
        let states = self.states;
        let lags = self.by_lag[(SIDE_BY_SIDE - 1) * states..].chunks_exact_mut(states);
        for (row, position) in lags.zip(positions.chunks_exact(1 + padded)) {
            row[0] = libm::exp2f(position[0]);
            for (e, slope) in row[1..].iter_mut().zip(&position[1..]) {
                *e = libm::exp2f(position[0] + slope);
            }
        }
        for (a, row) in self.by_symbols.chunks_exact_mut(states).enumerate() {
            for (r, g) in row[1..].iter_mut().enumerate() {
                let own = if a == 0 { 0.0 } else { asks[a * padded + r] };
                *g = libm::exp2f(asks[r] + own);
            }
        }
    }
}

/// Activations of the first layer.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// One-hot symbols, [SIDE_BY_SIDE − 1 + t, k], after zeros for keys before the first
    z: Vec<Lane>,
    /// g(x_i, b) / Z_i, [t, k]
    shares: Vec<Lane>,
    /// What a score gets of the gradient, but for e: [t, k]
    slopes: Vec<Lane>,
}

impl Work {
    /// Room for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize) -> Self {
        let lanes = |rows: usize| vec![Lane::ZERO; states * rows];
        Self {
            z: lanes(SIDE_BY_SIDE - 1 + length),
            shares: lanes(length),
            slopes: lanes(length),
        }
    }

    /// Sets z from the coordinates y ([rows, padded]), which leave out symbol 0.
    pub fn set_symbols(&mut self, y: &[Lane], rows: usize, padded: usize, states: usize) {
        let z = self.z[(SIDE_BY_SIDE - 1) * states..].chunks_exact_mut(states);
        for (z_i, y_i) in z.zip(y.chunks_exact(padded)).take(rows) {
            let mut none = Lane::splat(1.0);
            for (z, &y) in z_i[1..].iter_mut().zip(y_i) {
                *z = y;
                none = none - y;
            }
            z_i[0] = none;
        }
    }
}

/// Calls `$function::<…, K>`: K symbols are summed side by side, all of them if they are few, else one after the
/// other.
macro_rules! with_states {
    ($states:expr, $function:ident[$($flag:literal)?]($($argument:expr),* $(,)?)) => {
        match $states {
            2 => $function::<$($flag,)? 2>($($argument),*),
            3 => $function::<$($flag,)? 3>($($argument),*),
            _ => $function::<$($flag,)? 1>($($argument),*),
        }
    };
}

/// The head's averages c and their gradient, [rows, padded].
#[derive(Clone, Copy)]
pub(super) struct Averages<'a> {
    pub c: &'a [Lane],
    pub dc: &'a [Lane],
}

/// Computes the averages c ([rows, padded]).
pub(super) fn forward(
    level: Level,
    factors: &Factors,
    work: &mut Work,
    (rows, padded): (usize, usize),
    c: &mut [Lane],
) {
    at_level!(
        level,
        with_states!(
            factors.states,
            forward_avx2[](factors, work, (rows, padded), c)
        ),
        with_states!(
            factors.states,
            forward_any[false](factors, work, (rows, padded), c)
        )
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn forward_avx2<const K: usize>(
    factors: &Factors,
    work: &mut Work,
    sizes: (usize, usize),
    c: &mut [Lane],
) {
    forward_any::<true, K>(factors, work, sizes, c);
}

#[inline(always)]
fn forward_any<const FUSED: bool, const K: usize>(
    factors: &Factors,
    work: &mut Work,
    (rows, padded): (usize, usize),
    c: &mut [Lane],
) {
    let states = factors.states;
    for first in (0..rows).step_by(SIDE_BY_SIDE) {
        let here = SIDE_BY_SIDE.min(rows - first);
        for symbol in (0..states).step_by(K) {
            let mut sums = [[Lane::ZERO; K]; SIDE_BY_SIDE];
            // Row first + s at key j has lag first + s − j: entry first + s − j + 3 of the padded table. Rows beyond
            // the last are computed for nothing and dropped.
            for j in 0..first + here {
                let z_j = &work.z[(SIDE_BY_SIDE - 1 + j) * states + symbol..][..K];
                let start = (first + SIDE_BY_SIDE - 1 - j) * states + symbol;
                let lags = &factors.by_lag[start..][..(SIDE_BY_SIDE - 1) * states + K];
                for s in 0..SIDE_BY_SIDE {
                    for b in 0..K {
                        let e = Lane::splat(lags[s * states + b]);
                        sums[s][b] = z_j[b].times_plus::<FUSED>(e, sums[s][b]);
                    }
                }
            }
            for s in 0..here {
                let row = &mut work.shares[(first + s) * states + symbol..][..K];
                row.copy_from_slice(&sums[s]);
            }
        }
    }
    // `shares` holds N so far.
    for i in 0..rows {
        let z_i = &work.z[(SIDE_BY_SIDE - 1 + i) * states..][..states];
        let shares = &mut work.shares[i * states..][..states];
        let c_i = &mut c[i * padded..][..padded];
        let mut total = Lane::ZERO;
        for b in 0..states {
            let mut g = Lane::ZERO;
            for (a, &z) in z_i.iter().enumerate() {
                let factor = Lane::splat(factors.by_symbols[a * states + b]);
                g = z.times_plus::<FUSED>(factor, g);
            }
            let mass = g * shares[b];
            total += mass;
            if b > 0 {
                c_i[b - 1] = mass;
            }
            shares[b] = g;
        }
        let inverse = total.inverse();
        shares
            .iter_mut()
            .for_each(|share| *share = *share * inverse);
        c_i[..states - 1]
            .iter_mut()
            .for_each(|mass| *mass = *mass * inverse);
    }
}

/// Adds the gradients of `w` ([rows, padded]) and of the positional table ([t, 1 + padded], by lane), given that
/// of the averages. The coordinates themselves are data.
///
/// - c_ib = g N_ib / Z_i  ⟹  the score of any j with x_j = b has slope ln 2 · p_ij (dc_ib − dc_i · c_i)
/// - summed over j: dw_ib = ln 2 · c_ib (dc_ib − dc_i · c_i)
/// - summed over i and split by lag: e(δ, b) Σ_i slope_ib 1{x_{i−δ} = b}, slope_ib = ln 2 · g / Z (dc_ib − dc_i · c_i)
pub(super) fn backward(
    level: Level,
    factors: &Factors,
    work: &mut Work,
    (rows, padded): (usize, usize),
    averages: Averages,
    dw: &mut [Lane],
    d_positions: &mut [Lane],
) {
    let sizes = (rows, padded);
    at_level!(
        level,
        with_states!(
            factors.states,
            backward_avx2[](factors, work, sizes, averages, dw, d_positions)
        ),
        with_states!(
            factors.states,
            backward_any[false](factors, work, sizes, averages, dw, d_positions)
        )
    );
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn backward_avx2<const K: usize>(
    factors: &Factors,
    work: &mut Work,
    sizes: (usize, usize),
    averages: Averages,
    dw: &mut [Lane],
    d_positions: &mut [Lane],
) {
    backward_any::<true, K>(factors, work, sizes, averages, dw, d_positions);
}

#[inline(always)]
fn backward_any<const FUSED: bool, const K: usize>(
    factors: &Factors,
    work: &mut Work,
    (rows, padded): (usize, usize),
    averages: Averages,
    dw: &mut [Lane],
    d_positions: &mut [Lane],
) {
    let Averages { c, dc } = averages;
    let states = factors.states;
    for i in 0..rows {
        let (c_i, dc_i) = (&c[i * padded..][..padded], &dc[i * padded..][..padded]);
        let mut centre = Lane::ZERO;
        for r in 0..states - 1 {
            centre = c_i[r].times_plus::<FUSED>(dc_i[r], centre);
        }
        let shares = &work.shares[i * states..][..states];
        let slopes = &mut work.slopes[i * states..][..states];
        slopes[0] = shares[0] * (Lane::ZERO - centre) * LN_2;
        for r in 0..states - 1 {
            let slope = (dc_i[r] - centre) * LN_2;
            slopes[1 + r] = shares[1 + r] * slope;
            dw[i * padded + r] += c_i[r] * slope;
        }
    }
    for first in (0..rows).step_by(SIDE_BY_SIDE) {
        let here = SIDE_BY_SIDE.min(rows - first);
        for symbol in (0..states).step_by(K) {
            let mut sums = [[Lane::ZERO; K]; SIDE_BY_SIDE];
            // Lag first + s pairs row i with key i − first − s: entry i − first − s + 3 of the padded symbols.
            for i in first..rows {
                let slopes = &work.slopes[i * states + symbol..][..K];
                let keys =
                    &work.z[(i - first) * states + symbol..][..(SIDE_BY_SIDE - 1) * states + K];
                for s in 0..SIDE_BY_SIDE {
                    for b in 0..K {
                        let z = keys[(SIDE_BY_SIDE - 1 - s) * states + b];
                        sums[s][b] = slopes[b].times_plus::<FUSED>(z, sums[s][b]);
                    }
                }
            }
            for s in 0..here {
                let e = &factors.by_lag[(SIDE_BY_SIDE - 1 + first + s) * states + symbol..][..K];
                let row = &mut d_positions[(first + s) * (1 + padded)..][..1 + padded];
                for b in 0..K {
                    let ds = sums[s][b] * e[b];
                    row[0] += ds;
                    if symbol + b > 0 {
                        row[symbol + b] += ds;
                    }
                }
            }
        }
    }
}
