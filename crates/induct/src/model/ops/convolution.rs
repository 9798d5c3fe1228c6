//! Causal convolution of sequences with a kernel each, side by side as columns:
//!
//! > n_ib = Σ_j≤i e(i−j, b) z_jb   ⟹   de(δ, b) = Σ_i dn_ib z_{i−δ,b}
//!
//! Both go in tiles of [`SIDE`] × [`SIDE`] pairs, which have only 2 [`SIDE`] − 1 lags between them, by two columns.
//! [`Padded`] buffers have zeros around them, so that no tile is cut off at an edge.

use std::ops::Deref;

use crate::model::lane::Lane;
use crate::model::level::leveled;

/// Rows, and keys or lags, that are worked on together.
const SIDE: usize = 4;

/// Rows of zeros before and after what a buffer holds.
const PAD: usize = SIDE - 1;

/// Rows of `columns` numbers each, with zeros before the first and after the last.
#[derive(Clone, Debug)]
pub struct Padded<T> {
    columns: usize,
    data: Vec<T>,
}

impl<T: Clone + Copy> Padded<T> {
    /// `rows` rows of zeros.
    pub fn new(rows: usize, columns: usize, zero: T) -> Self {
        Self {
            columns,
            data: vec![zero; (rows + 2 * PAD) * columns],
        }
    }

    /// From the first row on.
    #[inline(always)]
    pub fn rows_mut(&mut self) -> &mut [T] {
        &mut self.data[PAD * self.columns..]
    }

    /// Puts zeros after the first `rows` rows.
    #[inline(always)]
    pub fn end_after(&mut self, rows: usize, zero: T) {
        self.data[(PAD + rows) * self.columns..][..PAD * self.columns].fill(zero);
    }
}

/// The rows themselves.
impl<T> Deref for Padded<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.data[PAD * self.columns..]
    }
}

leveled!(
    /// Sets `out` ([rows, columns]) to the convolutions of z with e.
    pub fn convolve(e: &Padded<f32>, z: &Padded<Lane>, rows: usize, out: &mut [Lane]) = convolve_any
);

leveled!(
    /// Sets `de` ([rows, columns], by lane) to the gradient of e, given that of the convolutions, which must end after `rows`.
    pub fn correlate(dn: &Padded<Lane>, z: &Padded<Lane>, rows: usize, de: &mut [Lane]) = correlate_any
);

#[inline(always)]
fn convolve_any<const FUSED: bool>(
    e: &Padded<f32>,
    z: &Padded<Lane>,
    rows: usize,
    out: &mut [Lane],
) {
    let columns = z.columns;
    for first in (0..rows).step_by(SIDE) {
        let mut column = 0;
        while column + 2 <= columns {
            convolve_tile::<FUSED, 2>(e, z, rows, (first, column), out);
            column += 2;
        }
        if column < columns {
            convolve_tile::<FUSED, 1>(e, z, rows, (first, column), out);
        }
    }
}

/// Rows from `first` on, K columns.
#[inline(always)]
fn convolve_tile<const FUSED: bool, const K: usize>(
    e: &Padded<f32>,
    z: &Padded<Lane>,
    rows: usize,
    (first, column): (usize, usize),
    out: &mut [Lane],
) {
    let columns = z.columns;
    let mut sums = [[Lane::ZERO; K]; SIDE];
    for j in (0..=first).step_by(SIDE) {
        // Row first + s and key j + u are first − j + s − u apart.
        let keys = &z.data[(PAD + j) * columns + column..][..PAD * columns + K];
        let lags = &e.data[(first - j) * columns + column..][..2 * PAD * columns + K];
        for u in 0..SIDE {
            for s in 0..SIDE {
                for b in 0..K {
                    let factor = Lane::splat(lags[(PAD + s - u) * columns + b]);
                    sums[s][b] = keys[u * columns + b].times_plus::<FUSED>(factor, sums[s][b]);
                }
            }
        }
    }
    for s in 0..SIDE.min(rows - first) {
        out[(first + s) * columns + column..][..K].copy_from_slice(&sums[s]);
    }
}

#[inline(always)]
fn correlate_any<const FUSED: bool>(
    dn: &Padded<Lane>,
    z: &Padded<Lane>,
    rows: usize,
    de: &mut [Lane],
) {
    let columns = z.columns;
    for first in (0..rows).step_by(SIDE) {
        let mut column = 0;
        while column + 2 <= columns {
            correlate_tile::<FUSED, 2>(dn, z, rows, (first, column), de);
            column += 2;
        }
        if column < columns {
            correlate_tile::<FUSED, 1>(dn, z, rows, (first, column), de);
        }
    }
}

/// Lags from `first` on, K columns.
#[inline(always)]
fn correlate_tile<const FUSED: bool, const K: usize>(
    dn: &Padded<Lane>,
    z: &Padded<Lane>,
    rows: usize,
    (first, column): (usize, usize),
    de: &mut [Lane],
) {
    let columns = z.columns;
    let mut sums = [[Lane::ZERO; K]; SIDE];
    for i in (first..rows).step_by(SIDE) {
        // Row i + u and lag first + s meet at key i − first + u − s.
        let slopes = &dn.data[(PAD + i) * columns + column..][..PAD * columns + K];
        let keys = &z.data[(i - first) * columns + column..][..2 * PAD * columns + K];
        for u in 0..SIDE {
            for s in 0..SIDE {
                for b in 0..K {
                    let key = keys[(PAD + u - s) * columns + b];
                    sums[s][b] = slopes[u * columns + b].times_plus::<FUSED>(key, sums[s][b]);
                }
            }
        }
    }
    for s in 0..SIDE.min(rows - first) {
        de[(first + s) * columns + column..][..K].copy_from_slice(&sums[s]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::level::Level;

    #[test]
    fn tiles_match_the_sums_that_they_stand_for() {
        let length = 11;
        for columns in [1, 2, 3, 5] {
            let value = |index: usize| ((index * 37 % 19) as f32 - 9.0) / 8.0;
            let mut e = Padded::new(length, columns, 0.0);
            let mut z = Padded::new(length, columns, Lane::ZERO);
            let mut dn = z.clone();
            for index in 0..length * columns {
                e.rows_mut()[index] = value(index);
                z.rows_mut()[index] = Lane::splat(value(index + 5));
                dn.rows_mut()[index] = Lane::splat(value(index + 11));
            }
            let mut out = vec![Lane::ZERO; length * columns];
            let mut de = out.clone();
            for rows in 1..=length {
                dn.end_after(rows, Lane::ZERO);
                convolve(Level::detect(), &e, &z, rows, &mut out);
                correlate(Level::detect(), &dn, &z, rows, &mut de);
                for (at, b) in (0..rows).flat_map(|at| (0..columns).map(move |b| (at, b))) {
                    let n: f32 = (0..=at)
                        .map(|j| e[(at - j) * columns + b] * z[j * columns + b].0[0])
                        .sum();
                    let d: f32 = (at..rows)
                        .map(|i| dn[i * columns + b].0[0] * z[(i - at) * columns + b].0[0])
                        .sum();
                    assert!((out[at * columns + b].0[3] - n).abs() < 1e-5);
                    assert!((de[at * columns + b].0[3] - d).abs() < 1e-5);
                }
                for index in 0..length * columns {
                    dn.rows_mut()[index] = Lane::splat(value(index + 11));
                }
            }
        }
    }
}
