//! Attention on the current symbol.

use super::{AttentionRow, Context, LANES, Pattern, SHARE, Sequences};
use crate::measure::{BuiltIn, Reading};
use crate::model::Target;

/// Attention on the current symbol.
pub static SAME_TOKEN: BuiltIn = BuiltIn {
    name: "same_token",
    meaning: "mean attention on positions with the current symbol, the current position included",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(&SameToken),
};

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
