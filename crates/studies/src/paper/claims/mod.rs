//! What the paper's claims measure. The claims themselves, with their limits and reasons, are in
//! `claims.toml`.

mod construction;
mod final_loss;
mod heads;
mod minimal;
mod phases;
mod signal;

pub(super) use final_loss::allowed_by_counts;
pub(super) use heads::by_symbol;

use std::sync::LazyLock;

use crate::claim::{Claim, Remark};
use crate::statistics::Statistic;

/// All claims.
pub static CLAIMS: LazyLock<Vec<Claim>> =
    LazyLock::new(|| Claim::all_in(include_str!("../claims.toml"), REMARKS));

pub const STATISTICS: &[&[Statistic]] = &[
    final_loss::STATISTICS,
    phases::STATISTICS,
    heads::STATISTICS,
    signal::STATISTICS,
    minimal::STATISTICS,
];

/// Remarks that take their numbers from the runs, by claim.
const REMARKS: &[(&str, Remark)] = &[
    ("C1", final_loss::effect_of_training),
    ("C3", phases::depth_of_the_plateau),
    ("C5", heads::marked_symbols),
    ("C6", final_loss::open_to_counts),
    ("C8", minimal::linear_model),
    ("C14", phases::nearest_with_eight_states),
];
