//! Bayes for a mixture of priors: a mixture of their Bayes predictors.
//!
//! A component's weight is its prior weight times the probability it has given to the symbols so far, which
//! is a product of its own predictions. So every component keeps its own best method.

use std::ops::Range;

use super::bayes::Bayes;
use super::{Scratch, Strategy, fewer, normalize};
use crate::Invalid;
use crate::chain::{Law, Start, StationarySolver, TaskPrior, weighted};

/// The predictor; see the top of this file.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    states: usize,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    bayes: Bayes,
    weight: f64,
    /// ln(weight · P(x₀)) for every first symbol, `[k]`.
    ln_start: Vec<f64>,
}

impl Mixture {
    /// Components with their prior weights, at least one, for sequences that start in the same way.
    pub fn new<'a>(
        states: usize,
        start: Start,
        parts: impl Iterator<Item = (f64, &'a TaskPrior)>,
    ) -> Result<Self, Invalid> {
        let mut scratch = Scratch::default();
        let part = |(weight, prior): (f64, &TaskPrior)| {
            let bayes = Bayes::new(&prior.clone().starting(start))?;
            let first = match start {
                Start::Stationary {} => first_symbol_law(prior, &bayes, &mut scratch)?,
                Start::Uniform {} => vec![1.0 / states as f64; states],
            };
            let ln_start = first.iter().map(|p| libm::log(weight * p)).collect();
            Ok(Part {
                bayes,
                weight,
                ln_start,
            })
        };
        Ok(Self {
            states,
            parts: parts.map(part).collect::<Result<_, Invalid>>()?,
        })
    }

    pub fn is_exact(&self) -> bool {
        self.parts.iter().all(|part| part.bayes.is_exact())
    }

    /// Writes the distributions at `positions` into `out` ([positions, k]).
    ///
    /// If all components rule out what was seen, they count by their prior weights. The effective sample size
    /// is the smallest of the components', however small their weight.
    pub fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let (states, size) = (self.states, positions.end * self.states);
        // Taken out, so that a nested mixture gets a buffer of its own. [parts, positions.end, k]
        let mut rows = std::mem::take(&mut scratch.of::<OfParts>().0);
        rows.resize(self.parts.len() * size, 0.0);
        let mut effective = None;
        for (part, rows) in self.parts.iter().zip(rows.chunks_exact_mut(size)) {
            effective = fewer(
                effective,
                part.bayes.predict(tokens, 0..positions.end, scratch, rows),
            );
        }
        let first = tokens[0] as usize;
        let mut ln_weights: Vec<f64> = self.parts.iter().map(|part| part.ln_start[first]).collect();
        for position in 0..positions.end {
            if position > 0 {
                let given = (position - 1) * states + tokens[position] as usize;
                for (ln_weight, rows) in ln_weights.iter_mut().zip(rows.chunks_exact(size)) {
                    *ln_weight += libm::log(rows[given]);
                }
            }
            if position >= positions.start {
                let out = &mut out[(position - positions.start) * states..][..states];
                out.fill(0.0);
                for (weight, rows) in self.weights(&ln_weights).zip(rows.chunks_exact(size)) {
                    for (p, of_part) in out.iter_mut().zip(&rows[position * states..]) {
                        *p += weight * of_part;
                    }
                }
                normalize(out);
            }
        }
        scratch.of::<OfParts>().0 = rows;
        effective
    }

    /// Weights of the components, up to a common factor.
    fn weights(&self, ln_weights: &[f64]) -> impl Iterator<Item = f64> {
        let largest = ln_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.parts.iter().zip(ln_weights).map(move |(part, ln)| {
            if largest > f64::NEG_INFINITY {
                libm::exp(ln - largest)
            } else {
                part.weight
            }
        })
    }
}

/// Scratch buffer: predictions of the components, [parts, positions, k].
#[derive(Debug, Default)]
struct OfParts(Vec<f64>);

