//! h_t = a_t h_{t−1} + u_t B_tᵀ, y_t = h_t C_t: a linear recurrence, from h = 0 on, with one decay per head.
//!
//! h is a matrix [channels, N]; channels are divided among heads in order. With g_t the gradient of h_t:
//!
//! > g_t = dy_t C_tᵀ + a_{t+1} g_{t+1}  ⟹  dC_t = h_tᵀ dy_t, du_t = g_t B_t, dB_t = g_tᵀ u_t, da_t = ⟨g_t, h_{t−1}⟩
//!
//! States of all rows are never kept. dC needs h in the order of the forward, so a second scan in that order finds it;
//! the reverse scan has g alone, and ⟨g_t, h_t⟩ = ⟨g_{t+1}, h_{t+1}⟩ − u_{t+1}·du_{t+1} + y_t·dy_t gives da without h.
//!
//! Tiles of a few channels and columns of h stay in registers for a group of rows.

use std::ops::Range;

use crate::lanes::{Lane, Level, leveled};

/// What a scan reads, for all rows.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// a: [rows, heads]
    pub decays: &'a [Lane],
    /// [rows, channels]
    pub u: &'a [Lane],
    /// [rows, N]
    pub b: &'a [Lane],
    /// [rows, N]
    pub c: &'a [Lane],
    pub heads: usize,
    pub channels: usize,
    /// N
    pub size: usize,
}

/// Channels of a tile of h.
const TALL: usize = 2;

/// What a tile does.
const FORWARD: u8 = 0;
const OUTPUT_BACKWARD: u8 = 1;
const REVERSE: u8 = 2;

/// Rows that a tile of h meets before the next one: what they read stays in the fastest cache.
const GROUP: usize = 16;

/// Sets y of the first `rows` rows, [rows, channels]. `state` is a scratch buffer, [channels, N], here and below.
pub fn forward(level: Level, x: Inputs, rows: usize, state: &mut [Lane], y: &mut [Lane]) {
    y[..rows * x.channels].fill(Lane::ZERO);
    scan::<FORWARD>(level, x, rows, &[], state, y, &mut []);
}

/// dC_t = h_tᵀ dy_t
pub fn output_backward(
    level: Level,
    x: Inputs,
    rows: usize,
    dy: &[Lane],
    state: &mut [Lane],
    dc: &mut [Lane],
) {
    dc[..rows * x.size].fill(Lane::ZERO);
    scan::<OUTPUT_BACKWARD>(level, x, rows, dy, state, &mut [], dc);
}

/// The reverse scan: sets du and dB.
pub fn backward(
    level: Level,
    x: Inputs,
    rows: usize,
    dy: &[Lane],
    state: &mut [Lane],
    du: &mut [Lane],
    db: &mut [Lane],
) {
    du[..rows * x.channels].fill(Lane::ZERO);
    db[..rows * x.size].fill(Lane::ZERO);
    scan::<REVERSE>(level, x, rows, dy, state, du, db);
}

leveled!(
    /// Sets `sums` ([rows, heads]) to the gradient of ln a, given y, dy and du of the first `rows` rows.
    pub fn log_decay_backward<const FUSED: bool>(
        x: Inputs,
        rows: usize,
        y: &[Lane],
        dy: &[Lane],
        du: &[Lane],
        sums: &mut [Lane],
    ) {
        let each = x.channels / x.heads;
        for head in 0..x.heads {
            let mut product = Lane::ZERO;
            for t in (0..rows).rev() {
                let own = t * x.channels + head * each;
                let (mut of_y, mut of_u) = (Lane::ZERO, Lane::ZERO);
                for p in own..own + each {
                    of_y = y[p].times_plus::<FUSED>(dy[p], of_y);
                    of_u = x.u[p].times_plus::<FUSED>(du[p], of_u);
                }
                // ⟨g_t, h_t⟩ without what came in at t: a_t da_t.
                product = product + of_y - of_u;
                sums[t * x.heads + head] = product;
            }
            // The first decay meets h = 0.
            sums[head] = Lane::ZERO;
        }
    }
);

