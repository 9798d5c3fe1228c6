//! Causal attention with a table of relative positions, for one head:
//!
//! - s_ij = (q_i + r_{i−j}) · k_j / √m   (`RelativeTerm::Key`),
//! - s_ij = q_i · (k_j + r_{i−j}) / √m   (`RelativeTerm::Query`),
//! - s_ij = q_i · k_j / √m               (`RelativeTerm::Absent`), for j ≤ i;
//! - p_ij = softmax_j s_ij, and out_i = Σ_j p_ij u_j.
//!
//! [`fast`] computes it over lanes, a few rows at a time, so that no t×t matrix is ever stored. [`clamped`]
//! is for patterns that are given.

pub mod clamped;
pub mod fast;

use crate::lanes::Lane;

/// Multiplications and additions of a fused exponential, in addition to those of a score.
pub const EXPONENTIAL: usize = 7;

/// Where the positional vector r_{i−j} enters a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeTerm {
    /// Added to the query.
    Key,
    /// Added to the key.
    Query,
    /// Nowhere.
    Absent,
}

/// One row of one head's attention, shown to a probe as the forward computes it: the entries for j ≤ i.
#[derive(Clone, Copy, Debug)]
pub struct AttnRow<'a> {
    /// The layer's number.
    pub layer: usize,
    /// The head's number within its layer.
    pub head: usize,
    /// The position that attends, i.
    pub position: usize,
    /// Before the softmax, perhaps without a number that the whole row shares.
    pub attn_scores: &'a [Lane],
    /// After the softmax.
    pub attn_pattern: &'a [Lane],
}

/// Anything that observes attention.
pub type AttnProbe<'a> = &'a mut dyn FnMut(AttnRow);
