//! How position alone distributes the first layer's attention.

use super::{ANY, BuiltIn, Reading};
use crate::model::{Kind, Model, circuits};

measures! {
    POSITIONAL_PROFILE: "positional_profile" in "", ANY,
        "weight that position alone gives to each lag (0 is the current position) in the first layer, \
         averaged over symbols and heads; the minimal model's v",
        Lag(|seen| seen.positional_profile().unwrap_or_default());

    ODD_EVEN: "odd_even" in "", ANY,
        "how far lags 3, 5, 7, 9 stand above their even neighbours in the positional profile, in units of \
         the mean weight at lags 2 to 10",
        Run(|seen| seen.positional_profile().and_then(odd_even_score));
}

/// The first layer's positional profile: how position alone distributes attention over lags, `[t]`, averaged
/// over symbols and heads. For the minimal model, its weights v as they are.
///
/// For a transformer, it is the softmax over lags of the positional part of the score, as the layer computes
/// it (√d_head included). None without relative positions.
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
/// None if the profile has fewer than eleven lags or is zero everywhere.
pub fn odd_even_score(profile: &[f64]) -> Option<f64> {
    let window = profile.get(2..11)?;
    let size = window.iter().map(|w| w.abs()).sum::<f64>() / window.len() as f64;
    let above = ODD_LAGS.map(|lag| profile[lag] - 0.5 * (profile[lag - 1] + profile[lag + 1]));
    (size > 0.0).then(|| above.iter().sum::<f64>() / ODD_LAGS.len() as f64 / size)
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
}
