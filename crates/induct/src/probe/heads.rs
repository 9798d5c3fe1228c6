//! What attention heads do, read from patterns that the real forward recorded.

use rayon::prelude::*;

use super::test_set::TestSet;
use crate::lanes::{LANES, Lane, Level, leveled};
use crate::measure::{HeadMeasure, HeadObserved, Matching, Target};
use crate::model::circuits;
use crate::model::engine::Forwarded;
use crate::model::ops::attention::AttnRow;
use crate::model::{InputError, Kind, Matrix, Model};

/// Measures of every head of a transformer on a test set, by layer and head, over the current thread pool. Empty for the minimal
/// model and for t = 1. `ngram` is the task's n.
///
/// # Errors
///
/// If there are not as many parameters as the model has.
pub fn head_measures(
    model: &Model,
    params: &[f32],
    set: &TestSet,
    measures: &[HeadMeasure],
    ngram: usize,
) -> Result<Vec<Vec<HeadObserved>>, InputError> {
    let evaluator = model.evaluator(params)?;
    let sums: Vec<HeadSums> = set
        .blocks()
        .par_iter()
        .map(|block| {
            let inputs = &block.rows()[..model.length().min(block.rows().len())];
            let mut sums = None;
            evaluator.forward(inputs, 0, &mut |seen| {
                let used = block.used();
                sums = Some(HeadSums::of_block(
                    model, inputs, used, &seen, measures, ngram,
                ));
            });
            sums.expect("a forward is seen")
        })
        .collect();
    Ok(means(model, &sums, measures))
}

/// The mean over all blocks of what was summed on each.
pub(super) fn means(
    model: &Model,
    blocks: &[HeadSums],
    measures: &[HeadMeasure],
) -> Vec<Vec<HeadObserved>> {
    let Kind::Transformer(shape) = model.kind() else {
        return Vec::new();
    };
    if model.length() < 2 || measures.is_empty() {
        return Vec::new();
    }
    let rows = |m: usize| blocks.iter().map(|block| block.rows[m]).sum::<f64>();
    let rows: Vec<f64> = (0..measures.len()).map(rows).collect();
    let head = |l: usize, h: usize| {
        let mean = |(m, measure): (usize, &HeadMeasure)| {
            let sum: f64 = blocks.iter().map(|block| block.sums[l][h][m]).sum();
            (*measure, sum / rows[m].max(1.0))
        };
        let values = measures.iter().enumerate().map(mean).collect();
        HeadObserved { values }
    };
    let layer = |l: usize| (0..shape.heads(l)).map(|h| head(l, h)).collect();
    (0..shape.layer_count()).map(layer).collect()
}

/// What is measured on the heads, summed over the rows and sequences of one block.
pub(super) struct HeadSums {
    /// [layer][head][measure]
    sums: Vec<Vec<Vec<f64>>>,
    /// Rows that have anything to look at, `[measure]`.
    rows: Vec<f64>,
}

impl HeadSums {
    /// Looks at the first `used` sequences of a block whose forward was just done.
    pub fn of_block(
        model: &Model,
        inputs: &[[u8; LANES]],
        used: usize,
        seen: &Forwarded,
        measures: &[HeadMeasure],
        ngram: usize,
    ) -> Self {
        let heads = match model.kind() {
            Kind::Transformer(shape) => (0..shape.layer_count()).map(|l| shape.heads(l)).collect(),
            Kind::Minimal(_) => Vec::new(),
        };
        let empty = |heads: &usize| vec![vec![0.0; measures.len()]; *heads];
        let rows = |measure: &HeadMeasure| match measure {
            HeadMeasure::Mass(target) => rows_with_target(*target, inputs, used, ngram) as f64,
            HeadMeasure::Entropy => (used * inputs.len().saturating_sub(1)) as f64,
        };
        let mut own = Self {
            sums: heads.iter().map(empty).collect(),
            rows: measures.iter().map(rows).collect(),
        };
        let level = model.level();
        let symbols = as_numbers(inputs);
        let mut look = |row: AttnRow| {
            let i = row.position;
            if i == 0 {
                return;
            }
            let pattern = &row.attn_pattern[..=i];
            for (m, measure) in measures.iter().enumerate() {
                let value = match measure {
                    HeadMeasure::Mass(target) => mass_on(level, *target, &symbols, pattern, ngram),
                    HeadMeasure::Entropy => entropy(pattern),
                };
                for lane in 0..used {
                    own.sums[row.layer][row.head][m] += f64::from(value[lane]);
                }
            }
        };
        seen.attention(&mut look);
        own
    }
}

