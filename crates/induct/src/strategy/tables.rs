//! Bayes over a finite number of tables, each weighted by the likelihood of what was seen.
//!
//! For a `pool` or `fixed` prior, the tables are all there are and the answer is exact. For any other prior
//! they are draws from it: importance sampling with the prior as proposal, which is good while the posterior
//! is not too narrow for their number. The effective sample size says how good.

use std::ops::Range;

use super::fewer;
use crate::chain::{Start, TransitionTable, contexts_with_prefix, slide};

/// The tables, stored entry by entry, so that the inner loop runs over tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    states: usize,
    order: usize,
    /// [contexts, k, tables]
    probs: Vec<f64>,
    /// Laws of the first context, times the tables' weights, [contexts, tables].
    starts: Vec<f64>,
    count: usize,
}

impl Tables {
    /// The given tables (at least one) with their weights before anything is seen; equally likely without.
    pub fn new(tables: &[TransitionTable], weights: Option<&[f64]>, start: Start) -> Self {
        let (states, contexts) = (tables[0].states(), tables[0].contexts());
        let mut probs = Vec::with_capacity(contexts * states * tables.len());
        let mut starts = Vec::with_capacity(contexts * tables.len());
        for context in 0..contexts {
            for symbol in 0..states {
                probs.extend(tables.iter().map(|table| table.row(context)[symbol]));
            }
            starts.extend(tables.iter().map(|table| match start {
                Start::Stationary {} => table.stationary()[context],
                Start::Uniform {} => 1.0 / contexts as f64,
            }));
        }
        for starts in starts.chunks_exact_mut(tables.len()) {
            let weighed = starts.iter_mut().zip(weights.unwrap_or_default());
            weighed.for_each(|(start, weight)| *start *= weight);
        }
        Self {
            states,
            order: tables[0].ngram() - 1,
            probs,
            starts,
            count: tables.len(),
        }
    }

    /// Writes the distributions at `positions` into `out` ([positions, k]).
    ///
    /// A sequence that no table can produce gives all tables zero weight: they then count equally (and the
    /// effective sample size is 0).
    pub fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let Scratch { products, weights } = scratch;
        let states = self.states;
        let contexts = self.starts.len() / self.count;
        let mut effective = None;
        let mut context = 0;
        for position in 0..positions.end {
            let seen = &tokens[..=position];
            let next = slide(context, tokens[position], states, contexts);
            if seen.len() == self.order {
                products.start(self.each(&self.starts, next));
            } else if seen.len() > self.order {
                products.multiply(self.entry(context, tokens[position]));
            }
            context = next;
            if position < positions.start {
                continue;
            }
            let out = &mut out[(position - positions.start) * states..][..states];
            if seen.len() < self.order {
                effective = fewer(effective, Some(self.predict_start(seen, weights, out)));
            } else {
                products.write_weights(weights);
                effective = fewer(effective, Some(effective_count(weights)));
                if !self.mix_rows(context, weights, out) {
                    weights.fill(1.0);
                    self.mix_rows(context, weights, out);
                }
            }
        }
        effective
    }

    /// Row `index` of a buffer whose rows have one number per table.
    fn each<'a>(&self, buffer: &'a [f64], index: usize) -> &'a [f64] {
        &buffer[index * self.count..][..self.count]
    }

    /// P(symbol | context), [tables].
    fn entry(&self, context: usize, symbol: u8) -> &[f64] {
        self.each(&self.probs, context * self.states + symbol as usize)
    }

    /// The mixture's row for `context`; false if all weights are zero.
    fn mix_rows(&self, context: usize, weights: &[f64], out: &mut [f64]) -> bool {
        for (symbol, p) in out.iter_mut().enumerate() {
            *p = dot(weights, self.entry(context, symbol as u8));
        }
        super::normalize(out)
    }

    /// While a context is incomplete, only the laws of the start predict; returns the effective sample size.
    fn predict_start(&self, seen: &[u8], weights: &mut Vec<f64>, out: &mut [f64]) -> f64 {
        weights.clear();
        weights.resize(self.count, 0.0);
        let block = contexts_with_prefix(seen, self.states, self.order);
        // Within the block, the next symbol is the most significant digit that is left.
        let share = block.len() / self.states;
        out.fill(0.0);
        for (offset, context) in block.enumerate() {
            let starts = self.each(&self.starts, context);
            out[offset / share] += starts.iter().sum::<f64>();
            for (weight, start) in weights.iter_mut().zip(starts) {
                *weight += start;
            }
        }
        if !super::normalize(out) {
            out.fill(1.0 / self.states as f64);
        }
        effective_count(weights)
    }
}