/// The law of the first symbol under a prior, from the stationary law. For a pool, it is the mean over its chains. Otherwise,
/// because sequences are stationary, the second symbol has the same law: it is the one that the predictions
/// after one symbol leave invariant.
fn first_symbol_law(
    prior: &TaskPrior,
    bayes: &Bayes,
    scratch: &mut Scratch,
) -> Result<Vec<f64>, Invalid> {
    let states = prior.states();
    let symbols = 0..states as u8;
    match prior.law() {
        Law::Pool(tables, weights) => {
            let mean = |symbol| {
                let starts = tables
                    .iter()
                    .map(|table| table.start_probability(&[symbol]));
                match weights {
                    None => starts.sum::<f64>() / tables.len() as f64,
                    Some(weights) => starts.zip(weights).map(|(p, weight)| weight * p).sum(),
                }
            };
            return Ok(symbols.map(mean).collect());
        }
        Law::Mixture(parts) => {
            let mut law = vec![0.0; states];
            for (weight, part) in weighted(parts) {
                let own = first_symbol_law(part, &Bayes::new(part)?, scratch)?;
                law.iter_mut()
                    .zip(own)
                    .for_each(|(sum, p)| *sum += weight * p);
            }
            return Ok(law);
        }
        _ => {}
    }
    let mut after = vec![0.0; states * states];
    for (symbol, row) in symbols.zip(after.chunks_exact_mut(states)) {
        bayes.predict(&[symbol], 0..1, scratch, row);
    }
    let mut law = vec![0.0; states];
    if StationarySolver::default()
        .solve(&after, states, &mut law)
        .is_err()
    {
        // Every prior but a pool mixes all symbols; should rounding hide that, they count equally.
        law.fill(1.0 / states as f64);
    }
    Ok(law)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::TransitionTable;
    use crate::chain::prior::checks::prior;

    #[test]
    fn the_first_symbol_has_the_mean_of_the_stationary_law() {
        // α = (1, 2), so p = P(0→1) has density 2p and q = P(1→0) has density 2(1−q):
        // E[q/(p+q)] on a grid of midpoints.
        let cells = 2000;
        let middle = |index: usize| (index as f64 + 0.5) / cells as f64;
        let mut expected = 0.0;
        for (p, q) in (0..cells).flat_map(|i| (0..cells).map(move |j| (middle(i), middle(j)))) {
            expected += 2.0 * p * 2.0 * (1.0 - q) * q / (p + q);
        }
        expected /= (cells * cells) as f64;
        let prior = prior("'dirichlet', alpha = [1.0, 2.0]", 2, 2);
        let law = first_symbol_law(
            &prior,
            &Bayes::new(&prior).unwrap(),
            &mut Scratch::default(),
        )
        .unwrap();
        assert!((law[0] - expected).abs() < 1e-6, "{law:?} {expected}");
    }

    #[test]
    fn symbols_that_never_meet_keep_their_shares() {
        // Three of four chains say 0 forever, one says 1 forever; beside them, fair coins.
        let fixed = |weight: f64, table: &str| {
            format!("{{ weight = {weight:?}, prior = {{ kind = 'fixed', table = {table} }} }}")
        };
        let (zeros, ones) = (
            fixed(3.0, "[[1, 0], [1, 0]]"),
            fixed(1.0, "[[0, 1], [0, 1]]"),
        );
        let constant = format!("{{ kind = 'mixture', parts = [{zeros}, {ones}] }}");
        let coins = fixed(1.0, "[[0.5, 0.5], [0.5, 0.5]]");
        let parts = format!("[{{ weight = 1, prior = {constant} }}, {coins}]");
        let bayes = Bayes::new(&prior(&format!("'mixture', parts = {parts}"), 2, 2)).unwrap();
        for (symbol, expected) in [(0, 0.8), (1, 2.0 / 3.0)] {
            let mut row = [0.0; 2];
            bayes.predict(&[symbol], 0..1, &mut Scratch::default(), &mut row);
            assert!((row[symbol as usize] - expected).abs() < 1e-14, "{row:?}");
        }
    }

    #[test]
    fn a_mixture_of_pools_is_the_pool_of_both() {
        let stays = [0.2, 0.9];
        let tables = stays.map(|stay| {
            let rows = [vec![stay, 1.0 - stay], vec![0.4, 0.6]];
            TransitionTable::from_rows(2, 2, &rows).unwrap()
        });
        let part = |weight: f64, table: &TransitionTable| {
            let rows: Vec<&[f64]> = table.rows().collect();
            format!("{{ weight = {weight:?}, prior = {{ kind = 'fixed', table = {rows:?} }} }}")
        };
        let parts = [part(3.0, &tables[0]), part(1.0, &tables[1])].join(", ");
        let prior = prior(&format!("'mixture', parts = [{parts}]"), 2, 2);
        let evidence = |tokens: &[u8]| {
            3.0 * tables[0].log_likelihood(tokens).exp() + tables[1].log_likelihood(tokens).exp()
        };
        let tokens = [0, 0, 1, 0, 0, 0, 1];
        let mut out = [0.0; 14];
        let bayes = Bayes::new(&prior).unwrap();
        let effective = bayes.predict(&tokens, 0..7, &mut Scratch::default(), &mut out);
        assert!(bayes.is_exact() && effective.is_none());
        for (position, row) in out.chunks_exact(2).enumerate() {
            let longer = [&tokens[..=position], &[1]].concat();
            let expected = evidence(&longer) / evidence(&tokens[..=position]);
            assert!((row[1] - expected).abs() < 1e-13, "{position}: {row:?}");
        }
    }
}
