//! What the page of the paper says beyond its claims and figures.

use crate::claim::Decided;
use crate::results::Results;

/// What was found, one sentence each.
pub(super) fn found(_results: &Results, _claims: &[Decided]) -> Vec<String> {
    Vec::new()
}

/// The theory in short.
pub(super) fn theory() -> String {
    String::new()
}
