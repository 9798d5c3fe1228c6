//! The in-context learning curve: how well the model predicts with each additional symbol.

use super::{BuiltIn, DIVERGENCE, NON_NEGATIVE, Reading};

/// KL(truth ‖ model) by position.
pub static KL_TRUTH_BY_POSITION: BuiltIn = BuiltIn {
    name: "kl_truth_by_position",
    meaning: "KL(truth ‖ model) at each position (0 first) of the test set's first 128 sequences: the \
              in-context-learning curve",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Position(|seen| &seen.kl_by_position),
};

/// Cross-entropy by position.
pub static LOSS_BY_POSITION: BuiltIn = BuiltIn {
    name: "loss_by_position",
    meaning: "cross-entropy of the next symbol at each position (0 first) of the test set's first 128 \
              sequences",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Position(|seen| &seen.loss_by_position),
};
