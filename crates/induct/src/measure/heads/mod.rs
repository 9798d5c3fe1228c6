//! What attention heads do: scores of attention patterns.
//!
//! Most scores are the attention on a target [`Pattern`], which says which positions a position is expected
//! to attend to. To add one, write its pattern and its handle beside [`INDUCTION`]'s. A score from another crate is
//! an [`AttentionOn`].

mod patterns;

pub use patterns::*;

use std::collections::HashSet;
use std::fmt::{Debug, Formatter};

use super::{Column, Measure, Observation, SHARE, Scope};
use induct_kernels::lanes::{LANES, Lane, Level, leveled};

/// A score of an attention head, averaged over the positions after the first.
///
/// Rows of attention arrive for [`LANES`] sequences at once, side by side. Most scores are a
/// [`Pattern`] and need not know that.
pub trait HeadScore: Send + Sync {
    /// The score of one row of attention, by sequence.
    fn score(&self, row: &AttentionRow) -> [f32; LANES];

    /// Number of rows of these sequences that have a score: the sum is divided by it. By
    /// default, all rows after the first.
    fn rows(&self, sequences: &Sequences) -> usize {
        sequences.rows()
    }
}

/// A target pattern: which positions j a position i is expected to attend to.
///
/// As a [`HeadScore`] it is the attention on those positions, averaged over the positions i that have any. A
/// function is a pattern, too: see [`AttentionOn`].
pub trait Pattern: Send + Sync {
    /// Whether the last position of `context` is expected to attend to position `j`,
    /// which may be the last one itself.
    fn attends(&self, context: &Context, j: usize) -> bool;

    /// Attention on those positions, by sequence. Patterns that are recorded often override this with
    /// something faster than checking every position.
    fn mass(&self, row: &AttentionRow) -> [f32; LANES] {
        let mut mass = [0.0; LANES];
        for (lane, mass) in mass.iter_mut().enumerate().take(row.sequences.count()) {
            let context = row.sequences.context(lane, row.position());
            for (j, weight) in row.weights.iter().enumerate() {
                if self.attends(&context, j) {
                    *mass += weight.0[lane];
                }
            }
        }
        mass
    }

    /// Number of rows after the first that have anything to attend to.
    fn rows_with_target(&self, sequences: &Sequences) -> usize {
        let has_target = |(lane, i): &(usize, usize)| {
            let context = sequences.context(*lane, *i);
            (0..=*i).any(|j| self.attends(&context, j))
        };
        let lanes = 0..sequences.count();
        let rows = lanes.flat_map(|lane| (1..sequences.length()).map(move |i| (lane, i)));
        rows.filter(has_target).count()
    }
}

impl<P: Pattern> HeadScore for P {
    fn score(&self, row: &AttentionRow) -> [f32; LANES] {
        self.mass(row)
    }

    fn rows(&self, sequences: &Sequences) -> usize {
        self.rows_with_target(sequences)
    }
}

impl<F: Fn(&Context, usize) -> bool + Send + Sync> Pattern for F {
    fn attends(&self, context: &Context, j: usize) -> bool {
        self(context, j)
    }
}

/// What a position has seen.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The symbols up to and including the position's own.
    pub symbols: &'a [u8],
    /// The task's n.
    pub ngram: usize,
}

impl Context<'_> {
    /// The position, i.
    pub fn position(&self) -> usize {
        self.symbols.len() - 1
    }

    /// The current symbol, x_i.
    pub fn current(&self) -> u8 {
        self.symbols[self.position()]
    }
}

/// The sequences that rows of attention belong to, at most [`LANES`].
pub struct Sequences {
    /// By sequence, each of t symbols.
    symbols: Vec<Vec<u8>>,
    /// The same as numbers, side by side, so that eight are compared at a time. `[t]`
    side_by_side: Vec<Lane>,
    ngram: usize,
    level: Level,
}

/// A head's attention at one position of some sequences.
pub struct AttentionRow<'a> {
    /// The sequences.
    pub sequences: &'a Sequences,
    /// Attention on every position up to and including the row's own. `[i + 1]`
    pub weights: &'a [Lane],
}

impl Sequences {
    /// The first `used` of the sequences in `inputs` (`[t]`); `ngram` is the task's n.
    pub(crate) fn new(inputs: &[[u8; LANES]], used: usize, ngram: usize, level: Level) -> Self {
        let sequence = |lane: usize| inputs.iter().map(|row| row[lane]).collect();
        let as_numbers = |row: &[u8; LANES]| Lane(row.map(f32::from));
        Self {
            symbols: (0..used).map(sequence).collect(),
            side_by_side: inputs.iter().map(as_numbers).collect(),
            ngram,
            level,
        }
    }

    /// Number of sequences.
    pub fn count(&self) -> usize {
        self.symbols.len()
    }

    /// Their length, t.
    pub fn length(&self) -> usize {
        self.side_by_side.len()
    }

    /// Number of their positions after the first.
    pub fn rows(&self) -> usize {
        self.count() * self.length().saturating_sub(1)
    }

