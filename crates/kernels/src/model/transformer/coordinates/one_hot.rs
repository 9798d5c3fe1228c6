//! The first layer's attention, without an exponential per pair.
//!
//! In the first layer the coordinates are one-hot, so a score depends only on
//! the two symbols and the lag, and
//!
//! > 2^s_ij = g(x_i, x_j) · e(δ, x_j),   g(a, b) = 2^w_ab,   e(δ, b) = 2^(T_δ0 + T_δb)   (2^T_δ0 for b = 0),
//!
//! with two tables that all sequences share. What is left are k causal convolutions of indicator sequences,
//!
//! > N_ib = Σ_j≤i e(i−j, b) 1{x_j = b},   Z_i = Σ_b g(x_i, b) N_ib,   c_ib = g(x_i, b) N_ib / Z_i,
//!
//! and as many correlations in the backward. Where positions meet the query, e depends on x_i instead, and
//! there are k² of them:
//!
//! > N_ib = Σ_a 1{x_i = a} Σ_j≤i e(i−j, a) 1{x_j = b}.
//!
//! Both have to be far from the limits of f32. Where positions meet the query, e(δ, a) may be multiplied with any
//! number that depends on a, which cancels: so there, only the range of its exponents is limited.

use std::f32::consts::LN_2;

use crate::lanes::{LANES, Lane, Level, leveled};
use crate::model::ops::convolution::{
    Planes, add_correlation, convolve, convolve_column, correlate, set_symbols,
};
use crate::scratch::Allocator;

/// e and g of one head.
#[derive(Clone, Debug)]
pub struct Factors {
    states: usize,
    /// Whether positions meet the query.
    by_query: bool,
    /// e(δ, b), k planes of t
    by_lag: Planes<f32>,
    /// g(a, b), [k, k]
    by_symbols: Vec<f32>,
}

impl Factors {
    /// Buffers for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize, by_query: bool, buffers: &mut Allocator) -> Self {
        Self {
            states,
            by_query,
            by_lag: Planes::new(length, states, 0.0, buffers),
            by_symbols: buffers.filled(1.0, [states, states]),
        }
    }

    /// Computes both from the head's tables, `qk` [k, k−1] and `positions` [t, k]. Returns whether all products
    /// of the two, and what is divided by them, are far from the limits of f32.
    pub(super) fn fill(&mut self, qk: &[f32], positions: &[f32]) -> bool {
        let (states, mut by_lag, mut by_symbols) = (self.states, 0.0_f32, 0.0_f32);
        for b in 0..states {
            let plane = self.by_lag.column_mut(b);
            for (e, position) in plane.iter_mut().zip(positions.chunks_exact(states)) {
                *e = position[0] + if b == 0 { 0.0 } else { position[b] };
            }
            by_lag = by_lag.max(powers(plane, self.by_query));
        }
        let rows = self.by_symbols.chunks_exact_mut(states);
        for (a, row) in rows.enumerate() {
            row[0] = 0.0;
            for (r, g) in row[1..].iter_mut().enumerate() {
                let own = match a {
                    0 => 0.0,
                    _ => qk[a * (states - 1) + r],
                };
                *g = qk[r] + own;
            }
            by_symbols = by_symbols.max(powers(row, false));
        }
        by_lag + 2.0 * by_symbols < FAR
    }
}

/// Largest size of exponents of e, and twice those of g, together: g / Z is then between 2^±FAR, up to t.
const FAR: f32 = 100.0;

/// Turns exponents into powers of two, and returns the size of the largest. With `shift`, they move so that the
/// middle of their range is zero: what they share depends on the query's symbol alone, and cancels.
fn powers(exponents: &mut [f32], shift: bool) -> f32 {
    let least = exponents.iter().copied().fold(f32::INFINITY, f32::min);
    let most = exponents.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let middle = if shift { 0.5 * (least + most) } else { 0.0 };
    for x in exponents {
        *x = libm::exp2f(*x - middle);
    }
    (most - middle).max(middle - least)
}

