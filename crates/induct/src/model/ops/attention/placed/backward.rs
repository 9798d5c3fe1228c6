//! Gradients of a group of rows.

use std::ops::Range;

use super::{Gradients, Placed, PlacedRows, ROWS, Tile, of, seen, tiles};
use crate::lanes::{Lane, Level, leveled};
use crate::model::choose::MOST_PLACED_STATES;
use crate::model::ops::attention::fast::Columns;

/// The gradients of a group's rows. Call it right after the group's [`forward`](fn@super::forward) or
/// [`weights`](fn@super::weights). `out` is what the forward computed, `d_out` its gradient.
pub fn backward(
    level: Level,
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut PlacedRows,
    (out, d_out): (&[Lane], &[Lane]),
    grads: &mut Gradients,
) {
    match inputs.powers.states {
        2 => backward_of::<2>(level, inputs, rows, group, out, d_out, grads),
        3 => backward_of::<3>(level, inputs, rows, group, out, d_out, grads),
        _ => backward_of::<MOST_PLACED_STATES>(level, inputs, rows, group, out, d_out, grads),
    }
}

leveled!(
    /// - out_i = Σ_j p_ij u_j  ⟹  du_j += Σ_i p_ij dout_i,
    ///   ds_ij / ln 2 = p_ij (dout_i · u_j − dout_i · out_i)
    /// - s_ij = S_ij + S_{x_i j} + S_{i x_j} + S_{x_i x_j}  ⟹  dS_ij = ds_ij, dS_ib = Σ_j ds_ij 1{x_j = b},
    ///   dS_aj += Σ_i ds_ij 1{x_i = a}
    fn backward_of<const FUSED: bool, const K: usize>(
        inputs: &Placed,
        rows: Range<usize>,
        group: &mut PlacedRows,
        out: &[Lane],
        d_out: &[Lane],
        grads: &mut Gradients,
    ) {
        let PlacedRows {
            length,
            weights,
            slopes,
            inverse,
            asked,
        } = group;
        let (columns, size) = (inputs.columns, inputs.columns.size);
        asked.fill(Lane::ZERO);
        for tile in tiles(&rows) {
            let asked = &mut asked[tile.index * ROWS * size..][..ROWS * size];
            let mut below_centres = [Lane::ZERO; ROWS];
            for r in 0..tile.rows {
                let inverse = inverse[tile.index * ROWS + r];
                let own = columns.row(out, tile.first + r);
                let d_own = columns.row(d_out, tile.first + r);
                for m in 0..size {
                    let d = d_own[m] * inverse;
                    asked[m * ROWS + r] = d;
                    below_centres[r] = below_centres[r] - d * own[m];
                }
            }
            let weights = &weights[tile.index * ROWS * *length..][..tile.keys * ROWS];
            let slopes = &mut slopes[..tile.keys * ROWS];
            slopes_of_tile::<FUSED>(inputs, tile, asked, below_centres, weights, slopes);
            shares_of_tile::<FUSED, K>(inputs.symbols, tile, slopes, grads);
        }
        let end = rows.end;
        let whole = end - end % ROWS;
        for j in (0..whole).step_by(ROWS) {
            values_of_keys::<FUSED, ROWS>(columns, &rows, j, *length, weights, asked, grads.values);
        }
        for j in whole..end {
            values_of_keys::<FUSED, 1>(columns, &rows, j, *length, weights, asked, grads.values);
        }
    }
);

/// Sets p_ij (dout_i · u_j − dout_i · out_i) of a tile.
#[inline(always)]
fn slopes_of_tile<const FUSED: bool>(
    inputs: &Placed,
    tile: Tile,
    asked: &[Lane],
    below_centres: [Lane; ROWS],
    weights: &[Lane],
    slopes: &mut [Lane],
) {
    let whole = tile.keys & !1;
    for j in (0..whole).step_by(2) {
        slopes_of_keys::<FUSED, 2>(inputs, j, asked, below_centres, weights, slopes);
    }
    if whole < tile.keys {
        slopes_of_keys::<FUSED, 1>(inputs, whole, asked, below_centres, weights, slopes);
    }
}