    /// What a position of a sequence has seen.
    pub fn context(&self, sequence: usize, position: usize) -> Context<'_> {
        Context {
            symbols: &self.symbols[sequence][..=position],
            ngram: self.ngram,
        }
    }

    /// Number of positions after the first that end a context of `symbols` symbols which has occurred before.
    fn rows_with_repeated_context(&self, symbols: usize) -> usize {
        let of_sequence = |sequence: &Vec<u8>| {
            let mut seen = HashSet::new();
            let ends = sequence.windows(symbols).zip(symbols - 1..);
            ends.filter(|(window, i)| !seen.insert(*window) && *i > 0)
                .count()
        };
        self.symbols.iter().map(of_sequence).sum()
    }
}

impl AttentionRow<'_> {
    /// The position, i.
    pub fn position(&self) -> usize {
        self.weights.len() - 1
    }

    /// Attention on positions j for which the current symbol is at j − `ahead`, by sequence.
    fn mass_on_current_symbol(&self, ahead: usize) -> [f32; LANES] {
        let (i, symbols) = (self.position(), &self.sequences.side_by_side);
        let (others, weights) = (&symbols[..=i - ahead], &self.weights[ahead..]);
        mass_where_equal(self.sequences.level, others, symbols[i], weights).0
    }
}

leveled!(
    /// The weights of the rows whose symbol equals `symbol`, summed by lane. Shapes: `[rows]` both.
    fn mass_where_equal<const FUSED: bool>(
        symbols: &[Lane],
        symbol: Lane,
        weights: &[Lane],
    ) -> Lane {
        let (mut mass, one) = (Lane::ZERO, Lane::splat(1.0));
        for (&other, &weight) in symbols.iter().zip(weights) {
            // One for equal symbols, and zero for others, which differ by at least one.
            let apart = other - symbol;
            let equal = (one - apart * apart).max(Lane::ZERO);
            mass += equal * weight;
        }
        mass
    }
);

/// Mean attention of every head on a target pattern, as a measure: a name, a meaning and the pattern. See
/// `examples/custom_measure.rs`.
#[derive(Clone)]
pub struct AttentionOn<P> {
    /// The last part of its columns' names: `layers.0.heads.0.NAME`.
    pub name: String,
    /// What it is, in one sentence.
    pub meaning: String,
    /// Which positions are expected to be attended to.
    pub pattern: P,
}

impl<P> Debug for AttentionOn<P> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttentionOn")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<P: Pattern> Measure for AttentionOn<P> {
    fn name(&self) -> &str {
        &self.name
    }

    fn meaning(&self) -> &str {
        &self.meaning
    }

    fn unit(&self) -> &str {
        "share"
    }

    fn range(&self) -> [f64; 2] {
        SHARE
    }

    fn scope(&self) -> Scope {
        Scope::Head
    }

    fn head_score(&self) -> Option<&dyn HeadScore> {
        Some(&self.pattern)
    }

    fn read(&self, seen: &Observation, columns: &[Column], values: &mut [f64]) {
        for (column, value) in columns.iter().zip(values) {
            *value = seen.head_score(column).unwrap_or(f64::NAN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequences of three symbols that leave some lanes unused, and attention that differs between positions.
    fn example(length: usize, ngram: usize) -> (Sequences, Vec<Lane>) {
        let symbol = |i: usize, lane: usize| ((i * i + 3 * lane + i * lane / 2) % 3) as u8;
        let row = |i: usize| std::array::from_fn(|lane| symbol(i, lane));
        let inputs: Vec<[u8; LANES]> = (0..length).map(row).collect();
        let weight = |j: usize, lane: usize| 1.0 / (1 + 2 * j + lane) as f32;
        let weights = |j: usize| Lane(std::array::from_fn(|lane| weight(j, lane)));
        let sequences = Sequences::new(&inputs, LANES - 1, ngram, Level::detect());
        (sequences, (0..length).map(weights).collect())
    }

    /// The same pattern, with nothing but its definition.
    struct Plain<'a, P>(&'a P);

    impl<P: Pattern> Pattern for Plain<'_, P> {
        fn attends(&self, context: &Context, j: usize) -> bool {
            self.0.attends(context, j)
        }
    }

    fn check(pattern: &impl Pattern) {
        for (length, ngram) in [(1, 2), (2, 2), (30, 2), (2, 3), (30, 3), (3, 5), (40, 5)] {
            let (sequences, weights) = example(length, ngram);
            let plain = Plain(pattern);
            assert_eq!(
                pattern.rows_with_target(&sequences),
                plain.rows_with_target(&sequences),
                "t = {length}, n = {ngram}"
            );
            for i in 1..length {
                let row = AttentionRow {
                    sequences: &sequences,
                    weights: &weights[..=i],
                };
                let (fast, exact) = (pattern.mass(&row), plain.mass(&row));
                for lane in 0..sequences.count() {
                    let apart = (fast[lane] - exact[lane]).abs();
                    assert!(apart < 1e-6, "t = {length}, n = {ngram}, i = {i}");
                }
            }
        }
    }

    #[test]
    fn fast_ways_sum_what_the_pattern_says() {
        check(&PreviousToken);
        check(&Induction);
        check(&SameToken);
        check(&NgramMatch);
    }
}
