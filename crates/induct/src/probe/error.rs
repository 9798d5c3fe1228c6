//! Why a measurement failed.

use crate::Invalid;
use crate::chain::DrawError;
use crate::strategy::BadAnswer;

/// Why a test set, or what is read from it, cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// A setting is impossible, or belongs to a part that this program does not have.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A prior from another crate does not draw chains.
    #[error(transparent)]
    Prior(#[from] DrawError),
    /// A strategy's answer is not a distribution.
    #[error("on sequence {sequence} of the test set, {error}")]
    Answer {
        /// The number of the sequence it was asked about.
        sequence: u64,
        /// What it answered.
        error: BadAnswer,
    },
}