/// Activations of one head.
#[derive(Clone, Debug)]
pub(super) struct OneHotScratch {
    /// g(x_i, b) / Z_i, k planes of t
    shares: Planes<Lane>,
    /// The gradients of scores, without the factor e: k planes of t
    slopes: Planes<Lane>,
    /// Their sums by lag, k planes of t
    by_lag: Planes<Lane>,
    /// The slopes of one key symbol in rows of one symbol: a plane of t, where positions meet the query.
    of_symbol: Planes<Lane>,
}

impl OneHotScratch {
    /// Buffers for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize, buffers: &mut Allocator) -> Self {
        let mut planes = |columns| Planes::new(length, columns, Lane::ZERO, buffers);
        Self {
            shares: planes(states),
            slopes: planes(states),
            by_lag: planes(states),
            of_symbol: planes(1),
        }
    }
}

/// Computes the averages c ([rows, k−1]).
pub(super) fn forward(
    level: Level,
    factors: &Factors,
    symbols: &Planes<Lane>,
    rows: usize,
    work: &mut OneHotScratch,
    c: &mut [Lane],
) {
    // `shares` holds N so far.
    if factors.by_query {
        let (e, planes) = (&factors.by_lag, &mut work.by_lag);
        for b in 0..factors.states {
            for a in 0..factors.states {
                convolve_column(level, (e, a), (symbols, b), rows, (planes, a));
            }
            let n = &mut work.shares.column_mut(b)[..rows];
            of_own_symbol(level, symbols, planes, n);
        }
    } else {
        convolve(level, &factors.by_lag, symbols, rows, &mut work.shares);
    }
    averages(level, factors, symbols, rows, work, c);
}

leveled!(
    /// Sets `out` to the plane of every row's own symbol.
    fn of_own_symbol<const FUSED: bool>(
        symbols: &Planes<Lane>,
        planes: &Planes<Lane>,
        out: &mut [Lane],
    ) {
        out.fill(Lane::ZERO);
        for a in 0..symbols.columns() {
            let (z, plane) = (symbols.column(a), planes.column(a));
            let (z, plane) = (&z[..out.len()], &plane[..out.len()]);
            for i in 0..out.len() {
                out[i] = z[i].times_plus::<FUSED>(plane[i], out[i]);
            }
        }
    }
);

/// Sets the planes of `symbols` to indicators of `inputs`, and the coordinates y ([rows, k−1]) to the same
/// without the first symbol.
pub(super) fn read(
    level: Level,
    inputs: &[[u8; LANES]],
    symbols: &mut Planes<Lane>,
    y: &mut [Lane],
) {
    set_symbols(level, inputs, 0, symbols);
    let m = symbols.columns() - 1;
    for b in 1..=m {
        let plane = &symbols.column(b)[..inputs.len()];
        for (row, &z) in y.chunks_exact_mut(m).zip(plane) {
            row[b - 1] = z;
        }
    }
}

leveled!(
    /// Computes the averages c, given N in place of the shares.
    fn averages<const FUSED: bool>(
        factors: &Factors,
        symbols: &Planes<Lane>,
        rows: usize,
        work: &mut OneHotScratch,
        c: &mut [Lane],
    ) {
        let (states, m) = (factors.states, factors.states - 1);
        let OneHotScratch {
            shares,
            slopes: g,
            by_lag: total,
            ..
        } = work;
        // The backward's buffers hold g and Z in the meantime.
        let total = &mut total.column_mut(0)[..rows];
        total.fill(Lane::ZERO);
        for b in 0..states {
            let g = &mut g.column_mut(b)[..rows];
            for a in 0..states {
                let factor = Lane::splat(factors.by_symbols[a * states + b]);
                for (g, &z) in g.iter_mut().zip(symbols.column(a)) {
                    *g = match a {
                        0 => z * factor,
                        _ => z.times_plus::<FUSED>(factor, *g),
                    };
                }
            }
            let each = g.iter().zip(shares.column(b)).zip(total.iter_mut());
            for ((&g, &n), total) in each {
                *total = g.times_plus::<FUSED>(n, *total);
            }
        }
        for total in total.iter_mut() {
            *total = total.inverse();
        }
        for b in 0..states {
            let (g, shares) = (&g.column(b)[..rows], &mut shares.column_mut(b)[..rows]);
            for i in 0..rows {
                let n = shares[i];
                shares[i] = g[i] * total[i];
                if b > 0 {
                    c[i * m + b - 1] = n * shares[i];
                }
            }
        }
    }
);

