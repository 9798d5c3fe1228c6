//! How far the model is from the truth and from strategies, also with each additional symbol.

use super::{BuiltIn, DIVERGENCE, NON_NEGATIVE, Reading};

/// KL(truth ‖ model) at the last position.
pub static KL_TRUTH: BuiltIn = BuiltIn {
    name: "kl_truth",
    meaning: "KL(truth ‖ model) at the last position, averaged over the task's own test set",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Run(|seen| Some(seen.truth.last)),
};

/// Its standard error.
pub static KL_TRUTH_SE: BuiltIn = BuiltIn {
    name: "kl_truth_se",
    meaning: "standard error of kl_truth over the sequences of the test set",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| Some(seen.truth.se)),
};

/// KL(truth ‖ model) over all positions.
pub static KL_TRUTH_ALL: BuiltIn = BuiltIn {
    name: "kl_truth_all",
    meaning: "KL(truth ‖ model) averaged over all positions of the test set's first 128 sequences",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Run(|seen| seen.truth.all),
};

/// KL(strategy ‖ model) at the last position.
pub static KL_STRATEGY: BuiltIn = BuiltIn {
    name: "kl_strategy",
    meaning: "KL(strategy ‖ model) at the last position, same test set; one column per strategy",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Strategy(|kl| Some(kl.last)),
};

/// KL(strategy ‖ model) over all positions.
pub static KL_STRATEGY_ALL: BuiltIn = BuiltIn {
    name: "kl_strategy_all",
    meaning: "KL(strategy ‖ model) averaged over all positions of the test set's first 128 sequences",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Strategy(|kl| kl.all),
};

/// KL(truth ‖ model) on another test set.
pub static TEST_KL_TRUTH: BuiltIn = BuiltIn {
    name: "test.kl_truth",
    meaning: "KL(truth ‖ model) at the last position of another test set; one column per set in \
              record.tests",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Test(|kl| Some(kl.last)),
};

/// Its standard error.
pub static TEST_KL_TRUTH_SE: BuiltIn = BuiltIn {
    name: "test.kl_truth_se",
    meaning: "standard error of test.kl_truth over the sequences of the test set",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Test(|kl| Some(kl.se)),
};

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
