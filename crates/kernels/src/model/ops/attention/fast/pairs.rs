//! Passes over pairs of a row and a key: scores, weights and slopes.
//!
//! A tile of rows goes through the keys two at a time, or four where there are 32 registers. The positional table is
//! kept by coordinate rather than by lag, so that the lags of a tile are contiguous.

use std::f32::consts::LN_2;
use std::ops::Range;

use super::lags::Lags;
use super::sums::BEYOND;
use super::{GROUP, Inputs, ROWS, RelativeTerm, TileRows, blocks, pairwise};
use crate::lanes::Lane;

/// Keys taken together: with a tile of rows where there are 16 registers, and with a single row.
const FEW: usize = 2;
const MANY: usize = 8;

/// Runs a pass on tiles of [`ROWS`] rows, and on single rows for the remainder.
macro_rules! by_tiles {
    ($rows:ident, |$i:ident| $pass:ident($($argument:expr),* $(,)?)) => {
        let whole = $rows.end - $rows.len() % ROWS;
        for $i in ($rows.start..whole).step_by(ROWS) {
            if TALL == ROWS {
                $pass::<FUSED, ROWS, ROWS>($($argument),*);
            } else {
                $pass::<FUSED, ROWS, FEW>($($argument),*);
            }
        }
        for $i in whole..$rows.end {
            $pass::<FUSED, 1, MANY>($($argument),*);
        }
    };
}

/// Computes the scores of a group's rows, and the largest of each.
#[inline(always)]
pub(super) fn scores_any<const FUSED: bool, const TALL: usize>(
    inputs: &Inputs,
    rows: &Range<usize>,
    group: &mut TileRows,
) {
    group.most.fill(Lane::splat(f32::NEG_INFINITY));
    for block in blocks(rows, inputs.columns) {
        by_tiles!(rows, |i| scores_of_rows(inputs, rows, i, &block, group));
    }
    if let Some(masked) = &inputs.masked {
        pairwise::add_scores::<FUSED>(inputs, masked, rows, group);
    }
}

/// Turns the scores of a group's rows into weights 2^(s − largest), and computes one over their sums.
#[inline(always)]
pub(super) fn softmax_any<const FUSED: bool>(rows: &Range<usize>, group: &mut TileRows) {
    let weights = group.weights.chunks_mut(group.length).zip(&group.most);
    for (i, ((row, &most), inverse)) in rows.clone().zip(weights.zip(&mut group.inverse)) {
        *inverse = exponentials::<FUSED>(&mut row[..=i], most).inverse();
        // Other rows of the group may see keys that this row does not.
        row[i + 1..rows.end].fill(Lane::ZERO);
    }
}

/// The scores of rows i … i + R − 1 in a block of keys, C keys at a time.
#[inline(always)]
fn scores_of_rows<const FUSED: bool, const R: usize, const C: usize>(
    inputs: &Inputs,
    rows: &Range<usize>,
    i: usize,
    block: &Range<usize>,
    group: &mut TileRows,
) {
    let TileRows {
        weights,
        length,
        lags,
        most,
        ..
    } = group;
    let scores = &mut weights[(i - rows.start) * *length..];
    let kept = &mut most[i - rows.start..][..R];
    let mut most = [Lane::ZERO; R];
    most.copy_from_slice(kept);
    let end = block.end.min(i + R).max(block.start);
    let whole = end - (end - block.start) % C;
    for j in (block.start..whole).step_by(C) {
        let sums = score_tile::<FUSED, R, C>(inputs, (i, j), lags);
        for a in 0..R {
            scores[a * *length + j..][..C].copy_from_slice(&sums[a]);
            for b in 0..C {
                // Keys that a row does not see come last.
                if j + C <= i + 1 || j + b <= i + a {
                    most[a] = sums[a][b].larger(most[a]);
                }
            }
        }
    }
    for j in whole..end {
        let sums = score_tile::<FUSED, R, 1>(inputs, (i, j), lags);
        for a in 0..R {
            scores[a * *length + j] = sums[a][0];
            if j <= i + a {
                most[a] = sums[a][0].larger(most[a]);
            }
        }
    }
    kept.copy_from_slice(&most);
}