/// Symbols as numbers: compared with one another, eight at a time, like everything else. `[t]`
fn as_numbers(inputs: &[[u8; LANES]]) -> Vec<Lane> {
    let row = |symbols: &[u8; LANES]| Lane(symbols.map(f32::from));
    inputs.iter().map(row).collect()
}

/// Attention of a row on the positions of a target pattern, by lane. The row is that of the last position of `pattern`.
fn mass_on(
    level: Level,
    target: Target,
    symbols: &[Lane],
    pattern: &[Lane],
    ngram: usize,
) -> [f32; LANES] {
    let i = pattern.len() - 1;
    match target {
        Target::PreviousToken => pattern[i - 1].0,
        Target::Induction => mass_where_equal(level, &symbols[..i], symbols[i], &pattern[1..]).0,
        Target::SameToken => mass_where_equal(level, &symbols[..=i], symbols[i], pattern).0,
        Target::NgramMatch => mass_after_context(symbols, pattern, ngram - 1),
    }
}

/// How many positions after the first have anything to attend to, in the first `used` sequences.
fn rows_with_target(target: Target, inputs: &[[u8; LANES]], used: usize, ngram: usize) -> usize {
    let after_first = inputs.len().saturating_sub(1);
    let context = match target {
        Target::PreviousToken | Target::SameToken => return used * after_first,
        Target::Induction => 1,
        Target::NgramMatch => ngram - 1,
    };
    let in_lane = |lane: usize| {
        let symbols: Vec<u8> = inputs.iter().map(|row| row[lane]).collect();
        let mut seen = std::collections::HashSet::new();
        let mut ends = symbols.windows(context).zip(context - 1..);
        // The context that ends at a position has something to look at if it has come before.
        ends.by_ref()
            .filter(|(window, i)| !seen.insert(*window) && *i > 0)
            .count()
    };
    (0..used).map(in_lane).sum()
}

leveled!(
    /// The weights of those rows whose symbol equals `symbol`, summed by lane. Shapes: `[rows]` both.
    fn mass_where_equal<const FUSED: bool>(
        symbols: &[Lane],
        symbol: Lane,
        weights: &[Lane],
    ) -> Lane {
        let (mut mass, one) = (Lane::ZERO, Lane::splat(1.0));
        for (&other, &weight) in symbols.iter().zip(weights) {
            // One for equal symbols, zero for others, which differ by at least one.
            let apart = other - symbol;
            let equal = (one - apart * apart).max(Lane::ZERO);
            mass += equal * weight;
        }
        mass
    }
);

/// The same for positions whose `context` predecessors equal the last `context` symbols. A context that reaches beyond the first symbol
/// has no match.
fn mass_after_context(symbols: &[Lane], pattern: &[Lane], context: usize) -> [f32; LANES] {
    let i = pattern.len() - 1;
    let mut mass = [0.0_f32; LANES];
    let first = if i + 1 < context { i + 1 } else { context };
    for j in first..=i {
        for lane in 0..LANES {
            let same = |back: usize| symbols[j - 1 - back].0[lane] == symbols[i - back].0[lane];
            if (0..context).all(same) {
                mass[lane] += pattern[j].0[lane];
            }
        }
    }
    mass
}

/// Entropy of a row of attention, in nats.
fn entropy(pattern: &[Lane]) -> [f32; LANES] {
    let mut sum = [0.0_f32; LANES];
    for weight in pattern {
        for lane in 0..LANES {
            let p = weight.0[lane];
            sum[lane] -= if p > 0.0 { p * libm::logf(p) } else { 0.0 };
        }
    }
    sum
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

/// Mean size of a transformer's scores below which it says nothing how they are distributed: a softmax turns a difference of 0.001
/// into a difference of a thousandth in attention.
const SMALLEST_SCORES: f64 = 1e-3;

/// The second layer's matching, of the pair of heads with the largest gap. None where no fixed matrix says it
/// (see [`circuits::matching_scores`]).
pub fn matching(model: &Model, params: &[f32]) -> Option<Matching> {
    let pairs = circuits::matching_scores(model, params)?;
    let measured = pairs.iter().map(|matrix| {
        let (on, off) = diagonal_means(matrix);
        let tells =
            matches!(model.kind(), Kind::Minimal(_)) || on.abs() + off.abs() >= SMALLEST_SCORES;
        Matching {
            gap: on - off,
            dominance: tells.then(|| diagonal_dominance(matrix)),
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
