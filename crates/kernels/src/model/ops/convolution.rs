//! Causal convolution of every sequence with a kernel per column:
//!
//! > n_ib = Σ_j≤i e(i−j, b) z_jb   ⟹   de(δ, b) = Σ_i dn_ib z_{i−δ,b}
//!
//! Every column b is a separate plane. It is processed in tiles of [`TALL`] rows (or lags) by
//! [`BROAD`] keys (or rows), which have only [`LAGS`] lags between them. Planes are padded with zeros,
//! so that no tile is cut off at an edge.

use crate::lanes::{LANES, Lane, Level, leveled};
use crate::scratch::Allocator;

const TALL: usize = 8;
const BROAD: usize = 4;
const LAGS: usize = TALL + BROAD - 1;

/// Zeros before the first and after the last row of a plane.
const PAD: usize = TALL;

/// N entries from `start` on: bounds are checked once for all of them.
#[inline(always)]
fn window<T, const N: usize>(data: &[T], start: usize) -> &[T; N] {
    data[start..].first_chunk().expect("N entries")
}

/// Columns of `rows` numbers each, one after the other, padded with zeros.
#[derive(Clone, Debug)]
pub struct Planes<T> {
    rows: usize,
    data: Vec<T>,
}

impl<T: Copy> Planes<T> {
    /// Planes of zeros.
    pub fn new(rows: usize, columns: usize, zero: T, buffers: &mut Allocator) -> Self {
        Self {
            rows,
            data: buffers.filled(zero, [rows + 2 * PAD, columns]),
        }
    }

    /// One column with all its padding; row 0 is at [`PAD`].
    fn padded(&self, column: usize) -> &[T] {
        &self.data[column * (self.rows + 2 * PAD)..][..self.rows + 2 * PAD]
    }

    fn padded_mut(&mut self, column: usize) -> &mut [T] {
        &mut self.data[column * (self.rows + 2 * PAD)..][..self.rows + 2 * PAD]
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.data.len() / (self.rows + 2 * PAD)
    }

    /// One column.
    pub fn column(&self, column: usize) -> &[T] {
        &self.padded(column)[PAD..][..self.rows]
    }

    /// One column.
    pub fn column_mut(&mut self, column: usize) -> &mut [T] {
        let rows = self.rows;
        &mut self.padded_mut(column)[PAD..][..rows]
    }

    /// Writes zeros after the first `rows` rows.
    pub fn end_after(&mut self, rows: usize, zero: T) {
        for column in 0..self.columns() {
            self.padded_mut(column)[PAD + rows..][..PAD].fill(zero);
        }
    }
}

leveled!(
    /// Sets the planes to indicators of the symbols from `first` on: one where a
    /// sequence has the symbol, else zero.
    pub fn set_symbols<const FUSED: bool>(
        inputs: &[[u8; LANES]],
        first: usize,
        planes: &mut Planes<Lane>,
    ) {
        for column in 0..planes.columns() {
            let (symbol, plane) = (first + column, planes.column_mut(column));
            // Two rows at a time: with one alone, the compiler would interchange the loops.
            let (pairs, odd) = inputs.as_chunks();
            for (z, [a, b]) in plane.chunks_exact_mut(2).zip(pairs) {
                z[0] = Lane::is(a, symbol);
                z[1] = Lane::is(b, symbol);
            }
            for symbols in odd {
                plane[inputs.len() - 1] = Lane::is(symbols, symbol);
            }
        }
    }
);

/// Sets `out` to the first `rows` rows of the convolutions of z with e. Its later rows are meaningless.
pub fn convolve(
    level: Level,
    e: &Planes<f32>,
    z: &Planes<Lane>,
    rows: usize,
    out: &mut Planes<Lane>,
) {
    for column in 0..z.columns() {
        convolve_column(level, (e, column), (z, column), rows, (out, column));
    }
}

/// The same for one column each of e, z and `out`.
pub fn convolve_column(
    level: Level,
    (e, of_e): (&Planes<f32>, usize),
    (z, of_z): (&Planes<Lane>, usize),
    rows: usize,
    (out, of_out): (&mut Planes<Lane>, usize),
) {
    let (e, z, out) = (e.padded(of_e), z.padded(of_z), out.padded_mut(of_out));
    convolve_plane(level, e, z, rows, out);
}

/// Sets `de`, by lane, to the gradient of e, given that of the convolutions, which must end after `rows`.
pub fn correlate(
    level: Level,
    dn: &Planes<Lane>,
    z: &Planes<Lane>,
    rows: usize,
    de: &mut Planes<Lane>,
) {
    for column in 0..z.columns() {
        let (dn, z) = (dn.padded(column), z.padded(column));
        correlate_plane(level, dn, z, rows, false, de.padded_mut(column));
    }
}

/// The same for one column each of `dn`, z and `de`, to which it is added.
pub fn add_correlation(
    level: Level,
    (dn, of_dn): (&Planes<Lane>, usize),
    (z, of_z): (&Planes<Lane>, usize),
    rows: usize,
    (de, of_de): (&mut Planes<Lane>, usize),
) {
    let (dn, z, de) = (dn.padded(of_dn), z.padded(of_z), de.padded_mut(of_de));
    correlate_plane(level, dn, z, rows, true, de);
}

leveled!(
    fn convolve_plane<const FUSED: bool>(e: &[f32], z: &[Lane], rows: usize, out: &mut [Lane]) {
        for first in (0..rows).step_by(TALL) {
            let mut sums = [Lane::ZERO; TALL];
            for j in (0..first + TALL).step_by(BROAD) {
                // Row first + s and key j + u are first − j + s − u apart: entry s − u + BROAD − 1 of `lags`.
                let keys: &[Lane; BROAD] = window(z, PAD + j);
                let lags: &[f32; LAGS] = window(e, PAD + first + 1 - j - BROAD);
                for u in 0..BROAD {
                    for s in 0..TALL {
                        let factor = Lane::splat(lags[s + BROAD - 1 - u]);
                        sums[s] = keys[u].times_plus::<FUSED>(factor, sums[s]);
                    }
                }
            }
            out[PAD + first..][..TALL].copy_from_slice(&sums);
        }
    }
);

leveled!(
    /// Sets `de` or, if `add`, adds to it.
    fn correlate_plane<const FUSED: bool>(
        dn: &[Lane],
        z: &[Lane],
        rows: usize,
        add: bool,
        de: &mut [Lane],
    ) {
        for first in (0..rows).step_by(TALL) {
            let mut sums = [Lane::ZERO; TALL];
            if add {
                sums.copy_from_slice(&de[PAD + first..][..TALL]);
            }
            for i in (first..rows).step_by(BROAD) {
                // Row i + u and lag first + s meet at key i − first + u − s:
                // entry u − s + TALL − 1 of `keys`.
                let slopes: &[Lane; BROAD] = window(dn, PAD + i);
                let keys: &[Lane; LAGS] = window(z, PAD + i - first + 1 - TALL);
                for u in 0..BROAD {
                    for s in 0..TALL {
                        sums[s] = slopes[u].times_plus::<FUSED>(keys[u + TALL - 1 - s], sums[s]);
                    }
                }
            }
            de[PAD + first..][..TALL].copy_from_slice(&sums);
        }
    }
);
