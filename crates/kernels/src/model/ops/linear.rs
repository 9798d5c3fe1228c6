//! y_i = x_i W (+ b): a row vector times a matrix, at every position.
//!
//! Three products, each in tiles whose sums stay in registers: x W and dy Wᵀ multiply lanes with plain
//! numbers; xᵀ dy multiplies lanes with lanes or, summed over lanes, plain numbers with dy turned over.
//! A tile has as many rows as the registers allow (`TALL`): with four columns, eight sums keep both multipliers of a
//! core busy, and sixteen also hide how long each takes.
//! Shapes: x, dx [rows, inner], W, dW [inner, outer], y, dy [rows, outer].

use crate::lanes::cross_lane::{Strided, add_sums, add_turned_products, transpose_rows};
use crate::lanes::{LANES, Lane, Level, leveled};

/// What a tile does with its sums: adds them to what is there, sets it to them, or sets it to them with another
/// operand (the bias or the slope).
const ADD: u8 = 0;
const SET: u8 = 1;
const SET_WITH: u8 = 2;

/// Adds x W to y.
pub fn add_forward(
    level: Level,
    x: &[Lane],
    w: &[f32],
    inner: usize,
    outer: usize,
    y: &mut [Lane],
) {
    products::<ADD>(level, x, w, &[], inner, outer, y);
}

/// Sets y to x W.
pub fn set_forward(level: Level, x: &[Lane], w: &[f32], inner: usize, y: &mut [Lane]) {
    products::<SET>(level, x, w, &[], inner, w.len() / inner, y);
}

/// Sets y to x W + b.
pub fn forward(level: Level, x: &[Lane], w: &[f32], b: &[f32], inner: usize, y: &mut [Lane]) {
    products::<SET_WITH>(level, x, w, b, inner, b.len(), y);
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
    input_products::<ADD>(level, w, inner, outer, data, dy, &[], dx);
}

/// y = x W  ⟹  dx = dy Wᵀ, where nothing else depends on x.
pub fn set_input_backward(level: Level, w: &[f32], inner: usize, dy: &[Lane], dx: &mut [Lane]) {
    input_products::<SET>(level, w, inner, w.len() / inner, 0, dy, &[], dx);
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
    input_products::<SET_WITH>(level, w, inner, outer, 0, dy, slope, dx);
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

/// Splits `count` rows into tiles of `TALL`, then 2 and 1 for the remainder: (height, end) of each part.
#[inline(always)]
pub fn heights<const TALL: usize>(count: usize) -> [(usize, usize); 3] {
    [
        (TALL, count - count % TALL),
        (2, count - count % 2),
        (1, count),
    ]
}

leveled!(
    /// y += x W, y = x W, or y = x W + b.
    fn products<const FUSED: bool, tall TALL, const HOW: u8>(
        x: &[Lane],
        w: &[f32],
        b: &[f32],
        inner: usize,
        outer: usize,
        y: &mut [Lane],
    ) {
        let mut row = 0;
        for (height, end) in heights::<TALL>(y.len() / outer) {
            while row < end {
                match height {
                    1 => along!(outer, |c| product_tile::<FUSED, HOW, 1>(x, w, b, (inner, outer), (row, c), y)),
                    2 => along!(outer, |c| product_tile::<FUSED, HOW, 2>(x, w, b, (inner, outer), (row, c), y)),
                    _ => along!(outer, |c| product_tile::<FUSED, HOW, TALL>(x, w, b, (inner, outer), (row, c), y)),
                }
                row += height;
            }
        }
    }
);

/// y[row.., column..column + C] += x[row.., inner] W[inner, column..column + C] for R rows, or set to that + b
#[inline(always)]
fn product_tile<const FUSED: bool, const HOW: u8, const R: usize, const C: usize>(
    x: &[Lane],
    w: &[f32],
    b: &[f32],
    (inner, outer): (usize, usize),
    (row, column): (usize, usize),
    y: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; C]; R];
    let x_rows: [&[Lane]; R] = rows(x, row, inner);
    for a in 0..inner {
        let w_row = &w[a * outer + column..][..C];
        for r in 0..R {
            for c in 0..C {
                sums[r][c] = x_rows[r][a].times_plus::<FUSED>(Lane::splat(w_row[c]), sums[r][c]);
            }
        }
    }
    for r in 0..R {
        let y_row = &mut y[(row + r) * outer + column..][..C];
        for c in 0..C {
            y_row[c] = match HOW {
                ADD => y_row[c] + sums[r][c],
                SET => sums[r][c],
                _ => Lane::splat(b[column + c]) + sums[r][c],
            };
        }
    }
}

leveled!(
    /// dx += dy Wᵀ, dx = dy Wᵀ, or dx = dy Wᵀ times the slope.
    fn input_products<const FUSED: bool, tall TALL, const HOW: u8>(
        w: &[f32],
        inner: usize,
        outer: usize,
        data: usize,
        dy: &[Lane],
        slope: &[Lane],
        dx: &mut [Lane],
    ) {
        let (sides, count) = ((inner, outer), inner - data);
        let mut row = 0;
        for (height, end) in heights::<TALL>(dy.len() / outer) {
            while row < end {
                match height {
                    1 => along!(count, |a| input_tile::<FUSED, HOW, 1>(dy, w, sides, (row, data + a), slope, dx)),
                    2 => along!(count, |a| input_tile::<FUSED, HOW, 2>(dy, w, sides, (row, data + a), slope, dx)),
                    _ => along!(count, |a| input_tile::<FUSED, HOW, TALL>(dy, w, sides, (row, data + a), slope, dx)),
                }
                row += height;
            }
        }
    }
);

