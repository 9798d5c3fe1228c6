//! y = g · x̂ + b with x̂ = (x − mean) / √(var + ε), mean and variance over the features of a position.

use std::hint::black_box;
use std::ops::Range;

use crate::lanes::cross_lane::add_sums;
use crate::lanes::{LANES, Lane, Level, leveled};

/// ε
pub const EPSILON: f64 = 1e-5;

/// Columns that are processed together. (The compiler would interchange a loop over one lane or four, to
/// vectors of one lane's numbers.)
const TOGETHER: usize = 2;

/// Mean and 1/√(var + ε) of one position, as the forward leaves them for the backward.
pub type Statistics = [Lane; 2];

/// Runs `$body` for the columns `0..$d`: [`TOGETHER`] at a time, then one by one. The compiler is not told that
/// they are consecutive, or it would gather and scatter one lane's numbers all the same.
macro_rules! by_columns {
    ($d:expr, |$c:ident, $N:ident| $body:expr) => {{
        let (d, mut $c) = ($d, 0);
        while $c + TOGETHER <= d {
            const $N: usize = TOGETHER;
            {
                let $c = black_box($c);
                $body;
            }
            $c += TOGETHER;
        }
        while $c < d {
            const $N: usize = 1;
            $body;
            $c += 1;
        }
    }};
}

leveled!(
    /// Sets y to the normalised x, and keeps the statistics. Shapes: x, y [rows, d]; gain, bias `[d]`.
    pub fn forward<const FUSED: bool>(
        x: &[Lane],
        gain: &[f32],
        bias: &[f32],
        y: &mut [Lane],
        statistics: &mut [Statistics],
    ) {
        let d = gain.len();
        let rows = x.chunks_exact(d).zip(y.chunks_exact_mut(d));
        for ((x, y), kept) in rows.zip(statistics) {
            let [mean, inverse] = of_row::<FUSED>(x);
            *kept = [mean, inverse];
            by_columns!(d, |c, N| {
                let (x, y) = (&x[c..][..N], &mut y[c..][..N]);
                let (gain, bias) = (&gain[c..][..N], &bias[c..][..N]);
                for u in 0..N {
                    let unit = (x[u] - mean) * inverse;
                    y[u] = unit.times_plus::<FUSED>(Lane::splat(gain[u]), Lane::splat(bias[u]));
                }
            });
        }
    }
);

leveled!(
    /// y = g x̂ + b, with h = g dy  ⟹  dx += (h − mean(h) − x̂ mean(h x̂)) / √(var + ε).
    pub fn backward<const FUSED: bool>(
        x: &[Lane],
        statistics: &[Statistics],
        gain: &[f32],
        dy: &[Lane],
        dx: &mut [Lane],
    ) {
        let d = gain.len();
        let rows = x.chunks_exact(d).zip(dy.chunks_exact(d));
        for (((x, dy), kept), dx) in rows.zip(statistics).zip(dx.chunks_exact_mut(d)) {
            let [mean, inverse] = *kept;
            let mut sums = [[Lane::ZERO; TOGETHER]; 2];
            by_columns!(d, |c, N| {
                let (x, gain, dy) = (&x[c..][..N], &gain[c..][..N], &dy[c..][..N]);
                for u in 0..N {
                    let h = dy[u] * gain[u];
                    sums[0][u] += h;
                    sums[1][u] = ((x[u] - mean) * inverse).times_plus::<FUSED>(h, sums[1][u]);
                }
            });
            let share = Lane::splat(-1.0 / d as f32);
            let below_h = (sums[0][0] + sums[0][1]) * share;
            let below_hx = (sums[1][0] + sums[1][1]) * share;
            by_columns!(d, |c, N| {
                let (x, dx) = (&x[c..][..N], &mut dx[c..][..N]);
                let (gain, dy) = (&gain[c..][..N], &dy[c..][..N]);
                for u in 0..N {
                    let unit = (x[u] - mean) * inverse;
                    let h = dy[u].times_plus::<FUSED>(Lane::splat(gain[u]), below_h);
                    let slope = unit.times_plus::<FUSED>(below_hx, h);
                    dx[u] = slope.times_plus::<FUSED>(inverse, dx[u]);
                }
            });
        }
    }
);

/// y = g x̂ + b  ⟹  dg += Σ dy x̂, db += Σ dy, summed over lanes.
pub fn add_gradients(
    level: Level,
    x: &[Lane],
    statistics: &[Statistics],
    dy: &[Lane],
    d_gain: &mut [f32],
    d_bias: &mut [f32],
) {
    let d = d_gain.len();
    for first in (0..d).step_by(LANES) {
        let columns = first..d.min(first + LANES);
        let mut sums = [[Lane::ZERO; LANES]; 2];
        over_rows(level, x, statistics, dy, d, columns.clone(), &mut sums);
        for (sums, totals) in sums.iter().zip([&mut *d_gain, &mut *d_bias]) {
            add_sums(level, sums, &mut totals[columns.clone()]);
        }
    }
}

leveled!(
    /// Σ dy x̂ and Σ dy over rows, in some columns.
    fn over_rows<const FUSED: bool>(
        x: &[Lane],
        statistics: &[Statistics],
        dy: &[Lane],
        d: usize,
        columns: Range<usize>,
        sums: &mut [[Lane; LANES]; 2],
    ) {
        by_columns!(columns.len(), |c, N| {
            let mut parts = [[Lane::ZERO; N]; 2];
            let rows = x.chunks_exact(d).zip(dy.chunks_exact(d));
            for ((x, dy), [mean, inverse]) in rows.zip(statistics) {
                let first = columns.start + c;
                let (x, dy) = (&x[first..][..N], &dy[first..][..N]);
                for u in 0..N {
                    let unit = (x[u] - *mean) * *inverse;
                    parts[0][u] = unit.times_plus::<FUSED>(dy[u], parts[0][u]);
                    parts[1][u] += dy[u];
                }
            }
            for (sums, parts) in sums.iter_mut().zip(parts) {
                sums[c..][..N].copy_from_slice(&parts);
            }
        });
    }
);

/// The statistics of one position.
#[inline(always)]
fn of_row<const FUSED: bool>(x: &[Lane]) -> Statistics {
    let share = Lane::splat(1.0 / x.len() as f32);
    let mut sums = [Lane::ZERO; TOGETHER];
    by_columns!(x.len(), |c, N| {
        let x = &x[c..][..N];
        for u in 0..N {
            sums[u] += x[u];
        }
    });
    let mean = (sums[0] + sums[1]) * share;
    let mut squares = [Lane::ZERO; TOGETHER];
    by_columns!(x.len(), |c, N| {
        let x = &x[c..][..N];
        for u in 0..N {
            let centred = x[u] - mean;
            squares[u] = centred.times_plus::<FUSED>(centred, squares[u]);
        }
    });
    let variance = (squares[0] + squares[1]) * share;
    let inverse = (variance + Lane::splat(EPSILON as f32)).inverse_root();
    [mean, inverse]
}
