//! What attention heads do, read from patterns that the real forward recorded.

use rayon::prelude::*;

use crate::chain::{LANES, TokenBlock};
use crate::model::circuits;
use crate::model::{AttnRow, Kind, Matrix, Model, Prepared, Work};

/// Scores of the heads that make an induction circuit, each of the best head in its layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadScores {
    /// Layer 1: mean mass on the previous position.
    pub previous_token: f64,
    /// Layer 2: mean mass on positions whose predecessor equals the current symbol, over positions that have
    /// such a one. None for one layer.
    pub induction: Option<f64>,
}

/// Measures the heads of a transformer on some blocks, over the current thread pool. None for the minimal model and for
/// t = 1.
pub fn head_scores(
    model: &Model,
    prepared: &Prepared,
    blocks: &[TokenBlock],
) -> Option<HeadScores> {
    let masses: Vec<Vec<Masses>> = blocks
        .par_iter()
        .map(|block| {
            let mut work = model.work();
            model.forward(prepared, &block.rows()[..model.length()], &mut work);
            masses(model, prepared, block, &work)
        })
        .collect();
    scores_of_masses(model, &masses)
}

/// The scores of heads, given their masses on every block.
pub(super) fn scores_of_masses(model: &Model, masses: &[Vec<Masses>]) -> Option<HeadScores> {
    let Kind::Transformer(shape) = model.kind() else {
        return None;
    };
    if model.length() < 2 {
        return None;
    }
    // The best head of a layer, over all blocks.
    let best = |l: usize| {
        let rows: f64 = masses.iter().map(|by_layer| by_layer[l].rows).sum();
        let of_head = |h: usize| masses.iter().map(|by_layer| by_layer[l].on_target[h]).sum();
        let most = (0..shape.heads(l)).map(of_head).fold(0.0, f64::max);
        most / rows.max(1.0)
    };
    Some(HeadScores {
        previous_token: best(0),
        induction: (shape.layer_count() > 1).then(|| best(1)),
    })
}

/// Attention of one layer on what its heads are expected to look at.
pub(super) struct Masses {
    /// Summed over rows and sequences, one a head.
    on_target: Vec<f64>,
    /// Rows that have anything to look at.
    rows: f64,
}

/// The masses of the first two layers on one block, whose forward has just been done in `work`.
pub(super) fn masses(
    model: &Model,
    prepared: &Prepared,
    block: &TokenBlock,
    work: &Work,
) -> Vec<Masses> {
    let Kind::Transformer(shape) = model.kind() else {
        return Vec::new();
    };
    let layers = shape.layer_count().min(2);
    let mut masses: Vec<Masses> = (0..layers)
        .map(|l| Masses {
            on_target: vec![0.0; shape.heads(l)],
            rows: 0.0,
        })
        .collect();
    let inputs = &block.rows()[..model.length()];
    let mut look = |row: AttnRow| {
        let i = row.position;
        if row.layer >= layers || i == 0 {
            return;
        }
        // Layer 1: the previous position. Layer 2: positions whose predecessor equals the current symbol.
        let (mut mass, mut targets) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        if row.layer == 0 {
            (mass, targets) = (row.attn_pattern[i - 1].0, [1.0; LANES]);
        } else {
            for (before, pattern) in inputs.iter().zip(&row.attn_pattern[1..]) {
                for lane in 0..LANES {
                    let hit = f32::from(u8::from(before[lane] == inputs[i][lane]));
                    mass[lane] += hit * pattern.0[lane];
                    targets[lane] += hit;
                }
            }
        }
        let own = &mut masses[row.layer];
        for lane in 0..block.used() {
            own.on_target[row.head] += f64::from(mass[lane]);
            if row.head == 0 && targets[lane] > 0.0 {
                own.rows += 1.0;
            }
        }
    };
    model.show_attention(prepared, inputs, work, &mut look);
    masses
}

/// The first layer's positional profile: how position alone spreads attention over lags, `[t]`, averaged over
/// symbols and heads. For the minimal model its weights v as they are.
///
/// The transformer's is softmax over lags of the positional part of the score, as the layer computes it
/// (√d_head included). None without relative positions.
pub fn positional_profile(model: &Model, params: &[f32]) -> Option<Vec<f64>> {
    if let Kind::Minimal(_) = model.kind() {
        let v = &model.layout().tensor("v")?.range;
        return Some(params[v.clone()].iter().map(|&w| w.into()).collect());
    }
    let heads = circuits::positional_scores(model, params)?;
    let mut profile = vec![0.0; model.length()];
    let share = 1.0 / (heads.len() * model.states()) as f64;
    for scores in &heads {
        for symbol in 0..scores.rows {
            let row = scores.row(symbol);
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = row.iter().map(|s| libm::exp(s - largest)).sum();
            for (weight, s) in profile.iter_mut().zip(row) {
                *weight += share * libm::exp(s - largest) / sum;
            }
        }
    }
    Some(profile)
}

