//! Attention of symbols at absolute places: no exponential a pair, and no product of a query with a key.
//!
//! There a query is the sum of a symbol's and a place's, and so is a key. With S, the table of their products in units of ln 2,
//!
//! > s_ij = S_ij + S_{x_i j} + S_{i x_j} + S_{x_i x_j},   2^s_ij = e(i, x_i, j) · e(i, x_i, x_j),   e(i, a, c) = 2^(S_ic + S_ac),
//!
//! and e is a table that all sequences share ([`Powers`]). What is left of a pair are its values: average, slope and share.

use std::ops::Range;

use super::pairs::slopes_any;
use super::sums::{Source, Triangle};
use super::{Columns, Group, blocks, patterns_any};
use crate::chain::LANES;
use crate::model::lane::Lane;
use crate::model::level::{Level, leveled};
use crate::model::ops::attention::{AttnProbe, AttnRow};

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
pub struct PlacedGradients<'a> {
    /// Of the values: added to.
    pub values: &'a mut [Lane],
    /// Of S_ic, one row for every place i, as long as it sees: k symbols, then the places j ≤ i. Set.
    pub by_place: &'a mut [Lane],
    /// Of S_aj, [t, k], by key: added to.
    pub by_key: &'a mut [Lane],
    /// Scratch: the symbols' part of `by_place`, [t, k].
    pub by_row: &'a mut [Lane],
}

/// Where row i of [`PlacedGradients::by_place`] is.
pub fn seen(states: usize, i: usize) -> Range<usize> {
    let start = i * states + i * (i + 1) / 2;
    start..start + states + i + 1
}

/// Sets the rows of `out` (laid out as the values), and leaves their weights in `group`.
pub fn forward(
    level: Level,
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut Group,
    out: &mut [Lane],
) {
    weights(level, inputs, rows.clone(), group);
    super::averages(level, inputs.values, inputs.columns, rows, group, out);
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
    let weights = group.weights.chunks_mut(group.length);
    for (i, (row, inverse)) in rows.clone().zip(weights.zip(&mut group.inverse)) {
        *inverse = weights_of_row::<FUSED, K>(inputs, i, &mut row[..=i]).inverse();
        // What a row does not see, others of the group may.
        row[i + 1..rows.end].fill(Lane::ZERO);
    }
}

/// Sets the weights 2^s_ij of row i, and returns their sum.
#[inline(always)]
fn weights_of_row<const FUSED: bool, const K: usize>(
    inputs: &Placed,
    i: usize,
    row: &mut [Lane],
) -> Lane {
    let Placed {
        powers, symbols, ..
    } = inputs;
    // x = onehot(x_i), and e(i, x_i, b) for every symbol b
    let x: [Lane; K] = of(symbols, i);
    let mut by_symbol = [Lane::ZERO; K];
    let mut by_place = [&[][..]; K];
    for a in 0..K {
        let power = powers.row(i, a);
        for b in 0..K {
            by_symbol[b] = x[a].times_plus::<FUSED>(Lane::splat(power[b]), by_symbol[b]);
        }
        by_place[a] = &power[K..][..row.len()];
    }
    // Two keys at a time: a loop over single lanes would be turned around by the compiler, to vectors of one lane's numbers.
    let mut sums = [Lane::ZERO; 2];
    let whole = row.len() & !1;
    for j in (0..whole).step_by(2) {
        for u in 0..2 {
            let mut at_key = [0.0; K];
            for a in 0..K {
                at_key[a] = by_place[a][j + u];
            }
            row[j + u] = weight::<FUSED, K>(x, at_key, of(symbols, j + u), by_symbol);
            sums[u] += row[j + u];
        }
    }
    if whole < row.len() {
        let mut at_key = [0.0; K];
        for a in 0..K {
            at_key[a] = by_place[a][whole];
        }
        row[whole] = weight::<FUSED, K>(x, at_key, of(symbols, whole), by_symbol);
        sums[0] += row[whole];
    }
    sums[0] + sums[1]
}

