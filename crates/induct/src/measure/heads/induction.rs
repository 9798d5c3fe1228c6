//! Attention on what followed the current symbol earlier.

use super::{AttentionRow, Context, LANES, Pattern, SHARE, Sequences};
use crate::measure::{BuiltIn, Reading};
use crate::model::Target;

/// Attention on what followed the current symbol earlier.
pub static INDUCTION: BuiltIn = BuiltIn {
    name: "induction",
    meaning: "mean attention on positions whose predecessor equals the current symbol, over positions \
              that have such a one",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(&Induction),
};

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
