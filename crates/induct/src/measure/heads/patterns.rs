//! The scores that can be recorded by name.

use super::{AttentionRow, Context, HeadScore, LANES, Pattern, SHARE, Sequences};
use crate::measure::{BuiltIn, NON_NEGATIVE, Reading};
use crate::model::Target;

measures! {
    PREVIOUS_TOKEN: "previous_token" in "share", SHARE,
        "mean attention on the previous position",
        Head(&PreviousToken);

    INDUCTION: "induction" in "share", SHARE,
        "mean attention on positions whose predecessor equals the current symbol, over positions that \
         have such a one",
        Head(&Induction);

    SAME_TOKEN: "same_token" in "share", SHARE,
        "mean attention on positions with the current symbol, the current position included",
        Head(&SameToken);

    NGRAM_MATCH: "ngram_match" in "share", SHARE,
        "mean attention on positions whose n−1 predecessors equal the last n−1 symbols, over positions \
         that have such a one; for n = 2 the same as induction",
        Head(&NgramMatch);

    ENTROPY: "entropy" in "nats", NON_NEGATIVE,
        "mean entropy of the attention pattern",
        Head(&Entropy);
}

/// j = i − 1.
#[derive(Clone, Copy, Debug)]
pub struct PreviousToken;

impl Pattern for PreviousToken {
    fn attends(&self, context: &Context, j: usize) -> bool {
        j + 1 == context.position()
    }

    fn mass(&self, row: &AttentionRow) -> [f32; LANES] {
        row.weights[row.position() - 1].0
    }

    fn rows_with_target(&self, sequences: &Sequences) -> usize {
        sequences.rows()
    }
}

/// Positions that followed an earlier occurrence of the current symbol: x_{j−1} = x_i.
#[derive(Clone, Copy, Debug)]
pub struct Induction;

impl Pattern for Induction {
    fn attends(&self, context: &Context, j: usize) -> bool {
        Target::Induction.attends(context.symbols, j)
    }

    fn mass(&self, row: &AttentionRow) -> [f32; LANES] {
        row.mass_on_current_symbol(1)
    }

    fn rows_with_target(&self, sequences: &Sequences) -> usize {
        sequences.rows_with_repeated_context(1)
    }
}

/// Positions with the current symbol, the current one included: x_j = x_i.
#[derive(Clone, Copy, Debug)]
pub struct SameToken;

impl Pattern for SameToken {
    fn attends(&self, context: &Context, j: usize) -> bool {
        Target::SameToken.attends(context.symbols, j)
    }

    fn mass(&self, row: &AttentionRow) -> [f32; LANES] {
        row.mass_on_current_symbol(0)
    }

    fn rows_with_target(&self, sequences: &Sequences) -> usize {
        sequences.rows()
    }
}

/// Positions that followed an earlier occurrence of the last n−1 symbols. A context that would reach before
/// the first symbol has no match.
#[derive(Clone, Copy, Debug)]
pub struct NgramMatch;

impl Pattern for NgramMatch {
    fn attends(&self, context: &Context, j: usize) -> bool {
        let (symbols, length) = (context.symbols, context.ngram - 1);
        j >= length && symbols[j - length..].starts_with(&symbols[symbols.len() - length..])
    }

    fn rows_with_target(&self, sequences: &Sequences) -> usize {
        sequences.rows_with_repeated_context(sequences.ngram - 1)
    }
}

/// −Σ_j A_ij ln A_ij.
#[derive(Clone, Copy, Debug)]
pub struct Entropy;

impl HeadScore for Entropy {
    fn score(&self, row: &AttentionRow) -> [f32; LANES] {
        let mut sum = [0.0_f32; LANES];
        for weight in row.weights {
            for lane in 0..LANES {
                let p = weight.0[lane];
                sum[lane] -= if p > 0.0 { p * libm::logf(p) } else { 0.0 };
            }
        }
        sum
    }
}