/// The same for C keys from j on.
#[inline(always)]
fn slopes_of_keys<const FUSED: bool, const C: usize>(
    inputs: &Placed,
    j: usize,
    asked: &[Lane],
    below_centres: [Lane; ROWS],
    weights: &[Lane],
    slopes: &mut [Lane],
) {
    let columns = inputs.columns;
    let mut values = [&inputs.values[..0]; C];
    for c in 0..C {
        values[c] = columns.row(inputs.values, j + c);
    }
    let mut sums = [below_centres; C];
    for m in 0..columns.size {
        let d = &asked[m * ROWS..][..ROWS];
        for c in 0..C {
            for r in 0..ROWS {
                sums[c][r] = d[r].times_plus::<FUSED>(values[c][m], sums[c][r]);
            }
        }
    }
    let (weights, slopes) = (
        &weights[j * ROWS..][..C * ROWS],
        &mut slopes[j * ROWS..][..C * ROWS],
    );
    for c in 0..C {
        for r in 0..ROWS {
            slopes[c * ROWS + r] = weights[c * ROWS + r] * sums[c][r];
        }
    }
}

/// What the slopes of a tile add to the gradients of the tables of scores.
#[inline(always)]
fn shares_of_tile<const FUSED: bool, const K: usize>(
    symbols: &[Lane],
    tile: Tile,
    slopes: &[Lane],
    grads: &mut Gradients,
) {
    let mut x = [[Lane::ZERO; K]; ROWS];
    for r in 0..tile.rows {
        x[r] = of(symbols, tile.first + r);
    }
    let mut by_row = [[Lane::ZERO; K]; ROWS];
    for j in 0..tile.keys {
        let z: [Lane; K] = of(symbols, j);
        let own = &slopes[j * ROWS..][..ROWS];
        let by_key = &mut grads.by_key[j * K..][..K];
        for b in 0..K {
            for r in 0..ROWS {
                by_row[r][b] = z[b].times_plus::<FUSED>(own[r], by_row[r][b]);
                by_key[b] = x[r][b].times_plus::<FUSED>(own[r], by_key[b]);
            }
        }
    }
    for r in 0..tile.rows {
        let i = tile.first + r;
        let (of_symbols, of_places) = grads.by_place[seen(K, i)].split_at_mut(K);
        of_symbols.copy_from_slice(&by_row[r]);
        for (j, slope) in of_places.iter_mut().enumerate() {
            *slope = slopes[j * ROWS + r];
        }
    }
}

/// du_j += Σ_i p_ij dout_i over the group's rows, for C keys from j on.
#[inline(always)]
fn values_of_keys<const FUSED: bool, const C: usize>(
    columns: Columns,
    rows: &Range<usize>,
    j: usize,
    length: usize,
    weights: &[Lane],
    asked: &[Lane],
    d_values: &mut [Lane],
) {
    let whole = columns.size & !1;
    for m in (0..whole).step_by(2) {
        value_columns::<FUSED, C, 2>(columns, rows, j, length, weights, asked, m, d_values);
    }
    if whole < columns.size {
        value_columns::<FUSED, C, 1>(columns, rows, j, length, weights, asked, whole, d_values);
    }
}

/// The same for N columns from `start` on.
#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "each is a buffer or a place in one"
)]
fn value_columns<const FUSED: bool, const C: usize, const N: usize>(
    columns: Columns,
    rows: &Range<usize>,
    j: usize,
    length: usize,
    weights: &[Lane],
    asked: &[Lane],
    start: usize,
    d_values: &mut [Lane],
) {
    let mut sums = [[Lane::ZERO; N]; C];
    for tile in tiles(rows) {
        // Groups and keys both start at multiples of ROWS, so a tile sees all of these keys or none.
        if tile.keys <= j {
            continue;
        }
        let weights = &weights[(tile.index * length + j) * ROWS..][..C * ROWS];
        let asked = &asked[(tile.index * columns.size + start) * ROWS..][..N * ROWS];
        for r in 0..ROWS {
            for c in 0..C {
                for n in 0..N {
                    sums[c][n] =
                        weights[c * ROWS + r].times_plus::<FUSED>(asked[n * ROWS + r], sums[c][n]);
                }
            }
        }
    }
    for c in 0..C {
        let d_row = &mut columns.row_mut(d_values, j + c)[start..][..N];
        for n in 0..N {
            d_row[n] += sums[c][n];
        }
    }
}