/// The scores of rows i … i + R − 1 at keys j … j + C − 1, which have R + C − 1 different lags: row a and key b are
/// i − j + a − b apart. The score of a row at a key that it does not see is meaningless.
#[inline(always)]
fn score_tile<const FUSED: bool, const R: usize, const C: usize>(
    inputs: &Inputs,
    (i, j): (usize, usize),
    lags: &Lags,
) -> [[Lane; C]; R] {
    let size = inputs.columns.size;
    let q: [&[Lane]; R] = inputs.columns.rows(inputs.queries, i);
    let k: [&[Lane]; C] = inputs.columns.rows(inputs.keys, j);
    let first = ROWS + i + 1 - j - C;
    let mut sums = [[Lane::ZERO; C]; R];
    if inputs.bias {
        let biases = lags.window(0, first);
        for a in 0..R {
            for b in 0..C {
                sums[a][b] = Lane::splat(biases[a + C - 1 - b]);
            }
        }
    }
    match inputs.relative {
        RelativeTerm::Absent => {
            for m in 0..size {
                for a in 0..R {
                    for b in 0..C {
                        sums[a][b] = q[a][m].times_plus::<FUSED>(k[b][m], sums[a][b]);
                    }
                }
            }
        }
        RelativeTerm::Key => {
            for m in 0..size {
                let slopes = lags.window(1 + m, first);
                for a in 0..R {
                    for b in 0..C {
                        let asks = q[a][m] + Lane::splat(slopes[a + C - 1 - b]);
                        sums[a][b] = asks.times_plus::<FUSED>(k[b][m], sums[a][b]);
                    }
                }
            }
        }
        RelativeTerm::Query => {
            let p: [&[Lane]; R] = inputs.columns.rows(inputs.asking(), i);
            for m in 0..size {
                let slopes = lags.window(1 + m, first);
                for a in 0..R {
                    for b in 0..C {
                        let slope = Lane::splat(slopes[a + C - 1 - b]);
                        sums[a][b] = q[a][m].times_plus::<FUSED>(k[b][m], sums[a][b]);
                        sums[a][b] = p[a][m].times_plus::<FUSED>(slope, sums[a][b]);
                    }
                }
            }
        }
    }
    sums
}

/// Turns a row of scores, of which the largest is given, into weights 2^(s − largest), and returns their sum.
#[inline(always)]
fn exponentials<const FUSED: bool>(row: &mut [Lane], most: Lane) -> Lane {
    let mut sum = Lane::ZERO;
    let mut pairs = row.chunks_exact_mut(2);
    for pair in &mut pairs {
        let powers = Lane::exp2_pair_clamped::<FUSED>([pair[0] - most, pair[1] - most]);
        pair.copy_from_slice(&powers);
        sum += powers[0];
        sum += powers[1];
    }
    for score in pairs.into_remainder() {
        *score = (*score - most).exp2_clamped::<FUSED>();
        sum += *score;
    }
    sum
}

/// Computes the slopes of a group's rows in a block of keys, given −dout_i · out_i
/// of every row (`below_centres`).
#[inline(always)]
pub(super) fn slopes_any<const FUSED: bool, const TALL: usize>(
    inputs: &Inputs,
    rows: &Range<usize>,
    block: &Range<usize>,
    d_out: &[Lane],
    below_centres: &[Lane; GROUP],
    group: &mut TileRows,
) {
    by_tiles!(rows, |i| slopes_of_rows(
        inputs,
        rows,
        i,
        block,
        d_out,
        below_centres,
        group
    ));
}

/// The slopes of rows i … i + R − 1 in a block of keys, C keys at a time.
#[inline(always)]
fn slopes_of_rows<const FUSED: bool, const R: usize, const C: usize>(
    inputs: &Inputs,
    rows: &Range<usize>,
    i: usize,
    block: &Range<usize>,
    d_out: &[Lane],
    below_centres: &[Lane; GROUP],
    group: &mut TileRows,
) {
    let below = &below_centres[i - rows.start..];
    let (length, offset) = (group.length, (i - rows.start) * group.length);
    let slopes = &mut group.slopes[BEYOND * length..];
    let (pattern, slopes) = (&group.weights[offset..], &mut slopes[offset..]);
    let d_rows: [&[Lane]; R] = inputs.columns.rows(d_out, i);
    // Weights are zero at keys that a row does not see.
    let end = block.end.min(i + R).max(block.start);
    let whole = end - (end - block.start) % C;
    for j in (block.start..whole).step_by(C) {
        slope_tile::<FUSED, R, C>(inputs, &d_rows, below, pattern, (length, j), slopes);
    }
    for j in whole..end {
        slope_tile::<FUSED, R, 1>(inputs, &d_rows, below, pattern, (length, j), slopes);
    }
    for a in 0..R {
        slopes[a * length..][end..block.end].fill(Lane::ZERO);
    }
}

/// ds of R rows at keys j … j + C − 1: ln 2 · p_ij (dout_i · u_j − dout_i · out_i). `place` is (row length,
/// j).
#[inline(always)]
fn slope_tile<const FUSED: bool, const R: usize, const C: usize>(
    inputs: &Inputs,
    d_rows: &[&[Lane]; R],
    below: &[Lane],
    pattern: &[Lane],
    (length, j): (usize, usize),
    slopes: &mut [Lane],
) {
    let values: [&[Lane]; C] = inputs.columns.rows(inputs.values, j);
    let mut sums = [[Lane::ZERO; C]; R];
    for a in 0..R {
        sums[a] = [below[a]; C];
    }
    for m in 0..inputs.columns.size {
        for a in 0..R {
            for b in 0..C {
                sums[a][b] = d_rows[a][m].times_plus::<FUSED>(values[b][m], sums[a][b]);
            }
        }
    }
    for a in 0..R {
        let p = &pattern[a * length + j..][..C];
        let ds = &mut slopes[a * length + j..][..C];
        for b in 0..C {
            ds[b] = p[b] * sums[a][b] * LN_2;
        }
    }
}
