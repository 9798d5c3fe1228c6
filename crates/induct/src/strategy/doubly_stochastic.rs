//! Bayes for uniform doubly stochastic tables, with tables that follow the posterior.
//!
//! Tables from the prior are weighted by likelihood. When the weights have become too unequal, tables are
//! resampled in proportion to them. Every table then takes a Metropolis walk whose steps, which shift mass
//! around a rectangle, leave the posterior invariant (resample and move: Gilks and Berzuini 2001). So the
//! number of tables need not grow with the dimension (k−1)² or the length, as it must for fixed tables.
//!
//! The stationary law is uniform, whatever the table, so the start carries no information. Tables depend only
//! on the last symbol of a context, so n plays no role, except that the first n−1 symbols are independent of
//! the table and of each other if every context is equally likely at the start.

use std::ops::Range;

use super::fewer;
use crate::chain::{
    Address, DrawError, Generator, Purpose, TaskPrior, address, open_unit, rectangle_move,
};

/// Tables are resampled when the effective number falls below this share.
const LEAST_EFFECTIVE_SHARE: f64 = 0.5;

/// Steps of a walk per cell of the table. With 2, 4 and 8, the mean divergence from the truth after 100
/// symbols is 0.0185, 0.0186, 0.0188 (k = 3) and 0.0616, 0.0620, 0.0618 (k = 5) on the same 200 sequences.
const STEPS_PER_CELL: usize = 2;

/// The predictor; see the top of this file.
#[derive(Clone, Debug)]
pub(super) struct DoublyStochastic {
    states: usize,
    /// Draws from the prior, [tables, k, k].
    initial: Vec<f64>,
    /// Position of the first symbol that the chain drew, given the one before it.
    from: usize,
    /// Where resampling and walks get their random numbers.
    walks: Address,
}

impl DoublyStochastic {
    /// `count` tables from a doubly stochastic prior.
    pub fn new(prior: &TaskPrior, count: usize, seed: u64) -> Result<Self, DrawError> {
        let stream = |step: u64| address(Purpose::Particles, seed, step);
        let states = prior.states();
        let mut initial = Vec::with_capacity(count * states * states);
        for table in prior.draw_many(count, stream(0))? {
            // With n > 2, the rows of the first k contexts repeat.
            initial.extend(table.rows().take(states).flatten());
        }
        Ok(Self {
            states,
            initial,
            from: if prior.start().is_stationary() {
                1
            } else {
                prior.ngram() - 1
            },
            walks: stream(1),
        })
    }

    /// Writes the distributions at `positions` into `out` ([positions, k]).
    pub fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let (states, cells) = (self.states, self.states * self.states);
        let mut rng = self.walks.generator(0);
        let mut effective = None;
        scratch.restart(&self.initial, cells);
        for position in 0..positions.end {
            let at = tokens[position] as usize;
            if position >= self.from {
                let entry = tokens[position - 1] as usize * states + at;
                scratch.observe(entry, cells);
                let least = LEAST_EFFECTIVE_SHARE * scratch.weights.len() as f64;
                if scratch.effective_count() < least {
                    scratch.resample(&mut rng, cells);
                    for table in scratch.tables.chunks_exact_mut(cells) {
                        walk(&mut rng, states, &scratch.counts, table);
                    }
                }
            }
            if position >= positions.start {
                effective = fewer(effective, Some(scratch.effective_count()));
                let out = &mut out[(position - positions.start) * states..][..states];
                out.fill(0.0);
                for (table, weight) in scratch.tables.chunks_exact(cells).zip(&scratch.weights) {
                    for (p, entry) in out.iter_mut().zip(&table[at * states..]) {
                        *p += weight * entry;
                    }
                }
                super::normalize(out);
            }
        }
        effective
    }
}