/// e(i, x_i, j) · e(i, x_i, x_j), given the one-hot symbols of row (x) and key (z).
#[inline(always)]
fn weight<const FUSED: bool, const K: usize>(
    x: [Lane; K],
    by_place: [f32; K],
    z: [Lane; K],
    by_symbol: [Lane; K],
) -> Lane {
    let (mut placed, mut chosen) = (x[0] * by_place[0], z[0] * by_symbol[0]);
    for a in 1..K {
        placed = x[a].times_plus::<FUSED>(Lane::splat(by_place[a]), placed);
        chosen = z[a].times_plus::<FUSED>(by_symbol[a], chosen);
    }
    placed * chosen
}

/// The one-hot symbols of a position.
#[inline(always)]
fn of<const K: usize>(symbols: &[Lane], position: usize) -> [Lane; K] {
    let mut own = [Lane::ZERO; K];
    own.copy_from_slice(&symbols[position * K..][..K]);
    own
}

leveled!(
    /// The gradients of a group's rows, right after its [`forward`] or [`weights`]: `out` is what the forward computed,
    /// `d_out` its gradient.
    pub fn backward(
        inputs: &Placed,
        rows: Range<usize>,
        group: &mut Group,
        out: &[Lane],
        d_out: &[Lane],
        grads: &mut PlacedGradients,
    ) = backward_any
);

/// - out_i = Σ_j p_ij u_j  ⟹  du_j += Σ_i p_ij dout_i, and the slopes ds_ij as for all scores
/// - s_ij = S_ij + S_{x_i j} + S_{i x_j} + S_{x_i x_j}  ⟹  dS_ij = ds_ij, dS_ib = Σ_j ds_ij 1{x_j = b}, dS_aj += Σ_i ds_ij 1{x_i = a}
#[inline(always)]
fn backward_any<const FUSED: bool>(
    inputs: &Placed,
    rows: Range<usize>,
    group: &mut Group,
    out: &[Lane],
    d_out: &[Lane],
    grads: &mut PlacedGradients,
) {
    let (columns, length, states) = (inputs.columns, group.length, inputs.powers.states);
    let below_centres = patterns_any(columns, &rows, group, out, d_out);
    for block in blocks(&rows, columns) {
        slopes_any::<FUSED>(
            (inputs.values, columns),
            &rows,
            &block,
            d_out,
            &below_centres,
            group,
        );
        let pattern = Triangle::new(&group.weights, length, &rows);
        let source = Source {
            data: d_out,
            columns,
        };
        pattern.sum_over_rows::<FUSED>(&block, 0, source, grads.values);
    }
    let symbols = Source {
        data: inputs.symbols,
        columns: Columns {
            stride: states,
            offset: 0,
            size: states,
        },
    };
    let slopes = Triangle::new(&group.slopes, length, &rows);
    grads.by_row[rows.start * states..rows.end * states].fill(Lane::ZERO);
    for block in blocks(&rows, symbols.columns) {
        slopes.sum_over_keys::<FUSED>(&block, symbols, grads.by_row);
        slopes.sum_over_rows::<FUSED>(&block, 0, symbols, grads.by_key);
    }
    for (i, slopes) in rows.zip(group.slopes.chunks(length)) {
        let (of_symbols, of_places) = grads.by_place[seen(states, i)].split_at_mut(states);
        of_symbols.copy_from_slice(&grads.by_row[i * states..][..states]);
        of_places.copy_from_slice(&slopes[..=i]);
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
    for i in 0..rows {
        weights(level, inputs, i..i + 1, &mut group);
        let (inverse, row) = (group.inverse[0], &mut group.weights[..=i]);
        for (score, weight) in attn_scores.iter_mut().zip(row) {
            *score = weight.ln::<false>();
            *weight = *weight * inverse;
        }
        probe(AttnRow {
            layer,
            head,
            position: i,
            attn_scores: &attn_scores[..=i],
            attn_pattern: &group.weights[..=i],
        });
    }
}