/// Reused from sequence to sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    products: Products,
    /// [tables]
    weights: Vec<f64>,
}

/// One unit of a product's exponent.
const UNIT: f64 = (1_u128 << 64) as f64;

/// A product of probabilities for every table: mantissa · UNIT^exponent, mantissa in [1/UNIT, 1] or zero.
///
/// The likelihood of a thousand symbols underflows an f64. Logarithms would do as well, but cost a logarithm
/// and an exponential per table and position; this costs a multiplication.
#[derive(Clone, Debug, Default)]
struct Products {
    mantissas: Vec<f64>,
    exponents: Vec<i32>,
}

impl Products {
    fn start(&mut self, factors: &[f64]) {
        self.mantissas.clear();
        self.mantissas.resize(factors.len(), 1.0);
        self.exponents.clear();
        self.exponents.resize(factors.len(), 0);
        self.multiply(factors);
    }

    fn multiply(&mut self, factors: &[f64]) {
        for ((mantissa, exponent), factor) in self
            .mantissas
            .iter_mut()
            .zip(&mut self.exponents)
            .zip(factors)
        {
            *mantissa *= factor;
            while *mantissa < 1.0 / UNIT && *mantissa > 0.0 {
                *mantissa *= UNIT;
                *exponent -= 1;
            }
        }
    }

    /// The products relative to the largest exponent. Those UNIT⁻⁴ below it cannot affect a sum.
    fn write_weights(&self, weights: &mut Vec<f64>) {
        const SCALES: [f64; 4] = [1.0, 1.0 / UNIT, 1.0 / UNIT / UNIT, 1.0 / UNIT / UNIT / UNIT];
        let living = self.mantissas.iter().zip(&self.exponents);
        let largest = living
            .filter(|(mantissa, _)| **mantissa > 0.0)
            .map(|(_, exponent)| *exponent)
            .max()
            .unwrap_or(0);
        weights.clear();
        weights.extend(
            self.mantissas
                .iter()
                .zip(&self.exponents)
                .map(|(mantissa, exponent)| {
                    // A zero may have an exponent above the largest of the nonzero products.
                    let below = (largest - exponent).max(0) as usize;
                    mantissa * SCALES.get(below).copied().unwrap_or(0.0)
                }),
        );
    }
}

/// Σ a·b in a fixed order, eight sums side by side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_blocks, b_blocks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = (a_blocks.remainder().iter())
        .zip(b_blocks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_blocks.zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn effective_count(weights: &[f64]) -> f64 {
    super::effective_count(weights.iter().sum(), dot(weights, weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_outlive_the_range_of_a_float() {
        let mut products = Products::default();
        let mut weights = Vec::new();
        products.start(&[0.5, 0.25, 0.0]);
        for _ in 0..10_000 {
            products.multiply(&[1e-3, 1e-3, 0.7]);
        }
        products.write_weights(&mut weights);
        assert!((weights[0] / weights[1] - 2.0).abs() < 1e-9, "{weights:?}");
        assert_eq!(weights[2], 0.0);
        // One is rescaled, the other is not.
        products.start(&[1e-25, 1e-10]);
        products.write_weights(&mut weights);
        assert!(
            (weights[0] / weights[1] * 1e15 - 1.0).abs() < 1e-12,
            "{weights:?}"
        );
        // The lagging one can still come back: 1e-200 behind, then 1e-200 ahead.
        products.start(&[1.0, 1.0]);
        for (first, second) in [(1e-100, 1.0), (1e-100, 1.0), (1.0, 1e-100), (1.0, 1e-100)] {
            products.multiply(&[first, second]);
        }
        products.write_weights(&mut weights);
        assert!((weights[0] / weights[1] - 1.0).abs() < 1e-12, "{weights:?}");
    }

    #[test]
    fn an_impossible_sequence_weighs_all_tables_alike() {
        let table = |stay: f64| {
            let rows = [vec![stay, 1.0 - stay], vec![1.0, 0.0]];
            TransitionTable::from_rows(2, 2, &rows).unwrap()
        };
        let tables = Tables::new(&[table(0.25), table(0.75)], None, Start::default());
        let mut out = [0.0; 2];
        // 1 is never followed by 1.
        let effective = tables.predict(&[1, 1, 0], 2..3, &mut Scratch::default(), &mut out);
        assert_eq!((out, effective), ([0.5, 0.5], Some(0.0)));
    }
}
