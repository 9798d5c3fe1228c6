//! How often a minimal model ranks the two possible next symbols as the chain does.

use induct::chain::TaskPrior;
use induct::model::{MinimalSpec, Model, ModelSpec};
use induct::probe::{Estimate, Moments};
use induct::theory::Weights;

use super::truth::drawn;

/// Shares of sequences for which the more probable next symbol is ranked first; a tie counts as one half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decisions {
    /// By the minimal model.
    pub model: Estimate,
    /// By the same weights on the same sequences, with logits computed from their definition in f64.
    pub by_sum: f64,
    /// By counting the transitions from the last symbol.
    pub bigrams: Estimate,
    /// By counting symbols.
    pub unigrams: Estimate,
}

/// Evaluates the weights of a two-state model on `sequences` sequences of t symbols from `prior`.
pub fn decisions(prior: &TaskPrior, weights: &Weights, sequences: usize, seed: u64) -> Decisions {
    let t = weights.length();
    let spec = ModelSpec::Minimal(MinimalSpec::default());
    let model = Model::new(&spec, 2, t).expect("a minimal model");
    // Scaling a layer does not change decisions, and keeps weights away from the smallest numbers of f32.
    let (w_k, v) = (scaled(&weights.w_k), scaled(&weights.v));
    let params: Vec<f32> = w_k.iter().chain(&v).map(|&w| w as f32).collect();
    let evaluator = model.evaluator(&params).expect("its own weights");
    let mut shares = [Moments::default(); 4];
    let drawn = drawn(prior, seed, t, sequences);
    let tokens: Vec<&[u8]> = drawn.iter().map(|(x, _)| x.as_slice()).collect();
    let logits = evaluator.last_logits(&tokens);
    let logits = logits.expect("sequences fit the model");
    for (index, (x, next)) in drawn.iter().enumerate() {
        let [zero, one] = [0, 1].map(|i| f64::from(logits[[index, i]]));
        let leanings = [one - zero, by_sum(&w_k, &v, x), by_pairs(x), by_symbols(x)];
        for (share, leaning) in shares.iter_mut().zip(leanings) {
            share.push(agreement(leaning, next[1] - next[0]));
        }
    }
    let [model, by_sum, bigrams, unigrams] = shares.map(|share| share.estimate());
    Decisions {
        model,
        by_sum: by_sum.mean,
        bigrams,
        unigrams,
    }
}

/// One if both have the same sign, one half if either is zero, else zero.
fn agreement(leaning: f64, wanted: f64) -> f64 {
    match leaning * wanted {
        0.0 => 0.5,
        product if product > 0.0 => 1.0,
        _ => 0.0,
    }
}

fn scaled(values: &[f64]) -> Vec<f64> {
    let largest = values
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    values.iter().map(|value| value / scale).collect()
}

/// f_1 − f_0 at the last position.
fn by_sum(w_k: &[f64], v: &[f64], x: &[u8]) -> f64 {
    let row = &w_k[2 * x[x.len() - 1] as usize..][..2];
    let mut difference = 0.0;
    for (q, &symbol) in x.iter().enumerate() {
        let weights = x[..=q].iter().rev().zip(v);
        let sum: f64 = weights.map(|(&found, v)| v * row[found as usize]).sum();
        difference += if symbol == 1 { sum } else { -sum };
    }
    difference
}

/// How much more often symbol 1 followed the last symbol than symbol 0 did.
fn by_pairs(x: &[u8]) -> f64 {
    let last = x[x.len() - 1];
    let pairs = x.windows(2).filter(|pair| pair[0] == last);
    pairs
        .map(|pair| if pair[1] == 1 { 1.0 } else { -1.0 })
        .sum()
}

/// How much more often symbol 1 occurred than symbol 0.
fn by_symbols(x: &[u8]) -> f64 {
    x.iter()
        .map(|&symbol| if symbol == 1 { 1.0 } else { -1.0 })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use induct::chain::PriorSpec;
    use induct::chain::prior::Symmetric;
    use induct::internal::gauss_legendre;

    #[test]
    fn sampled_decisions_agree_with_all_sequences() {
        let (t, epsilon) = (8, 0.3);
        let weights = Weights {
            w_k: vec![1.0, 0.2, 0.1, 0.8],
            v: vec![0.3, 1.0, -0.1, 0.2, 0.05, 0.0, 0.1, -0.2],
        };
        // Every sequence, with one rule for a = b on each side of ½, where the correct answer changes.
        let mut exact = 0.0;
        for bits in 0..1_usize << t {
            let x: Vec<usize> = (0..t).map(|place| bits >> place & 1).collect();
            let mut f = [0.0; 2];
            for q in 0..t {
                for s in 0..=q {
                    f[x[q]] += weights.v[q - s] * weights.w_k[2 * x[t - 1] + x[s]];
                }
            }
            let leaning = if x[t - 1] == 1 {
                f[1] - f[0]
            } else {
                f[0] - f[1]
            };
            for (low, high) in [(0.5 - epsilon, 0.5), (0.5, 0.5 + epsilon)] {
                for (a, width) in gauss_legendre(8, low, high) {
                    let steps = x
                        .windows(2)
                        .map(|pair| if pair[0] == pair[1] { a } else { 1.0 - a });
                    let right = (leaning > 0.0) == (a > 0.5);
                    exact +=
                        width / (2.0 * epsilon) * 0.5 * steps.product::<f64>() * f64::from(right);
                }
            }
        }
        let prior = TaskPrior::new(&PriorSpec::from(Symmetric { epsilon }), 2, 2).unwrap();
        let drawn = decisions(&prior, &weights, 20_000, 3);
        assert!(
            (drawn.model.mean - exact).abs() < 4.0 * drawn.model.se,
            "{drawn:?} {exact}"
        );
        assert!((drawn.model.mean - drawn.by_sum).abs() < 1e-3);
    }
}
