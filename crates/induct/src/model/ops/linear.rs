//! y_i = x_i W (+ b): a row vector times a matrix, at every position.
//!
//! Three products, each in tiles whose sums stay in registers: x W and dy Wᵀ multiply lanes with
//! plain numbers, and xᵀ dy multiplies lanes with lanes. Shapes: x, dx [rows, inner], W, dW
//! [inner, outer], y, dy [rows, outer].

use crate::lanes::{Lane, Level, leveled};
use crate::model::matrix::Matrix;

/// Sides of a tile: its 8 sums keep both multipliers of a core busy and leave registers for the operands.
const TALL: usize = 2;
const BROAD: usize = 4;

/// Calls `$tile::<FUSED, n>` along `0..$count`, with tiles of [`BROAD`] and, for the remainder, 2 and 1.
macro_rules! along {
    ($count:expr, |$start:ident| $tile:ident::<$($flag:tt),*>($($argument:expr),* $(,)?)) => {
        let mut $start = 0;
        while $start + BROAD <= $count {
            $tile::<$($flag,)* BROAD>($($argument),*);
            $start += BROAD;
        }
        if $start + 2 <= $count {
            $tile::<$($flag,)* 2>($($argument),*);
            $start += 2;
        }
        if $start < $count {
            $tile::<$($flag,)* 1>($($argument),*);
        }
    };
}

/// Adds x W to y.
pub fn add_forward(
    level: Level,
    x: &[Lane],
    w: &[f32],
    inner: usize,
    outer: usize,
    y: &mut [Lane],
) {
    products::<false>(level, x, w, &[], inner, outer, y);
}

/// Sets y to x W + b.
pub fn forward(level: Level, x: &[Lane], w: &[f32], b: &[f32], inner: usize, y: &mut [Lane]) {
    products::<true>(level, x, w, b, inner, b.len(), y);
}

/// y += x W  ⟹  dx += dy Wᵀ, except for the first `data` numbers of a row of x.
pub fn input_backward(
    level: Level,
    w: &[f32],
    (inner, outer): (usize, usize),
    data: usize,
    dy: &[Lane],
    dx: &mut [Lane],
) {
    input_products::<false>(level, w, inner, outer, data, dy, &[], dx);
}

/// y += f(x) W  ⟹  dx = f′(x) · dy Wᵀ, with the slopes f′(x) [rows, inner].
pub fn input_backward_through(
    level: Level,
    w: &[f32],
    inner: usize,
    dy: &[Lane],
    slope: &[Lane],
    dx: &mut [Lane],
) {
    let outer = w.len() / inner;
    input_products::<true>(level, w, inner, outer, 0, dy, slope, dx);
}

leveled!(
    /// y += x W  ⟹  dW += xᵀ dy.
    pub fn weight_backward<const FUSED: bool>(
        x: &[Lane],
        inner: usize,
        outer: usize,
        dy: &[Lane],
        dw: &mut [Lane],
    ) {
        // Column by column, so that a tile's part of dy stays in the cache while
        // all of x is multiplied with it.
        along!(outer, |c| weight_columns::<FUSED>(
            x, dy, inner, outer, c, dw
        ));
    }
);

leveled!(
    /// Adds x W to y or, if `BIASED`, sets y to x W + b.
    fn products<const FUSED: bool, const BIASED: bool>(
        x: &[Lane],
        w: &[f32],
        b: &[f32],
        inner: usize,
        outer: usize,
        y: &mut [Lane],
    ) {
        let mut x_rows = x.chunks_exact(TALL * inner);
        let mut y_rows = y.chunks_exact_mut(TALL * outer);
        for (x, y) in (&mut x_rows).zip(&mut y_rows) {
            along!(outer, |c| product_tile::<FUSED, BIASED, TALL>(
                x, w, b, inner, outer, c, y
            ));
        }
        let (x, y) = (x_rows.remainder(), y_rows.into_remainder());
        for (x, y) in x.chunks_exact(inner).zip(y.chunks_exact_mut(outer)) {
            along!(outer, |c| product_tile::<FUSED, BIASED, 1>(
                x, w, b, inner, outer, c, y
            ));
        }
    }
);

