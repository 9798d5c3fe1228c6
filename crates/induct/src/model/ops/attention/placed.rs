//! Attention of symbols at absolute places: no exponential a pair, and no product of a query with a key.
//!
//! There a query is the sum of a symbol's and a place's, and so is a key. With S, the table of their products in units of ln 2,
//!
//! > s_ij = S_ij + S_{x_i j} + S_{i x_j} + S_{x_i x_j},   2^s_ij = e(i, x_i, j) · e(i, x_i, x_j),   e(i, a, c) = 2^(S_ic + S_ac),
//!
//! and e is a table that all sequences share ([`Powers`]). What is left of a pair are its values: average, slope and share.
//!
//! Rows go by groups as in [`fast`](super::fast), and within a group by tiles of four, whose weights at a key lie side by side.

use std::ops::Range;

use super::fast::{Columns, GROUP};
use super::{AttnProbe, AttnRow};
use crate::chain::LANES;
use crate::model::lane::Lane;
use crate::model::level::{Level, leveled};

/// Most symbols that there may be: their indicators at a row stay in registers.
pub const MOST_STATES: usize = 4;

/// e(i, a, c) of one head: for every place i and symbol a a row, whose columns c are k symbols, then t places.
#[derive(Clone, Debug)]
pub struct Powers {
    states: usize,
    /// Vectors of a row.
    stride: usize,
    data: Vec<[f32; LANES]>,
}

impl Powers {
    /// Room for k = `states` and t = `length`.
    pub fn new(states: usize, length: usize) -> Self {
        let stride = (states + length).div_ceil(LANES);
        Self {
            states,
            stride,
            data: vec![[0.0; LANES]; length * states * stride],
        }
    }

    /// The row of place i and symbol a, eight columns together.
    pub fn row_mut(&mut self, i: usize, a: usize) -> &mut [[f32; LANES]] {
        &mut self.data[(i * self.states + a) * self.stride..][..self.stride]
    }

    #[inline(always)]
    fn row(&self, i: usize, a: usize) -> &[f32] {
        self.data[(i * self.states + a) * self.stride..][..self.stride].as_flattened()
    }
}

/// What a head reads.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// Its scores.
    pub powers: &'a Powers,
    /// One-hot, [t, k]
    pub symbols: &'a [Lane],
    /// Values, one row a position.
    pub values: &'a [Lane],
    /// The head's place in rows of those.
    pub columns: Columns,
}

/// Gradients of what a head reads.
pub struct Gradients<'a> {
    /// Of the values: added to.
    pub values: &'a mut [Lane],
    /// Of S_ic, one row for every place i, as long as it sees ([`seen`]), in units of 1 / ln 2: k symbols, then the places j ≤ i. Set.
    pub by_place: &'a mut [Lane],
    /// Of S_aj, [t, k], by key, in the same units: added to.
    pub by_key: &'a mut [Lane],
}

/// Where row i of [`Gradients::by_place`] is.
pub fn seen(states: usize, i: usize) -> Range<usize> {
    let start = i * states + i * (i + 1) / 2;
    start..start + states + i + 1
}

/// Rows of a tile.
const ROWS: usize = 4;

/// What a group of rows leaves behind: its weights, and one over their sums.
#[derive(Clone, Debug)]
pub struct Group {
    length: usize,
    /// By tile: [t, ROWS] each
    weights: Vec<Lane>,
    /// Of one tile, [t, ROWS]
    slopes: Vec<Lane>,
    inverse: [Lane; GROUP],
    /// dout_i over the sum of row i, by tile: [size, ROWS] each
    asked: Vec<Lane>,
}

impl Group {
    /// Room for rows of contexts up to t = `length`, of heads of up to `size` numbers.
    pub fn new(length: usize, size: usize) -> Self {
        Self {
            length,
            weights: vec![Lane::ZERO; GROUP * length],
            slopes: vec![Lane::ZERO; ROWS * length],
            inverse: [Lane::ZERO; GROUP],
            asked: vec![Lane::ZERO; GROUP * size],
        }
    }
}

/// A tile of rows: which of its group, its first row, how many there are, and how many keys some of them see.
#[derive(Clone, Copy)]
struct Tile {
    index: usize,
    first: usize,
    rows: usize,
    keys: usize,
}

#[inline(always)]
fn tiles(rows: &Range<usize>) -> impl Iterator<Item = Tile> + use<> {
    let Range { start, end } = rows.clone();
    (start..end)
        .step_by(ROWS)
        .enumerate()
        .map(move |(index, first)| {
            let keys = (first + ROWS).min(end);
            Tile {
                index,
                first,
                rows: keys - first,
                keys,
            }
        })
}

leveled!(
    /// Sets the rows of `out` (laid out as the values), given the weights in `group`.
    fn averages(inputs: &Placed, rows: Range<usize>, group: &Group, out: &mut [Lane]) = averages_any
);

