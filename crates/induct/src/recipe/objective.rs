//! What training minimises, beside the loss itself: at which positions, and against which labels.

use std::ops::Range;

use induct_kernels::choices;
use serde::{Deserialize, Serialize};

use crate::{Invalid, require};

choices! {
    /// What a prediction is compared with in training.
    pub enum Labels {
        /// The token that was drawn.
        Token = "token",
        /// The law that it was drawn from: the truth.
        Law = "law",
    }
}

/// The positions whose predictions training judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "\"all\", \"last\", or a table such as { from = 50, until = 100 }"
)]
pub enum LossPositions {
    /// All of them, or one.
    Named(NamedPositions),
    /// Some in a row.
    Between(PositionRange),
}

/// Positions that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamedPositions {
    /// Every one.
    All,
    /// The last one, which sees the whole context.
    Last,
}

/// Positions in a row, counted from 0. Position i predicts token i + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionRange {
    /// The first one.
    #[serde(default)]
    pub from: usize,
    /// The first one after them; up to the last if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<usize>,
}

impl Default for LossPositions {
    fn default() -> Self {
        LossPositions::Named(NamedPositions::All)
    }
}

impl LossPositions {
    /// The positions out of `length`.
    ///
    /// # Errors
    ///
    /// If there are none.
    pub fn resolve(&self, length: usize) -> Result<Range<usize>, Invalid> {
        let range = match self {
            LossPositions::Named(NamedPositions::All) => return Ok(0..length),
            LossPositions::Named(NamedPositions::Last) => return Ok(length - 1..length),
            LossPositions::Between(range) => range,
        };
        let (from, until) = (range.from, range.until.unwrap_or(length));
        let allowed = format!("a position from 0 to {}", length - 1);
        require(from < length, "positions.from", from, &allowed)?;
        let allowed = format!(
            "from {} to {length}: the first position after them",
            from + 1
        );
        let fits = (from + 1..=length).contains(&until);
        require(fits, "positions.until", until, &allowed)?;
        Ok(from..until)
    }
}
