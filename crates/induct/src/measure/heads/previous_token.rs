//! Attention on the previous position.

use super::{AttentionRow, Context, LANES, Pattern, SHARE, Sequences};
use crate::measure::{BuiltIn, Reading};

/// Attention on the previous position.
pub static PREVIOUS_TOKEN: BuiltIn = BuiltIn {
    name: "previous_token",
    meaning: "mean attention on the previous position",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(&PreviousToken),
};

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