/// y[R, column..column + C] += x[R, inner] W[inner, column..column + C], or set to that + b
#[inline(always)]
fn product_tile<const FUSED: bool, const BIASED: bool, const R: usize, const C: usize>(
    x: &[Lane],
    w: &[f32],
    b: &[f32],
    inner: usize,
    outer: usize,
    column: usize,
    y: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; C]; R];
    let x_rows: [&[Lane]; R] = rows(x, 0, inner);
    for a in 0..inner {
        let w_row = &w[a * outer + column..][..C];
        for r in 0..R {
            for c in 0..C {
                sums[r][c] = x_rows[r][a].times_plus::<FUSED>(Lane::splat(w_row[c]), sums[r][c]);
            }
        }
    }
    for r in 0..R {
        let y_row = &mut y[r * outer + column..][..C];
        if BIASED {
            let b = &b[column..][..C];
            for c in 0..C {
                y_row[c] = Lane::splat(b[c]) + sums[r][c];
            }
        } else {
            for c in 0..C {
                y_row[c] += sums[r][c];
            }
        }
    }
}

leveled!(
    /// Adds dy Wᵀ to dx or, if `THROUGH`, sets dx to it times the slope.
    fn input_products<const FUSED: bool, const THROUGH: bool>(
        w: &[f32],
        inner: usize,
        outer: usize,
        data: usize,
        dy: &[Lane],
        slope: &[Lane],
        dx: &mut [Lane],
    ) {
        let count = dy.len() / outer;
        let whole = count - count % TALL;
        for row in (0..whole).step_by(TALL) {
            along!(inner - data, |a| input_tile::<FUSED, THROUGH, TALL>(
                dy,
                w,
                (inner, outer),
                (row, data + a),
                slope,
                dx
            ));
        }
        for row in whole..count {
            along!(inner - data, |a| input_tile::<FUSED, THROUGH, 1>(
                dy,
                w,
                (inner, outer),
                (row, data + a),
                slope,
                dx
            ));
        }
    }
);

/// dx[row.., first..first + A] += dy[row.., outer] W[first..first + A, outer]ᵀ for R rows,
/// or set to that times the slope
#[inline(always)]
fn input_tile<const FUSED: bool, const THROUGH: bool, const R: usize, const A: usize>(
    dy: &[Lane],
    w: &[f32],
    (inner, outer): (usize, usize),
    (row, first): (usize, usize),
    slope: &[Lane],
    dx: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; A]; R];
    let dy_rows: [&[Lane]; R] = rows(dy, row, outer);
    let w_rows: [&[f32]; A] = rows(w, first, outer);
    for c in 0..outer {
        for r in 0..R {
            for a in 0..A {
                sums[r][a] =
                    dy_rows[r][c].times_plus::<FUSED>(Lane::splat(w_rows[a][c]), sums[r][a]);
            }
        }
    }
    for r in 0..R {
        let start = (row + r) * inner + first;
        let dx_row = &mut dx[start..][..A];
        if THROUGH {
            let slope = &slope[start..][..A];
            for a in 0..A {
                dx_row[a] = sums[r][a] * slope[a];
            }
        } else {
            for a in 0..A {
                dx_row[a] += sums[r][a];
            }
        }
    }
}

/// dW[·, column..column + C] += xᵀ dy[·, column..column + C]
#[inline(always)]
fn weight_columns<const FUSED: bool, const C: usize>(
    x: &[Lane],
    dy: &[Lane],
    inner: usize,
    outer: usize,
    column: usize,
    dw: &mut [Lane],
) {
    let whole = inner - inner % TALL;
    for a in (0..whole).step_by(TALL) {
        weight_tile::<FUSED, TALL, C>(x, dy, inner, outer, (a, column), dw);
    }
    for a in whole..inner {
        weight_tile::<FUSED, 1, C>(x, dy, inner, outer, (a, column), dw);
    }
}

