//! Weights and averages of a group of rows.

use std::ops::Range;

use super::{Placed, PlacedRows, ROWS, Tile, of, tiles};
use crate::lanes::{Lane, Level, leveled};
use crate::model::choose::MOST_PLACED_STATES;

leveled!(
    /// Sets the rows of `out` (laid out like the values), given the weights in `group`.
    fn averages<const FUSED: bool>(
        inputs: &Placed,
        rows: Range<usize>,
        group: &PlacedRows,
        out: &mut [Lane],
    ) {
        let whole = inputs.columns.size & !1;
        for tile in tiles(&rows) {
            let weights = &group.weights[tile.index * ROWS * group.length..][..tile.keys * ROWS];
            let inverse = &group.inverse[tile.index * ROWS..][..ROWS];
            for m in (0..whole).step_by(2) {
                average_columns::<FUSED, 2>(inputs, tile, weights, inverse, m, out);
            }
            if whole < inputs.columns.size {
                average_columns::<FUSED, 1>(inputs, tile, weights, inverse, whole, out);
            }
        }
    }
);

/// Sets the rows of `out` (laid out like the values), and keeps their weights in `group`.
pub fn forward(
    level: Level,
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut PlacedRows,
    out: &mut [Lane],
) {
    weights(level, inputs, rows.clone(), group);
    averages(level, inputs, rows, group, out);
}

/// Computes the weights of a group's rows, as [`forward`] does.
pub fn weights(level: Level, inputs: &Placed, rows: Range<usize>, group: &mut PlacedRows) {
    match inputs.powers.states {
        2 => weights_of::<2>(level, inputs, rows, group),
        3 => weights_of::<3>(level, inputs, rows, group),
        _ => weights_of::<MOST_PLACED_STATES>(level, inputs, rows, group),
    }
}

leveled!(
    fn weights_of<const FUSED: bool, const K: usize>(
        inputs: &Placed,
        rows: Range<usize>,
        group: &mut PlacedRows,
    ) {
        for tile in tiles(&rows) {
            let weights =
                &mut group.weights[tile.index * ROWS * group.length..][..tile.keys * ROWS];
            let sums = weights_of_tile::<FUSED, K>(inputs, tile, weights);
            for r in 0..tile.rows {
                group.inverse[tile.index * ROWS + r] = sums[r].inverse();
            }
        }
    }
);

/// Sets the weights 2^s_ij of a tile, zero where the row does not exist or does not see the key,
/// and returns the sums of its rows.
#[inline(always)]
fn weights_of_tile<const FUSED: bool, const K: usize>(
    inputs: &Placed,
    tile: Tile,
    weights: &mut [Lane],
) -> [Lane; ROWS] {
    let symbols = inputs.symbols;
    // By row: onehot(x_i), e(i, x_i, b) for every symbol b, and e(i, a, j) for every symbol a. Rows that do
    // not exist have no symbol.
    let mut x = [[Lane::ZERO; K]; ROWS];
    let mut by_symbol = [[Lane::ZERO; K]; ROWS];
    let mut by_place = [[&[][..]; K]; ROWS];
    for r in 0..ROWS {
        let i = tile.first + r.min(tile.rows - 1);
        if r < tile.rows {
            x[r] = of(symbols, i);
        }
        for a in 0..K {
            let power = inputs.powers.row(i, a);
            for b in 0..K {
                by_symbol[r][b] =
                    x[r][a].times_plus::<FUSED>(Lane::splat(power[b]), by_symbol[r][b]);
            }
            by_place[r][a] = &power[K..][..tile.keys];
        }
    }
    let mut sums = [Lane::ZERO; ROWS];
    for j in 0..=tile.first {
        let z: [Lane; K] = of(symbols, j);
        let own = &mut weights[j * ROWS..][..ROWS];
        for r in 0..ROWS {
            let mut placed = x[r][0] * by_place[r][0][j];
            let mut chosen = z[0] * by_symbol[r][0];
            for a in 1..K {
                placed = x[r][a].times_plus::<FUSED>(Lane::splat(by_place[r][a][j]), placed);
                chosen = z[a].times_plus::<FUSED>(by_symbol[r][a], chosen);
            }
            own[r] = placed * chosen;
            sums[r] += own[r];
        }
    }
    // Keys that only some rows see.
    for j in tile.first + 1..tile.keys {
        let z: [Lane; K] = of(symbols, j);
        let own = &mut weights[j * ROWS..][..ROWS];
        own.fill(Lane::ZERO);
        for r in j - tile.first..tile.rows {
            for a in 0..K {
                for b in 0..K {
                    let chosen = x[r][a] * z[b] * by_symbol[r][b];
                    own[r] = chosen.times_plus::<FUSED>(Lane::splat(by_place[r][a][j]), own[r]);
                }
            }
            sums[r] += own[r];
        }
    }
    sums
}

/// out_i = Σ_j p_ij u_j for the rows of a tile, N columns from `start` on.
#[inline(always)]
fn average_columns<const FUSED: bool, const N: usize>(
    inputs: &Placed,
    tile: Tile,
    weights: &[Lane],
    inverse: &[Lane],
    start: usize,
    out: &mut [Lane],
) {
    let columns = inputs.columns;
    let mut sums = [[Lane::ZERO; N]; ROWS];
    for j in 0..tile.keys {
        let values = &columns.row(inputs.values, j)[start..][..N];
        let own = &weights[j * ROWS..][..ROWS];
        for r in 0..ROWS {
            for n in 0..N {
                sums[r][n] = own[r].times_plus::<FUSED>(values[n], sums[r][n]);
            }
        }
    }
    for r in 0..tile.rows {
        let out_row = &mut columns.row_mut(out, tile.first + r)[start..][..N];
        for n in 0..N {
            out_row[n] = sums[r][n] * inverse[r];
        }
    }
}