/// Lags whose weight is compared with that of their neighbours. Lag 1, which the solution needs, is left out.
const ODD_LAGS: [usize; 4] = [3, 5, 7, 9];

/// How far odd lags stand out: the mean over lags 3, 5, 7, 9 of weight minus the mean of the two even
/// neighbours, in units of the mean size of the weights at lags 2 … 10. A straight line scores 0.
///
/// None if the profile is shorter than eleven lags or flat zero.
pub fn odd_even_score(profile: &[f64]) -> Option<f64> {
    let window = profile.get(2..11)?;
    let size = window.iter().map(|w| w.abs()).sum::<f64>() / window.len() as f64;
    let above = ODD_LAGS.map(|lag| profile[lag] - 0.5 * (profile[lag - 1] + profile[lag + 1]));
    (size > 0.0).then(|| above.iter().sum::<f64>() / ODD_LAGS.len() as f64 / size)
}

/// Means on and off the diagonal of a square matrix.
fn diagonal_means(matrix: &Matrix) -> (f64, f64) {
    let k = matrix.rows;
    let trace: f64 = (0..k).map(|i| matrix[(i, i)]).sum();
    let total: f64 = matrix.data.iter().sum();
    (trace / k as f64, (total - trace) / (k * (k - 1)) as f64)
}

/// How diagonal a square matrix is, whatever its size: (D − O) / (|D| + |O|), with D and O the means on and off
/// the diagonal; between −1 and 1, 0 for a constant matrix.
pub fn diagonal_dominance(matrix: &Matrix) -> f64 {
    let (on, off) = diagonal_means(matrix);
    let size = on.abs() + off.abs();
    if size > 0.0 { (on - off) / size } else { 0.0 }
}

/// How the second layer matches symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matching {
    /// Mean score on the diagonal minus mean score off it: how much more an equal symbol attracts.
    pub gap: f64,
    /// [`diagonal_dominance`].
    pub dominance: f64,
}

/// The second layer's matching, of the pair of heads with the largest gap. None where no fixed matrix says it
/// (see [`circuits::matching_scores`]).
pub fn matching(model: &Model, params: &[f32]) -> Option<Matching> {
    let pairs = circuits::matching_scores(model, params)?;
    let measured = pairs.iter().map(|matrix| {
        let (on, off) = diagonal_means(matrix);
        Matching {
            gap: on - off,
            dominance: diagonal_dominance(matrix),
        }
    });
    measured.max_by(|a, b| a.gap.total_cmp(&b.gap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_even_is_zero_on_a_line_and_signed_otherwise() {
        let line: Vec<f64> = (0..20).map(|lag| 5.0 - 0.1 * f64::from(lag)).collect();
        assert!(odd_even_score(&line).unwrap().abs() < 1e-12);
        let wave = |odd: f64| -> Vec<f64> {
            (0..20)
                .map(|lag| if lag % 2 == 1 { odd } else { 1.0 })
                .collect()
        };
        assert!(odd_even_score(&wave(2.0)).unwrap() > 0.5);
        assert!(odd_even_score(&wave(0.5)).unwrap() < -0.3);
        assert_eq!(odd_even_score(&line[..10]), None);
    }

    #[test]
    fn diagonal_dominance_knows_its_extremes() {
        let matrix =
            |on: f64, off: f64| Matrix::from_fn(3, 3, |i, j| if i == j { on } else { off });
        assert_eq!(diagonal_dominance(&matrix(2.0, 0.0)), 1.0);
        assert_eq!(diagonal_dominance(&matrix(0.0, 2.0)), -1.0);
        assert_eq!(diagonal_dominance(&matrix(1.0, 1.0)), 0.0);
        assert_eq!(diagonal_dominance(&matrix(0.0, 0.0)), 0.0);
        assert_eq!(diagonal_dominance(&matrix(4.0, 1.0)), 0.6);
    }
}