/// Sets the rows of `out` (laid out as the values), and leaves their weights in `group`.
pub fn forward(
    level: Level,
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut Group,
    out: &mut [Lane],
) {
    weights(level, inputs, rows.clone(), group);
    averages(level, inputs, rows, group, out);
}

/// Leaves the weights of a group's rows behind, as [`forward`] does.
pub fn weights(level: Level, inputs: &Placed, rows: Range<usize>, group: &mut Group) {
    match inputs.powers.states {
        2 => weights_of::<2>(level, inputs, rows, group),
        3 => weights_of::<3>(level, inputs, rows, group),
        _ => weights_of::<MOST_STATES>(level, inputs, rows, group),
    }
}

leveled!(
    fn weights_of[K: usize](inputs: &Placed, rows: Range<usize>, group: &mut Group) = weights_any
);

#[inline(always)]
fn weights_any<const FUSED: bool, const K: usize>(
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut Group,
) {
    for tile in tiles(&rows) {
        let weights = &mut group.weights[tile.index * ROWS * group.length..][..tile.keys * ROWS];
        let sums = weights_of_tile::<FUSED, K>(inputs, tile, weights);
        for r in 0..tile.rows {
            group.inverse[tile.index * ROWS + r] = sums[r].inverse();
        }
    }
}

/// Sets the weights 2^s_ij of a tile, zero where there is no such row or it does not see the key, and returns the sums of its rows.
#[inline(always)]
fn weights_of_tile<const FUSED: bool, const K: usize>(
    inputs: &Placed,
    tile: Tile,
    weights: &mut [Lane],
) -> [Lane; ROWS] {
    let symbols = inputs.symbols;
    // By row: onehot(x_i), e(i, x_i, b) for every symbol b, and e(i, a, j) for every symbol a. Rows that are not there have no symbol.
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

/// The one-hot symbols of a position.
#[inline(always)]
fn of<const K: usize>(symbols: &[Lane], position: usize) -> [Lane; K] {
    let mut own = [Lane::ZERO; K];
    own.copy_from_slice(&symbols[position * K..][..K]);
    own
}

#[inline(always)]
fn averages_any<const FUSED: bool>(
    inputs: &Placed,
    rows: Range<usize>,
    group: &Group,
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

/// The gradients of a group's rows, right after its [`forward`] or [`weights`]: `out` is what the forward computed,
/// `d_out` its gradient.
pub fn backward(
    level: Level,
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut Group,
    (out, d_out): (&[Lane], &[Lane]),
    grads: &mut Gradients,
) {
    match inputs.powers.states {
        2 => backward_of::<2>(level, inputs, rows, group, out, d_out, grads),
        3 => backward_of::<3>(level, inputs, rows, group, out, d_out, grads),
        _ => backward_of::<MOST_STATES>(level, inputs, rows, group, out, d_out, grads),
    }
}

leveled!(
    fn backward_of[K: usize](
        inputs: &Placed,
        rows: Range<usize>,
        group: &mut Group,
        out: &[Lane],
        d_out: &[Lane],
        grads: &mut Gradients,
    ) = backward_any
);

/// - out_i = Σ_j p_ij u_j  ⟹  du_j += Σ_i p_ij dout_i, ds_ij / ln 2 = p_ij (dout_i · u_j − dout_i · out_i)
/// - s_ij = S_ij + S_{x_i j} + S_{i x_j} + S_{x_i x_j}  ⟹  dS_ij = ds_ij, dS_ib = Σ_j ds_ij 1{x_j = b}, dS_aj += Σ_i ds_ij 1{x_i = a}
#[inline(always)]
fn backward_any<const FUSED: bool, const K: usize>(
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut Group,
    out: &[Lane],
    d_out: &[Lane],
    grads: &mut Gradients,
) {
    let Group {
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

/// What the slopes of a tile are to the tables of scores.
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
        // Groups and keys both start at multiples of ROWS: a tile sees all of these keys or none.
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

/// Shows every row of a head's attention to `probe`: weights are the forward's, and scores their logarithms.
pub fn show(
    level: Level,
    inputs: &Placed,
    rows: usize,
    (layer, head): (usize, usize),
    probe: AttnProbe,
) {
    let mut group = Group::new(rows, inputs.columns.size);
    let mut attn_scores = vec![Lane::ZERO; rows];
    let mut attn_pattern = vec![Lane::ZERO; rows];
    for i in 0..rows {
        weights(level, inputs, i..i + 1, &mut group);
        for (j, &weight) in group.weights.iter().step_by(ROWS).take(i + 1).enumerate() {
            attn_scores[j] = weight.ln::<false>();
            attn_pattern[j] = weight * group.inverse[0];
        }
        probe(AttnRow {
            layer,
            head,
            position: i,
            attn_scores: &attn_scores[..=i],
            attn_pattern: &attn_pattern[..=i],
        });
    }
}
