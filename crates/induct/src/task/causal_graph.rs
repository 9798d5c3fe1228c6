//! Causal graphs: every position has a parent, and depends on its symbol alone.
//!
//! A table of rows is drawn for each sequence. The symbol at a position follows the row that the symbol at its
//! parent selects. The graph is the same for all sequences, so a model can learn it; what it cannot is the table.
//! With every position's predecessor for a parent, this is a Markov chain from a uniform start.

use std::ops::Range;
use std::sync::Arc;

use induct_kernels::settings;

use super::spec::TaskSettings;
use super::{Sequence, Task};
use crate::chain::{Alpha, Generator, Purpose, Rows, address, open_unit};
use crate::strategy::{Ngram, Scratch, Strategy, Uniform};
use crate::{Invalid, require};

settings! {
    /// Each symbol follows the row of a table that the symbol at its position's parent selects.
    pub struct CausalGraph {
        /// The parent of every position but the first, each an earlier position; drawn uniformly if empty.
        #[when(|own| !own.parents.is_empty())]
        pub parents: Vec<usize> = Vec::new(),
        /// Seed of parents that are drawn.
        pub seed: u64 = 0,
        /// Concentrations of the rows of a sequence's table: one number, or one per state.
        pub alpha: Alpha = Alpha::default(),
    }
}

/// The names of its ladder.
const LADDER: [&str; 3] = ["uniform", "unigram", "parent"];

impl TaskSettings for CausalGraph {
    fn ladder(&self) -> Vec<String> {
        LADDER.map(String::from).into()
    }

    fn check(&self, states: usize, length: usize) -> Result<(), Invalid> {
        Rows::new(&self.alpha, states)?;
        let parents = &self.parents;
        let count = format!("{} positions", parents.len());
        let allowed = format!("the parents of all {length} positions after the first, or none");
        require(
            [0, length].contains(&parents.len()),
            "parents",
            count,
            &allowed,
        )?;
        let later = parents
            .iter()
            .enumerate()
            .find(|(before, parent)| *parent > before);
        later.map_or(Ok(()), |(before, parent)| {
            let allowed = format!("a position before {}, from 0 to {before}", before + 1);
            Err(Invalid::new(format!("parents[{before}]"), parent, allowed))
        })
    }

    fn task(&self, states: usize, length: usize) -> Result<Arc<dyn Task>, Invalid> {
        Ok(Arc::new(self.graph(states, length)?))
    }
}

impl CausalGraph {
    fn graph(&self, states: usize, length: usize) -> Result<Graph, Invalid> {
        let rng = &mut address(Purpose::Pool, self.seed, 1).generator(0);
        let drawn = (1..=length).map(|position| (open_unit(rng) * position as f64) as usize);
        Ok(Graph {
            rows: Rows::new(&self.alpha, states)?,
            parents: match self.parents.is_empty() {
                true => drawn.collect(),
                false => self.parents.clone(),
            },
        })
    }
}

/// A graph with a law of tables.
#[derive(Clone, Debug)]
struct Graph {
    rows: Rows,
    /// Of every position but the first.
    parents: Vec<usize>,
}

impl Graph {
    /// The symbol at the parent of the position after `tokens`; none at the start, and beyond the graph.
    fn parent(&self, tokens: &[u8]) -> Option<usize> {
        let parent = self.parents.get(tokens.len().checked_sub(1)?)?;
        Some(usize::from(tokens[*parent]))
    }
}

impl Task for Graph {
    fn states(&self) -> usize {
        self.rows.alpha().len()
    }

    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence<'_>) {
        let k = self.states();
        let mut table = vec![0.0; k * k];
        let even = vec![1.0 / k as f64; k];
        table
            .chunks_exact_mut(k)
            .for_each(|row| self.rows.draw(rng, row));
        for _ in 0..sequence.len() {
            let parent = self.parent(sequence.tokens());
            let law = parent.map_or(&*even, |parent| &table[parent * k..][..k]);
            sequence.draw(rng, law);
        }
    }

    fn ladder(&self) -> Vec<Arc<dyn Strategy>> {
        let alpha = Alpha::Vector(self.rows.alpha().to_vec());
        let unigram = Ngram::new(1, self.states(), &alpha).expect("these are alphas already");
        vec![
            Arc::new(Uniform::new(self.states())),
            Arc::new(unigram),
            Arc::new(Parent(self.clone())),
        ]
    }
}