/// dx[row.., first..first + A] += dy[row.., outer] W[first..first + A, outer]ᵀ for R rows,
/// or set to that times the slope
#[inline(always)]
fn input_tile<const FUSED: bool, const HOW: u8, const R: usize, const A: usize>(
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
        for a in 0..A {
            dx_row[a] = match HOW {
                ADD => dx_row[a] + sums[r][a],
                SET => sums[r][a],
                _ => sums[r][a] * slope[start + a],
            };
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
    let whole = inner - inner % 2;
    for a in (0..whole).step_by(2) {
        weight_tile::<FUSED, 2, C>(x, dy, inner, outer, (a, column), dw);
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

/// Rows of dy that are turned over together, so that they stay in the fastest cache.
const PANEL: usize = 16;

/// y += x W  ⟹  dW += xᵀ dy, summed over lanes on the way.
///
/// A sum over lanes is a sum over rows as well. So dy is turned over, eight columns at a time, to vectors along
/// its columns, and multiplied with single numbers of x. dW is plain numbers then, an eighth of its size by
/// lane, and stays in the cache.
pub fn add_weight_gradient(level: Level, x: &[Lane], dy: &[Lane], inner: usize, dw: &mut [f32]) {
    let outer = dw.len() / inner;
    let mut panels = [[[Lane::ZERO; LANES]; PANEL]; 2];
    for (x, dy) in x.chunks(PANEL * inner).zip(dy.chunks(PANEL * outer)) {
        let count = dy.len() / outer;
        for column in (0..outer).step_by(2 * LANES) {
            let used = (outer - column).div_ceil(LANES).min(2);
            for (s, panel) in panels[..used].iter_mut().enumerate() {
                let first = column + s * LANES;
                let width = LANES.min(outer - first);
                let rows = Strided {
                    data: &dy[first..],
                    stride: outer,
                };
                transpose_rows(level, rows, width, &mut panel[..count]);
            }
            let turned = panels.each_ref().map(|panel| &panel[..count]);
            let x = Strided {
                data: x,
                stride: inner,
            };
            let dw = &mut dw[column..];
            if used == 1 {
                add_turned_products(level, x, [turned[0]], outer - column, outer, dw);
            } else {
                add_turned_products(level, x, turned, outer - column, outer, dw);
            }
        }
    }
}

/// y_i += b  ⟹  db += Σ_i dy_i, summed over lanes.
pub fn add_bias_gradient(level: Level, dy: &[Lane], db: &mut [f32]) {
    let outer = db.len();
    for (n, db) in db.chunks_mut(LANES).enumerate() {
        let mut sums = [Lane::ZERO; LANES];
        column_sums(level, dy, outer, n * LANES, &mut sums[..db.len()]);
        add_sums(level, &sums, db);
    }
}

/// Sets every row of y to b (`[outer]`).
pub fn set_rows(b: &[f32], y: &mut [Lane]) {
    for y_row in y.chunks_exact_mut(b.len()) {
        for (y_c, &b_c) in y_row.iter_mut().zip(b) {
            *y_c = Lane::splat(b_c);
        }
    }
}

/// Adds factor · b (`[outer]`) to every row of y.
pub fn add_rows(b: &[f32], factor: f32, y: &mut [Lane]) {
    for y_row in y.chunks_exact_mut(b.len()) {
        for (y_c, &b_c) in y_row.iter_mut().zip(b) {
            *y_c += Lane::splat(factor * b_c);
        }
    }
}

/// y_i += b  ⟹  db += Σ_i dy_i.
pub fn bias_backward(level: Level, dy: &[Lane], db: &mut [Lane]) {
    column_sums(level, dy, db.len(), 0, db);
}

leveled!(
    /// db += Σ_i dy_i, for the columns from `first` on.
    fn column_sums<const FUSED: bool>(dy: &[Lane], outer: usize, first: usize, db: &mut [Lane]) {
        along!(db.len(), |c| bias_tile::<FUSED>(dy, outer, (first, c), db));
    }
);

/// db[column..column + C] += Σ_i dy[i, first + column..first + column + C]
#[inline(always)]
fn bias_tile<const FUSED: bool, const C: usize>(
    dy: &[Lane],
    outer: usize,
    (first, column): (usize, usize),
    db: &mut [Lane],
) {
    let mut sums = [Lane::ZERO; C];
    for dy_row in dy.chunks_exact(outer) {
        let dy_row = &dy_row[first + column..][..C];
        for c in 0..C {
            sums[c] += dy_row[c];
        }
    }
    let db = &mut db[column..][..C];
    for c in 0..C {
        db[c] += sums[c];
    }
}
