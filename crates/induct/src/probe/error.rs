//! Why nothing can be measured.

use crate::chain::DrawError;
use crate::invalid::Invalid;

/// Why a test set or what is read from it cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// A setting is impossible, or belongs to a part that this program does not have.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A prior from another crate draws no chains.
    #[error(transparent)]
    Prior(#[from] DrawError),
}
