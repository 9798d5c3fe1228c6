//! y = g · x̂ + b with x̂ = (x − mean) / √(var + ε), mean and variance over the features of a position.

use std::hint::black_box;
use std::ops::Range;

use crate::lanes::cross_lane::sum_lanes;
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
            *kept = of_row::<FUSED>(x);
            by_columns!(d, |c, N| scaled::<FUSED, N>(x, kept, (gain, bias), c, y));
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
            let mut sums = [[Lane::ZERO; TOGETHER]; 2];
            by_columns!(d, |c, N| add_means::<FUSED, N>(
                x, kept, gain, dy, c, &mut sums
            ));
            let share = Lane::splat(-1.0 / d as f32);
            let [h, hx] = [
                (sums[0][0] + sums[0][1]) * share,
                (sums[1][0] + sums[1][1]) * share,
            ];
            by_columns!(d, |c, N| add_slopes::<FUSED, N>(
                x,
                kept,
                gain,
                dy,
                (h, hx),
                c,
                dx
            ));
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
    for (n, (d_gain, d_bias)) in d_gain
        .chunks_mut(LANES)
        .zip(d_bias.chunks_mut(LANES))
        .enumerate()
    {
        let mut sums = [[Lane::ZERO; LANES]; 2];
        over_rows(
            level,
            x,
            statistics,
            dy,
            d,
            n * LANES..n * LANES + d_gain.len(),
            &mut sums,
        );
        for (by_lane, total) in sums.iter().zip([d_gain, d_bias]) {
            let mut eight = [0.0; LANES];
            sum_lanes(level, by_lane, &mut eight);
            for (total, sum) in total.iter_mut().zip(eight) {
                *total += sum;
            }
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
        let (rows, first) = ((x, statistics, dy), columns.start);
        by_columns!(columns.len(), |c, N| column_sums::<FUSED, N>(
            rows, d, first, c, sums
        ));
    }
);

/// The statistics of one position.
#[inline(always)]
fn of_row<const FUSED: bool>(x: &[Lane]) -> Statistics {
    let share = Lane::splat(1.0 / x.len() as f32);
    let mut sums = [Lane::ZERO; TOGETHER];
    by_columns!(x.len(), |c, N| add_values::<N>(x, c, &mut sums));
    let mean = (sums[0] + sums[1]) * share;
    let mut squares = [Lane::ZERO; TOGETHER];
    by_columns!(x.len(), |c, N| add_squares::<FUSED, N>(
        x,
        mean,
        c,
        &mut squares
    ));
    let variance = (squares[0] + squares[1]) * share;
    [
        mean,
        (variance + Lane::splat(EPSILON as f32)).inverse_root(),
    ]
}

#[inline(always)]
fn add_values<const N: usize>(x: &[Lane], c: usize, sums: &mut [Lane; TOGETHER]) {
    let x = &x[c..][..N];
    for u in 0..N {
        sums[u] += x[u];
    }
}

#[inline(always)]
fn add_squares<const FUSED: bool, const N: usize>(
    x: &[Lane],
    mean: Lane,
    c: usize,
    sums: &mut [Lane; TOGETHER],
) {
    let x = &x[c..][..N];
    for u in 0..N {
        let centred = x[u] - mean;
        sums[u] = centred.times_plus::<FUSED>(centred, sums[u]);
    }
}

/// y = g x̂ + b in N columns.
#[inline(always)]
fn scaled<const FUSED: bool, const N: usize>(
    x: &[Lane],
    [mean, inverse]: &Statistics,
    (gain, bias): (&[f32], &[f32]),
    c: usize,
    y: &mut [Lane],
) {
    let (x, gain, bias, y) = (
        &x[c..][..N],
        &gain[c..][..N],
        &bias[c..][..N],
        &mut y[c..][..N],
    );
    for u in 0..N {
        let unit = (x[u] - *mean) * *inverse;
        y[u] = unit.times_plus::<FUSED>(Lane::splat(gain[u]), Lane::splat(bias[u]));
    }
}

/// Σ h and Σ h x̂ over N columns.
#[inline(always)]
fn add_means<const FUSED: bool, const N: usize>(
    x: &[Lane],
    [mean, inverse]: &Statistics,
    gain: &[f32],
    dy: &[Lane],
    c: usize,
    [of_h, of_hx]: &mut [[Lane; TOGETHER]; 2],
) {
    let (x, gain, dy) = (&x[c..][..N], &gain[c..][..N], &dy[c..][..N]);
    for u in 0..N {
        let h = dy[u] * gain[u];
        of_h[u] += h;
        of_hx[u] = ((x[u] - *mean) * *inverse).times_plus::<FUSED>(h, of_hx[u]);
    }
}

/// dx += (h − mean(h) − x̂ mean(h x̂)) / √(var + ε) in N columns, given both means below zero.
#[inline(always)]
fn add_slopes<const FUSED: bool, const N: usize>(
    x: &[Lane],
    [mean, inverse]: &Statistics,
    gain: &[f32],
    dy: &[Lane],
    (below_h, below_hx): (Lane, Lane),
    c: usize,
    dx: &mut [Lane],
) {
    let (x, gain, dy, dx) = (
        &x[c..][..N],
        &gain[c..][..N],
        &dy[c..][..N],
        &mut dx[c..][..N],
    );
    for u in 0..N {
        let unit = (x[u] - *mean) * *inverse;
        let h = dy[u].times_plus::<FUSED>(Lane::splat(gain[u]), below_h);
        let slope = unit.times_plus::<FUSED>(below_hx, h);
        dx[u] = slope.times_plus::<FUSED>(*inverse, dx[u]);
    }
}

/// Σ dy x̂ and Σ dy over rows, in N columns.
#[inline(always)]
fn column_sums<const FUSED: bool, const N: usize>(
    (x, statistics, dy): (&[Lane], &[Statistics], &[Lane]),
    d: usize,
    first: usize,
    c: usize,
    sums: &mut [[Lane; LANES]; 2],
) {
    let mut parts = [[Lane::ZERO; N]; 2];
    let rows = x.chunks_exact(d).zip(dy.chunks_exact(d));
    for ((x, dy), [mean, inverse]) in rows.zip(statistics) {
        let (x, dy) = (&x[first + c..][..N], &dy[first + c..][..N]);
        for u in 0..N {
            let unit = (x[u] - *mean) * *inverse;
            parts[0][u] = unit.times_plus::<FUSED>(dy[u], parts[0][u]);
            parts[1][u] += dy[u];
        }
    }
    for (sums, parts) in sums.iter_mut().zip(parts) {
        sums[c..][..N].copy_from_slice(&parts);
    }
}
