//! How far the model is from the truth and from strategies, also with each additional symbol.

use super::{BuiltIn, DIVERGENCE, NON_NEGATIVE, Reading};

measures! {
    KL_TRUTH: "kl_truth" in "nats", DIVERGENCE,
        "KL(truth ‖ model) at the last position, averaged over the task's own test set",
        Run(|seen| Some(seen.truth.last));

    KL_TRUTH_SE: "kl_truth_se" in "nats", NON_NEGATIVE,
        "standard error of kl_truth over the sequences of the test set",
        Run(|seen| Some(seen.truth.se));

    KL_TRUTH_ALL: "kl_truth_all" in "nats", DIVERGENCE,
        "KL(truth ‖ model) averaged over all positions of the test set's first 128 sequences",
        Run(|seen| seen.truth.all);

    KL_STRATEGY: "kl_strategy" in "nats", DIVERGENCE,
        "KL(strategy ‖ model) at the last position, same test set; one column per strategy",
        Strategy(|kl| Some(kl.last));

    KL_STRATEGY_ALL: "kl_strategy_all" in "nats", DIVERGENCE,
        "KL(strategy ‖ model) averaged over all positions of the test set's first 128 sequences",
        Strategy(|kl| kl.all);

    TEST_KL_TRUTH: "test.kl_truth" in "nats", DIVERGENCE,
        "KL(truth ‖ model) at the last position of another test set; one column per set in record.tests",
        Test(|kl| Some(kl.last));

    TEST_KL_TRUTH_SE: "test.kl_truth_se" in "nats", NON_NEGATIVE,
        "standard error of test.kl_truth over the sequences of the test set",
        Test(|kl| Some(kl.se));

    KL_TRUTH_BY_POSITION: "kl_truth_by_position" in "nats", DIVERGENCE,
        "KL(truth ‖ model) at each position (0 first) of the test set's first 128 sequences: the \
         in-context-learning curve",
        Position(|seen| &seen.kl_by_position);

    LOSS_BY_POSITION: "loss_by_position" in "nats", NON_NEGATIVE,
        "cross-entropy of the next symbol at each position (0 first) of the test set's first 128 \
         sequences",
        Position(|seen| &seen.loss_by_position);
}