/// Predicts by what followed when the parent had the same symbol: (count + α_j) / (total + Σα). Rows are
/// independent, so this is Bayes' rule.
#[derive(Clone, Debug)]
struct Parent(Graph);

impl Strategy for Parent {
    fn name(&self) -> String {
        LADDER[2].to_owned()
    }

    fn states(&self) -> usize {
        self.0.states()
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        let last = tokens.len() - 1;
        self.predict(tokens, last..last + 1, &mut Scratch::default(), out);
    }

    fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        _: &mut Scratch,
        out: &mut [f64],
    ) -> Option<f64> {
        let (k, alpha) = (self.states(), self.0.rows.alpha());
        let mut weights = alpha.repeat(k);
        let mut rows = out.chunks_exact_mut(k);
        for end in 1..=positions.end {
            let row = self
                .0
                .parent(&tokens[..end])
                .map(|parent| parent * k..(parent + 1) * k);
            if end > positions.start {
                let out = rows.next().expect("a row per position");
                out.fill(1.0 / k as f64);
                if let Some(row) = row.clone() {
                    let total: f64 = weights[row.clone()].iter().sum();
                    let shares = out.iter_mut().zip(&weights[row]);
                    shares.for_each(|(p, weight)| *p = weight / total);
                }
            }
            if let (Some(row), Some(&next)) = (row, tokens.get(end)) {
                weights[row][usize::from(next)] += 1.0;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(parents: &[usize]) -> Graph {
        let spec = CausalGraph {
            parents: parents.to_vec(),
            ..CausalGraph::default()
        };
        assert_eq!(spec.check(2, parents.len()), Ok(()));
        spec.graph(2, parents.len()).unwrap()
    }

    #[test]
    fn children_of_equal_symbols_are_counted_together() {
        // The children of 0 (positions 0 and 3) are 1, 1 and 0; the last position is the child of a 1.
        let strategy = Parent(graph(&[0, 0, 1, 3, 2]));
        let mut out = [0.0; 10];
        let tokens = [0, 1, 1, 0, 0, 1];
        assert_eq!(
            strategy.predict(&tokens, 0..5, &mut Scratch::default(), &mut out),
            None
        );
        let expected = [
            0.5,
            0.5,
            1.0 / 3.0,
            2.0 / 3.0,
            0.5,
            0.5,
            0.25,
            0.75,
            2.0 / 3.0,
            1.0 / 3.0,
        ];
        assert_eq!(out, expected);
        let mut last = [0.0; 2];
        strategy.predict_next(&tokens[..4], &mut last);
        assert_eq!(last, expected[6..8]);
        // Beyond the graph there is nothing to go by.
        strategy.predict_next(&tokens, &mut last);
        assert_eq!(last, [0.5; 2]);
    }

    #[test]
    fn a_chain_of_parents_is_a_markov_chain() {
        let strategy = Parent(graph(&[0, 1, 2, 3, 4]));
        let bigram = Ngram::new(2, 2, &Alpha::default()).unwrap();
        let (tokens, scratch) = ([1, 1, 0, 1, 0], &mut Scratch::default());
        let [mut own, mut other] = [[0.0; 10]; 2];
        strategy.predict(&tokens, 0..5, scratch, &mut own);
        bigram.predict(&tokens, 0..5, scratch, &mut other);
        assert_eq!(own, other);
    }

    #[test]
    fn parents_that_are_drawn_come_before_and_do_not_depend_on_the_length() {
        let spec = CausalGraph::default();
        let long = spec.graph(2, 300).unwrap().parents;
        assert!(
            long.iter()
                .enumerate()
                .all(|(before, parent)| *parent <= before)
        );
        assert_eq!(spec.graph(2, 20).unwrap().parents, long[..20]);
        let seed = 1;
        assert_ne!(
            CausalGraph { seed, ..spec }.graph(2, 300).unwrap().parents,
            long
        );
    }
}