leveled!(
    /// Every tile of the state on group after group of rows.
    fn scan<const FUSED: bool, const HOW: u8>(
        x: Inputs,
        rows: usize,
        dy: &[Lane],
        state: &mut [Lane],
        by_channel: &mut [Lane],
        by_column: &mut [Lane],
    ) {
        state.fill(Lane::ZERO);
        let (each, groups) = (x.channels / x.heads, rows.div_ceil(GROUP));
        for index in 0..groups {
            let group = if HOW == REVERSE {
                groups - 1 - index
            } else {
                index
            };
            let group = group * GROUP..((group + 1) * GROUP).min(rows);
            for head in 0..x.heads {
                let end = (head + 1) * each;
                for p in (head * each..end).step_by(TALL) {
                    let (rows, at) = (group.clone(), (head, p));
                    if p + TALL <= end {
                        across::<FUSED, HOW, TALL>(x, rows, at, dy, state, by_channel, by_column);
                    } else {
                        across::<FUSED, HOW, 1>(x, rows, at, dy, state, by_channel, by_column);
                    }
                }
            }
        }
    }
);

/// The tiles of P channels from `p` on.
#[inline(always)]
fn across<const FUSED: bool, const HOW: u8, const P: usize>(
    x: Inputs,
    rows: Range<usize>,
    at: (usize, usize),
    dy: &[Lane],
    state: &mut [Lane],
    by_channel: &mut [Lane],
    by_column: &mut [Lane],
) {
    along!(x.size, |n| tile::<FUSED, HOW, P>(
        x,
        rows.clone(),
        at,
        n,
        dy,
        state,
        by_channel,
        by_column
    ));
}

/// Channels from `p` on and columns from `n` on. `by_channel` is y or du, `by_column` dC or dB.
#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "a kernel takes its buffers one by one"
)]
fn tile<const FUSED: bool, const HOW: u8, const P: usize, const N: usize>(
    x: Inputs,
    rows: Range<usize>,
    (head, p): (usize, usize),
    n: usize,
    dy: &[Lane],
    state: &mut [Lane],
    by_channel: &mut [Lane],
    by_column: &mut [Lane],
) {
    let mut h = [[Lane::ZERO; N]; P];
    for r in 0..P {
        h[r].copy_from_slice(&state[(p + r) * x.size + n..][..N]);
    }
    let count = rows.len();
    for index in 0..count {
        let t = match HOW {
            REVERSE => rows.end - 1 - index,
            _ => rows.start + index,
        };
        let (channels, columns) = (t * x.channels + p, t * x.size + n);
        let a = x.decays[t * x.heads + head];
        let (u, b) = (&x.u[channels..][..P], &x.b[columns..][..N]);
        if HOW == REVERSE {
            let (dy, c) = (&dy[channels..][..P], &x.c[columns..][..N]);
            let du = &mut by_channel[channels..][..P];
            let db = &mut by_column[columns..][..N];
            for r in 0..P {
                let mut sum = du[r];
                for s in 0..N {
                    let g = dy[r].times_plus::<FUSED>(c[s], h[r][s]);
                    sum = g.times_plus::<FUSED>(b[s], sum);
                    db[s] = g.times_plus::<FUSED>(u[r], db[s]);
                    h[r][s] = a * g;
                }
                du[r] = sum;
            }
            continue;
        }
        for r in 0..P {
            for s in 0..N {
                h[r][s] = u[r].times_plus::<FUSED>(b[s], a * h[r][s]);
            }
        }
        if HOW == FORWARD {
            let c = &x.c[columns..][..N];
            let y = &mut by_channel[channels..][..P];
            for r in 0..P {
                let mut sum = y[r];
                for s in 0..N {
                    sum = h[r][s].times_plus::<FUSED>(c[s], sum);
                }
                y[r] = sum;
            }
        } else {
            let dy = &dy[channels..][..P];
            let dc = &mut by_column[columns..][..N];
            for s in 0..N {
                for r in 0..P {
                    dc[s] = h[r][s].times_plus::<FUSED>(dy[r], dc[s]);
                }
            }
        }
    }
    for r in 0..P {
        state[(p + r) * x.size + n..][..N].copy_from_slice(&h[r]);
    }
}