/// dW[first..first + A, column..column + C] += x[·, first..first + A]ᵀ dy[·, column..column + C]
#[inline(always)]
fn weight_tile<const FUSED: bool, const A: usize, const C: usize>(
    x: &[Lane],
    dy: &[Lane],
    inner: usize,
    outer: usize,
    (first, column): (usize, usize),
    dw: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; C]; A];
    for (x_row, dy_row) in x.chunks_exact(inner).zip(dy.chunks_exact(outer)) {
        let (x_row, dy_row) = (&x_row[first..][..A], &dy_row[column..][..C]);
        for a in 0..A {
            for c in 0..C {
                sums[a][c] = x_row[a].times_plus::<FUSED>(dy_row[c], sums[a][c]);
            }
        }
    }
    for a in 0..A {
        let dw_row = &mut dw[(first + a) * outer + column..][..C];
        for c in 0..C {
            dw_row[c] += sums[a][c];
        }
    }
}

/// N rows from `first` on, `width` long. (By a loop: `array::from_fn` would be a call.)
#[inline(always)]
fn rows<T, const N: usize>(data: &[T], first: usize, width: usize) -> [&[T]; N] {
    let mut rows = [&data[..0]; N];
    for n in 0..N {
        rows[n] = &data[(first + n) * width..][..width];
    }
    rows
}

/// y += x W  ⟹  dx += dy Wᵀ, dW += xᵀ dy.
pub fn backward(
    level: Level,
    x: &[Lane],
    w: &[f32],
    (inner, outer): (usize, usize),
    dy: &[Lane],
    dx: &mut [Lane],
    dw: &mut [Lane],
) {
    input_backward(level, w, (inner, outer), 0, dy, dx);
    weight_backward(level, x, inner, outer, dy, dw);
}

/// Sets every row of y to b (`[outer]`).
pub fn set_rows(b: &[f32], y: &mut [Lane]) {
    for y_row in y.chunks_exact_mut(b.len()) {
        for (y_c, &b_c) in y_row.iter_mut().zip(b) {
            *y_c = Lane::splat(b_c);
        }
    }
}

/// y_i = x_i + b, for every row.
pub fn set_to_biased(x: &[Lane], b: &[f32], y: &mut [Lane]) {
    for (x_row, y_row) in x.chunks_exact(b.len()).zip(y.chunks_exact_mut(b.len())) {
        for ((y_c, &x_c), &b_c) in y_row.iter_mut().zip(x_row).zip(b) {
            *y_c = x_c + Lane::splat(b_c);
        }
    }
}

leveled!(
    /// y_i += b  ⟹  db += Σ_i dy_i.
    pub fn bias_backward<const FUSED: bool>(dy: &[Lane], db: &mut [Lane]) {
        let outer = db.len();
        along!(outer, |c| bias_tile::<FUSED>(dy, outer, c, db));
    }
);

/// db[column..column + C] += Σ_i dy[i, column..column + C]
#[inline(always)]
fn bias_tile<const FUSED: bool, const C: usize>(
    dy: &[Lane],
    outer: usize,
    column: usize,
    db: &mut [Lane],
) {
    let mut sums = [Lane::ZERO; C];
    for dy_row in dy.chunks_exact(outer) {
        let dy_row = &dy_row[column..][..C];
        for c in 0..C {
            sums[c] += dy_row[c];
        }
    }
    let db = &mut db[column..][..C];
    for c in 0..C {
        db[c] += sums[c];
    }
}

/// The gradients of y = x W in f64: (dx, dW).
pub fn naive_backward(x: &Matrix, w: &Matrix, dy: &Matrix) -> (Matrix, Matrix) {
    (dy.times(&w.transposed()), x.transposed().times(dy))
}
