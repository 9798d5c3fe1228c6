//! How the second layer matches symbols.

use super::{ANY, BuiltIn, Reading};
use crate::model::{Kind, Matrix, Model, circuits};

measures! {
    MATCHING_GAP: "matching_gap" in "", ANY,
        "the second layer's score for an equal symbol minus that for another one, best pair of heads; for \
         the minimal model, of W_k",
        Run(|seen| seen.matching().map(|matching| matching.gap));

    DIAGONAL_DOMINANCE: "diagonal_dominance" in "", [-1.0, 1.0],
        "(D − O) / (|D| + |O|) with D and O the mean scores for an equal and for another symbol; empty \
         while a transformer's scores are below 0.001, too small to attract anything",
        Run(|seen| seen.matching().and_then(|matching| matching.dominance));
}

/// How the second layer matches symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matching {
    /// Mean score on the diagonal minus mean score off it: how much more an equal symbol attracts attention.
    pub gap: f64,
    /// (D − O) / (|D| + |O|) of those two means; none where both are too small to be meaningful.
    pub dominance: Option<f64>,
}

/// Means on and off the diagonal of a square matrix.
pub(super) fn diagonal_means(matrix: &Matrix) -> (f64, f64) {
    let k = matrix.rows;
    let trace: f64 = (0..k).map(|i| matrix[(i, i)]).sum();
    let total: f64 = matrix.data.iter().sum();
    (trace / k as f64, (total - trace) / (k * (k - 1)) as f64)
}

/// How diagonal a square matrix is, whatever its size: (D − O) / (|D| + |O|), with D and O the means on and
/// off the diagonal. It lies between −1 and 1, and is 0 for a constant matrix.
pub fn diagonal_dominance(matrix: &Matrix) -> f64 {
    let (on, off) = diagonal_means(matrix);
    let size = on.abs() + off.abs();
    if size > 0.0 { (on - off) / size } else { 0.0 }
}

/// Mean size of a transformer's scores below which their distribution is meaningless: a softmax turns a
/// difference of 0.001 into a difference of a thousandth in attention.
const SMALLEST_SCORES: f64 = 1e-3;

/// The second layer's matching, for the pair of heads with the largest gap. None where no fixed matrix
/// describes it (see [`circuits::matching_scores`]).
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
