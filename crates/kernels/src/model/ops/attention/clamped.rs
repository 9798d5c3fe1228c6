//! Attention whose pattern is given: out_i = Σ_j p_ij u_j, with no scores, no exponentials, and no gradient to
//! queries and keys. Values, outputs and their gradients are [t, size].

use std::ops::Range;

use super::{AttnProbe, AttnRow};
use crate::lanes::{LANES, Lane, Level, leveled};
use crate::model::Target;

/// A given pattern.
#[derive(Clone, Copy, Debug)]
pub enum Table<'a> {
    /// Row i attends to row i − lag, or to the first row if there is no such one.
    Lag(usize),
    /// Row i attends to all rows up to itself equally, with weights that sum to this.
    Uniform(f32),
    /// A weight per pair and lane, [t, t].
    Lanes {
        /// The weights; only those of j ≤ i count.
        weights: &'a [Lane],
        /// From one row to the next.
        stride: usize,
    },
}

impl<'a> Table<'a> {
    /// The table of a target: `weights` is that of this block, where the target reads symbols.
    pub fn of(target: Target, weights: &'a [Lane], stride: usize) -> Self {
        match target {
            Target::Lag(lag) => Table::Lag(lag),
            Target::Uniform => Table::Uniform(1.0),
            Target::SameToken | Target::Induction => Table::Lanes { weights, stride },
        }
    }
}

leveled!(
    /// Adds to some rows of `out`.
    pub fn forward<const FUSED: bool>(
        table: Table,
        rows: Range<usize>,
        size: usize,
        values: &[Lane],
        out: &mut [Lane],
    ) {
        match table {
            Table::Lag(lag) => {
                for i in rows {
                    let value = &values[i.saturating_sub(lag) * size..][..size];
                    for (sum, &part) in out[i * size..][..size].iter_mut().zip(value) {
                        *sum += part;
                    }
                }
            }
            // mean_i = mean_{i−1} + (u_i − mean_{i−1}) / (i + 1)
            Table::Uniform(total) => {
                for m in 0..size {
                    let before = values[m..].iter().step_by(size).take(rows.start);
                    let mut mean = before.fold(Lane::ZERO, |sum, &value| sum + value);
                    mean = mean * (1.0 / rows.start.max(1) as f32);
                    for i in rows.clone() {
                        let share = Lane::splat(1.0 / (i + 1) as f32);
                        mean = (values[i * size + m] - mean).times_plus::<FUSED>(share, mean);
                        out[i * size + m] += mean * total;
                    }
                }
            }
            Table::Lanes { weights, stride } => {
                for i in rows {
                    let out = &mut out[i * size..][..size];
                    let pairs = weights[i * stride..][..=i].iter();
                    for (weight, value) in pairs.zip(values.chunks_exact(size)) {
                        for m in 0..size {
                            out[m] = weight.times_plus::<FUSED>(value[m], out[m]);
                        }
                    }
                }
            }
        }
    }
);

leveled!(
    /// out_i = Σ_j p_ij u_j  ⟹  du_j += p_ij dout_i, for some rows.
    pub fn backward<const FUSED: bool>(
        table: Table,
        rows: Range<usize>,
        size: usize,
        d_out: &[Lane],
        d_values: &mut [Lane],
    ) {
        match table {
            Table::Lag(lag) => {
                for i in rows {
                    let d_value = &mut d_values[i.saturating_sub(lag) * size..][..size];
                    for (sum, &part) in d_value.iter_mut().zip(&d_out[i * size..][..size]) {
                        *sum += part;
                    }
                }
            }
            // du_j += Σ_{i ≥ j} dout_i / (i + 1)
            Table::Uniform(total) => {
                for m in 0..size {
                    let mut sum = Lane::ZERO;
                    for j in (0..rows.end).rev() {
                        if j >= rows.start {
                            let share = Lane::splat(total / (j + 1) as f32);
                            sum = d_out[j * size + m].times_plus::<FUSED>(share, sum);
                        }
                        d_values[j * size + m] += sum;
                    }
                }
            }
            Table::Lanes { weights, stride } => {
                for i in rows {
                    let d_out = &d_out[i * size..][..size];
                    let pairs = weights[i * stride..][..=i].iter();
                    for (weight, d_value) in pairs.zip(d_values.chunks_exact_mut(size)) {
                        for m in 0..size {
                            d_value[m] = weight.times_plus::<FUSED>(d_out[m], d_value[m]);
                        }
                    }
                }
            }
        }
    }
);

leveled!(
    /// Fills the weights ([t, t]) of a target that reads symbols, for the first `inputs.len()` rows.
    pub fn fill<const FUSED: bool>(
        target: Target,
        inputs: &[[u8; LANES]],
        stride: usize,
        weights: &mut [Lane],
    ) {
        // Positions j with the current symbol at j − ahead.
        let ahead = usize::from(target == Target::Induction);
        let number = |row: &[u8; LANES]| Lane(row.map(f32::from));
        let one = Lane::splat(1.0);
        for i in 0..inputs.len() {
            let (row, current) = (&mut weights[i * stride..][..=i], number(&inputs[i]));
            row[..ahead.min(i + 1)].fill(Lane::ZERO);
            let mut count = Lane::ZERO;
            for j in ahead..=i {
                // One for equal symbols, and zero for others, which differ by at least one.
                let apart = number(&inputs[j - ahead]) - current;
                row[j] = (one - apart * apart).max(Lane::ZERO);
                count += row[j];
            }
            let share = count.max(one).inverse();
            // Where there is none, all positions.
            let otherwise = (one - count).max(Lane::ZERO) * (1.0 / (i + 1) as f32);
            for weight in row {
                *weight = weight.times_plus::<FUSED>(share, otherwise);
            }
        }
    }
);

/// Shows every row of a given pattern to `probe`. Its scores are the logarithms of its weights.
pub fn show(
    level: Level,
    table: Table,
    rows: usize,
    (layer, head): (usize, usize),
    probe: AttnProbe,
) {
    // What a pattern gives for values that are one at one position and zero at all others is the pattern.
    let mut unit = vec![Lane::ZERO; rows * rows];
    for j in 0..rows {
        unit[j * rows + j] = Lane::splat(1.0);
    }
    let mut pattern = vec![Lane::ZERO; rows * rows];
    forward(level, table, 0..rows, rows, &unit, &mut pattern);
    for i in 0..rows {
        let attn_pattern = &pattern[i * rows..][..=i];
        let attn_scores: Vec<Lane> = attn_pattern.iter().map(|p| p.map(libm::logf)).collect();
        probe(AttnRow {
            layer,
            head,
            position: i,
            attn_scores: &attn_scores,
            attn_pattern,
        });
    }
}