/// A walk that leaves the posterior after `counts` invariant: uniform steps along rectangles,
/// accepted by the likelihood ratio.
fn walk(rng: &mut Generator, states: usize, counts: &[f64], table: &mut [f64]) {
    for _ in 0..STEPS_PER_CELL * table.len() {
        let corners = rectangle_move(rng, states, table);
        let mut ln_ratio = 0.0;
        for (corner, value) in corners {
            if counts[corner] > 0.0 {
                ln_ratio += counts[corner] * libm::log(value / table[corner]);
            }
        }
        if open_unit(rng) < libm::exp(ln_ratio) {
            for (corner, value) in corners {
                table[corner] = value;
            }
        }
    }
}

/// Reused from sequence to sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// [tables, k, k]
    tables: Vec<f64>,
    /// The same, while they are resampled.
    drawn: Vec<f64>,
    /// [tables]
    weights: Vec<f64>,
    /// Transitions so far, [k, k].
    counts: Vec<f64>,
}

impl Scratch {
    fn restart(&mut self, initial: &[f64], cells: usize) {
        self.tables.clear();
        self.tables.extend_from_slice(initial);
        self.weights.clear();
        self.weights.resize(initial.len() / cells, 1.0);
        self.counts.clear();
        self.counts.resize(cells, 0.0);
    }

    fn observe(&mut self, entry: usize, cells: usize) {
        self.counts[entry] += 1.0;
        for (weight, table) in self.weights.iter_mut().zip(self.tables.chunks_exact(cells)) {
            *weight *= table[entry];
        }
        // Once the tables agree, thousands of symbols pass without resampling: only
        // normalised weights stay in range.
        super::normalize(&mut self.weights);
    }

    fn effective_count(&self) -> f64 {
        let squares = self.weights.iter().map(|weight| weight * weight).sum();
        super::effective_count(self.weights.iter().sum(), squares)
    }

    /// Resamples the tables in proportion to their weights, which become equal. The method is systematic: one
    /// random offset, then even spacing.
    fn resample(&mut self, rng: &mut Generator, cells: usize) {
        let total: f64 = self.weights.iter().sum();
        let spacing = total / self.weights.len() as f64;
        let mut next = spacing * open_unit(rng);
        let mut reached = 0.0;
        self.drawn.clear();
        for (weight, table) in self.weights.iter().zip(self.tables.chunks_exact(cells)) {
            reached += weight;
            while next < reached && self.drawn.len() < self.tables.len() {
                self.drawn.extend_from_slice(table);
                next += spacing;
            }
        }
        // Rounding may leave the last slot empty.
        while self.drawn.len() < self.tables.len() {
            self.drawn
                .extend_from_slice(&self.tables[self.tables.len() - cells..]);
        }
        std::mem::swap(&mut self.tables, &mut self.drawn);
        self.weights.fill(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Sampler;
    use crate::chain::prior::checks::prior;

    #[test]
    fn weights_stay_in_range_while_tables_agree() {
        let mut scratch = Scratch::default();
        scratch.restart(&[0.5; 4 * 8], 4);
        for _ in 0..5000 {
            scratch.observe(1, 4);
        }
        assert_eq!(scratch.effective_count(), 8.0);
    }

    #[test]
    fn long_sequences_reveal_the_table() {
        let prior = prior("'doubly-stochastic'", 3, 2);
        let address = address(Purpose::Test, 1, 0);
        let mut tokens = vec![0; 4000];
        let mut sampler = Sampler::new(&prior);
        let table = sampler.sequence(&prior, address, 0, &mut tokens).unwrap();
        let mut out = [0.0; 3];
        let bayes = DoublyStochastic::new(&prior, 128, 0).unwrap();
        let last = tokens.len() - 1;
        let effective = bayes.predict(&tokens, last..last + 1, &mut Scratch::default(), &mut out);
        assert!(effective > Some(64.0), "{effective:?}");
        for (p, truth) in out.iter().zip(table.row(tokens[last] as usize)) {
            // A row is seen about 1300 times: its frequencies are off by at
            // most 0.5/√1300 = 0.014, one sigma.
            assert!((p - truth).abs() < 4.0 * 0.014, "{p} {truth}");
        }
    }
}
