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
//! and as many correlations in the backward. For positions that meet the key, and gentle scores (see `narrow`).

use std::f32::consts::LN_2;

use crate::model::lane::Lane;
use crate::model::level::{Level, leveled};
use crate::model::ops::convolution::{Padded, convolve, correlate};

/// e and g of one head.
#[derive(Clone, Debug)]
pub(super) struct Factors {
    states: usize,
    /// e(δ, b), [t, k]
    by_lag: Padded<f32>,
    /// g(a, b), [k, k]
    by_symbols: Vec<f32>,
}

impl Factors {
    /// Room for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize) -> Self {
        Self {
            states,
            by_lag: Padded::new(length, states, 0.0),
            by_symbols: vec![1.0; states * states],
        }
    }

    /// Computes both from the head's tables, `asks` [k, k−1] and `positions` [t, k].
    pub fn fill(&mut self, asks: &[f32], positions: &[f32]) {
        let states = self.states;
        let lags = self.by_lag.rows_mut().chunks_exact_mut(states);
        for (row, position) in lags.zip(positions.chunks_exact(states)) {
            row[0] = libm::exp2f(position[0]);
            for (e, slope) in row[1..].iter_mut().zip(&position[1..]) {
                *e = libm::exp2f(position[0] + slope);
            }
        }
        for (a, row) in self.by_symbols.chunks_exact_mut(states).enumerate() {
            for (r, g) in row[1..].iter_mut().enumerate() {
                let own = if a == 0 {
                    0.0
                } else {
                    asks[a * (states - 1) + r]
                };
                *g = libm::exp2f(asks[r] + own);
            }
        }
    }
}

/// One-hot symbols, [t, k], that all heads share.
pub(super) type Symbols = Padded<Lane>;

/// Activations of one head.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// g(x_i, b) / Z_i, [t, k]
    shares: Vec<Lane>,
    /// What a score gets of the gradient, but for e: [t, k]
    slopes: Padded<Lane>,
    /// Their sums by lag, [t, k]
    by_lag: Vec<Lane>,
}

impl Work {
    /// Room for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize) -> Self {
        let lanes = vec![Lane::ZERO; states * length];
        Self {
            shares: lanes.clone(),
            slopes: Padded::new(length, states, Lane::ZERO),
            by_lag: lanes,
        }
    }
}

/// Computes the averages c ([rows, k−1]).
pub(super) fn forward(
    level: Level,
    factors: &Factors,
    symbols: &Symbols,
    rows: usize,
    work: &mut Work,
    c: &mut [Lane],
) {
    // `shares` holds N so far.
    convolve(level, &factors.by_lag, symbols, rows, &mut work.shares);
    averages(level, factors, symbols, rows, work, c);
}

leveled!(
    fn averages(
        factors: &Factors,
        symbols: &Symbols,
        rows: usize,
        work: &mut Work,
        c: &mut [Lane],
    ) = averages_any
);

#[inline(always)]
fn averages_any<const FUSED: bool>(
    factors: &Factors,
    symbols: &Symbols,
    rows: usize,
    work: &mut Work,
    c: &mut [Lane],
) {
    let states = factors.states;
    let each = work.shares.chunks_exact_mut(states);
    let each = each.zip(symbols.chunks_exact(states));
    for ((shares, z_i), c_i) in each.zip(c.chunks_exact_mut(states - 1)).take(rows) {
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
        for share in shares {
            *share = *share * inverse;
        }
        for mass in c_i {
            *mass = *mass * inverse;
        }
    }
}

/// Sets the gradient of `w` ([rows, k−1]) and adds that of the positional table ([t, k], by lane), given that of the
/// averages. The coordinates themselves are data.
///
/// - c_ib = g N_ib / Z_i  ⟹  the score of any j with x_j = b has slope ln 2 · p_ij (dc_ib − dc_i · c_i)
/// - summed over j: dw_ib = ln 2 · c_ib (dc_ib − dc_i · c_i)
/// - summed over i and split by lag: e(δ, b) Σ_i slope_ib 1{x_{i−δ} = b}, slope_ib = ln 2 · g / Z (dc_ib − dc_i · c_i)
#[expect(clippy::too_many_arguments, reason = "each is a buffer of its own")]
pub(super) fn backward(
    level: Level,
    factors: &Factors,
    symbols: &Symbols,
    rows: usize,
    work: &mut Work,
    (c, dc): (&[Lane], &[Lane]),
    dw: &mut [Lane],
    d_positions: &mut [Lane],
) {
    slopes(level, factors.states, rows, work, c, dc, dw);
    work.slopes.end_after(rows, Lane::ZERO);
    correlate(level, &work.slopes, symbols, rows, &mut work.by_lag);
    let each = work.by_lag.chunks_exact(factors.states);
    let each = each.zip(factors.by_lag.chunks_exact(factors.states));
    let positions = d_positions.chunks_exact_mut(factors.states);
    for ((sums, e), d_position) in each.zip(positions).take(rows) {
        for b in 0..factors.states {
            let ds = sums[b] * e[b];
            d_position[0] += ds;
            if b > 0 {
                d_position[b] += ds;
            }
        }
    }
}

leveled!(
    fn slopes(
        states: usize,
        rows: usize,
        work: &mut Work,
        c: &[Lane],
        dc: &[Lane],
        dw: &mut [Lane],
    ) = slopes_any
);

#[inline(always)]
fn slopes_any<const FUSED: bool>(
    states: usize,
    rows: usize,
    work: &mut Work,
    c: &[Lane],
    dc: &[Lane],
    dw: &mut [Lane],
) {
    let m = states - 1;
    let all_slopes = work.slopes.rows_mut();
    for i in 0..rows {
        let (c_i, dc_i) = (&c[i * m..][..m], &dc[i * m..][..m]);
        let mut centre = Lane::ZERO;
        for r in 0..m {
            centre = c_i[r].times_plus::<FUSED>(dc_i[r], centre);
        }
        let shares = &work.shares[i * states..][..states];
        let slopes = &mut all_slopes[i * states..][..states];
        let dw_i = &mut dw[i * m..][..m];
        slopes[0] = shares[0] * (Lane::ZERO - centre) * LN_2;
        for r in 0..m {
            let slope = (dc_i[r] - centre) * LN_2;
            slopes[1 + r] = shares[1 + r] * slope;
            dw_i[r] = c_i[r] * slope;
        }
    }
}