/// Sets the gradient of `w` ([rows, k−1]) and adds that of the positional table ([t, k], by lane), given that
/// of the averages. The coordinates themselves are data.
///
/// - c_ib = g N_ib / Z_i  ⟹  the score of any j with x_j = b has slope ln 2 · p_ij (dc_ib − dc_i · c_i)
/// - summed over j: dw_ib = ln 2 · c_ib (dc_ib − dc_i · c_i)
/// - summed over i and split by lag: e(δ, b) Σ_i slope_ib 1{x_{i−δ} = b},
///   slope_ib = ln 2 · g / Z (dc_ib − dc_i · c_i); where positions meet the query,
///   e(δ, a) Σ_i 1{x_i = a} Σ_b slope_ib 1{x_{i−δ} = b}
#[expect(clippy::too_many_arguments, reason = "each is a buffer of its own")]
pub(super) fn backward(
    level: Level,
    factors: &Factors,
    symbols: &Planes<Lane>,
    rows: usize,
    work: &mut OneHotScratch,
    (c, dc): (&[Lane], &[Lane]),
    dw: &mut [Lane],
    d_positions: &mut [Lane],
) {
    slopes(level, factors.states, rows, work, c, dc, dw);
    if factors.by_query {
        correlate_by_query(level, symbols, rows, work);
    } else {
        work.slopes.end_after(rows, Lane::ZERO);
        correlate(level, &work.slopes, symbols, rows, &mut work.by_lag);
    }
    for b in 0..factors.states {
        let each = work.by_lag.column(b).iter().zip(factors.by_lag.column(b));
        let positions = d_positions.chunks_exact_mut(factors.states);
        for ((&sum, &e), d_position) in each.zip(positions).take(rows) {
            let ds = sum * e;
            d_position[0] += ds;
            if b > 0 {
                d_position[b] += ds;
            }
        }
    }
}

/// For positions that meet the query: the same sums, where a row counts for the lags of its own symbol.
fn correlate_by_query(level: Level, symbols: &Planes<Lane>, rows: usize, work: &mut OneHotScratch) {
    let OneHotScratch {
        slopes,
        by_lag,
        of_symbol,
        ..
    } = work;
    for a in 0..symbols.columns() {
        by_lag.column_mut(a).fill(Lane::ZERO);
        for b in 0..symbols.columns() {
            let own = &mut of_symbol.column_mut(0)[..rows];
            product(level, symbols.column(a), slopes.column(b), own);
            of_symbol.end_after(rows, Lane::ZERO);
            add_correlation(level, (of_symbol, 0), (symbols, b), rows, (by_lag, a));
        }
    }
}

leveled!(
    fn product<const FUSED: bool>(a: &[Lane], b: &[Lane], out: &mut [Lane]) {
        let (a, b) = (&a[..out.len()], &b[..out.len()]);
        for i in 0..out.len() {
            out[i] = a[i] * b[i];
        }
    }
);

leveled!(
    fn slopes<const FUSED: bool>(
        states: usize,
        rows: usize,
        work: &mut OneHotScratch,
        c: &[Lane],
        dc: &[Lane],
        dw: &mut [Lane],
    ) {
        let m = states - 1;
        for i in 0..rows {
            let (c_i, dc_i) = (&c[i * m..][..m], &dc[i * m..][..m]);
            let mut centre = Lane::ZERO;
            for r in 0..m {
                centre = c_i[r].times_plus::<FUSED>(dc_i[r], centre);
            }
            let dw_i = &mut dw[i * m..][..m];
            for b in 0..states {
                let own = if b == 0 { Lane::ZERO } else { dc_i[b - 1] };
                let slope = (own - centre) * LN_2;
                work.slopes.column_mut(b)[i] = work.shares.column(b)[i] * slope;
                if b > 0 {
                    dw_i[b - 1] = c_i[b - 1] * slope;
                }
            }
        }
    }
);
