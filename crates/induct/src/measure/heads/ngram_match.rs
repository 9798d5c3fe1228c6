//! Attention on what followed the current context earlier.

use super::{AttentionRow, Context, LANES, Pattern, SHARE, Sequences};
use crate::measure::{BuiltIn, Reading};

/// Attention on what followed the current context earlier.
pub static NGRAM_MATCH: BuiltIn = BuiltIn {
    name: "ngram_match",
    meaning: "mean attention on positions whose n−1 predecessors equal the last n−1 symbols, over \
              positions that have such a one; for n = 2 the same as induction",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(&NgramMatch),
};

/// Positions that followed an earlier occurrence of the last n−1 symbols. A context that would reach before
/// the first symbol has no match.
#[derive(Clone, Copy, Debug)]
pub struct NgramMatch;

impl Pattern for NgramMatch {
    fn attends(&self, context: &Context, j: usize) -> bool {
        let (symbols, length) = (context.symbols, context.ngram - 1);
        j >= length && symbols[j - length..].starts_with(&symbols[symbols.len() - length..])
    }

    fn mass(&self, row: &AttentionRow) -> [f32; LANES] {
        let (i, symbols) = (row.position(), &row.sequences.side_by_side);
        let context = row.sequences.ngram - 1;
        let mut mass = [0.0_f32; LANES];
        for j in context.min(i + 1)..=i {
            for lane in 0..LANES {
                let same = |back: usize| symbols[j - 1 - back].0[lane] == symbols[i - back].0[lane];
                if (0..context).all(same) {
                    mass[lane] += row.weights[j].0[lane];
                }
            }
        }
        mass
    }

    fn rows_with_target(&self, sequences: &Sequences) -> usize {
        sequences.rows_with_repeated_context(sequences.ngram - 1)
    }
}
