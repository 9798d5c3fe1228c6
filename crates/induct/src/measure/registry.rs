//! All measures. To add one, write it here and put it into [`REGISTRY`].

use super::{HeadMeasure, Measure, Reading, Target};

const NON_NEGATIVE: [f64; 2] = [0.0, f64::INFINITY];
const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
const SHARE: [f64; 2] = [0.0, 1.0];
/// Single precision may leave a divergence a little below zero.
const DIVERGENCE: [f64; 2] = [-1e-3, f64::INFINITY];

/// Steps done.
pub static STEP: Measure = Measure {
    name: "step",
    meaning: "training steps done",
    unit: "steps",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| Some(seen.step as f64)),
};

/// Training sequences seen.
pub static SEQUENCES: Measure = Measure {
    name: "sequences",
    meaning: "training sequences seen",
    unit: "sequences",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| Some(seen.sequences as f64)),
};

/// Loss of the last step's batch.
pub static TRAIN_LOSS: Measure = Measure {
    name: "train_loss",
    meaning: "loss of the last step's batch, averaged over positions, of the weights before that step",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| seen.train_loss),
};

/// The same at the last position.
pub static TRAIN_LOSS_LAST: Measure = Measure {
    name: "train_loss_last",
    meaning: "loss of the last step's batch at the last position",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| seen.train_loss_last),
};

/// KL(truth ‖ model) at the last position.
pub static KL_TRUTH: Measure = Measure {
    name: "kl_truth",
    meaning: "KL(truth ‖ model) at the last position, averaged over the task's own test set",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Run(|seen| Some(seen.truth.last)),
};

/// The standard error of that.
pub static KL_TRUTH_SE: Measure = Measure {
    name: "kl_truth_se",
    meaning: "standard error of kl_truth over the sequences of the test set",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| Some(seen.truth.se)),
};

/// KL(truth ‖ model) over all positions.
pub static KL_TRUTH_ALL: Measure = Measure {
    name: "kl_truth_all",
    meaning: "KL(truth ‖ model) averaged over all positions of the test set's first 128 sequences",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Run(|seen| seen.truth.all),
};

/// KL(strategy ‖ model) at the last position.
pub static KL_STRATEGY: Measure = Measure {
    name: "kl_strategy",
    meaning: "KL(strategy ‖ model) at the last position, same test set; one column per strategy",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Strategy(|kl| Some(kl.last)),
};

/// KL(strategy ‖ model) over all positions.
pub static KL_STRATEGY_ALL: Measure = Measure {
    name: "kl_strategy_all",
    meaning: "KL(strategy ‖ model) averaged over all positions of the test set's first 128 sequences",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Strategy(|kl| kl.all),
};

/// KL(truth ‖ model) on another test set.
pub static TEST_KL_TRUTH: Measure = Measure {
    name: "test.kl_truth",
    meaning: "KL(truth ‖ model) at the last position of another test set; one column per set in record.tests",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Test(|kl| Some(kl.last)),
};

/// The standard error of that.
pub static TEST_KL_TRUTH_SE: Measure = Measure {
    name: "test.kl_truth_se",
    meaning: "standard error of test.kl_truth over the sequences of the test set",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Test(|kl| Some(kl.se)),
};

/// KL(truth ‖ model) by position.
pub static KL_TRUTH_BY_POSITION: Measure = Measure {
    name: "kl_truth_by_position",
    meaning: "KL(truth ‖ model) at each position (0 first) of the test set's first 128 sequences: the in-context-learning curve",
    unit: "nats",
    range: DIVERGENCE,
    reading: Reading::Position(|seen| &seen.kl_by_position),
};

/// Cross-entropy by position.
pub static LOSS_BY_POSITION: Measure = Measure {
    name: "loss_by_position",
    meaning: "cross-entropy of the next symbol at each position (0 first) of the test set's first 128 sequences",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Position(|seen| &seen.loss_by_position),
};

/// Attention on the previous position.
pub static PREVIOUS_TOKEN: Measure = Measure {
    name: "previous_token",
    meaning: "mean attention on the previous position",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(HeadMeasure::Mass(Target::PreviousToken)),
};

/// Attention on what followed the current symbol.
pub static INDUCTION: Measure = Measure {
    name: "induction",
    meaning: "mean attention on positions whose predecessor equals the current symbol, over positions that have such a one",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(HeadMeasure::Mass(Target::Induction)),
};

/// Attention on the current symbol.
pub static SAME_TOKEN: Measure = Measure {
    name: "same_token",
    meaning: "mean attention on positions with the current symbol, the current position included",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(HeadMeasure::Mass(Target::SameToken)),
};

/// Attention on what followed the current context.
pub static NGRAM_MATCH: Measure = Measure {
    name: "ngram_match",
    meaning: "mean attention on positions whose n−1 predecessors equal the last n−1 symbols, over positions that have such a one; for n = 2 the same as induction",
    unit: "share",
    range: SHARE,
    reading: Reading::Head(HeadMeasure::Mass(Target::NgramMatch)),
};

/// Entropy of attention.
pub static ENTROPY: Measure = Measure {
    name: "entropy",
    meaning: "mean entropy of the attention pattern",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Head(HeadMeasure::Entropy),
};

/// The first layer's positional profile.
pub static POSITIONAL_PROFILE: Measure = Measure {
    name: "positional_profile",
    meaning: "weight that position alone gives to each lag (0 is the current position) in the first layer, averaged over symbols and heads; the minimal model's v",
    unit: "",
    range: ANY,
    reading: Reading::Lag(|seen| &seen.profile),
};

/// How far odd lags stand out.
pub static ODD_EVEN: Measure = Measure {
    name: "odd_even",
    meaning: "how far lags 3, 5, 7, 9 stand above their even neighbours in the positional profile, in units of the mean weight at lags 2 to 10",
    unit: "",
    range: ANY,
    reading: Reading::Run(|seen| seen.odd_even),
};

/// How much more an equal symbol attracts in layer 2.
pub static MATCHING_GAP: Measure = Measure {
    name: "matching_gap",
    meaning: "the second layer's score for an equal symbol minus that for another one, best pair of heads; for the minimal model, of W_k",
    unit: "",
    range: ANY,
    reading: Reading::Run(|seen| seen.matching.map(|matching| matching.gap)),
};

/// How diagonal those scores are.
pub static DIAGONAL_DOMINANCE: Measure = Measure {
    name: "diagonal_dominance",
    meaning: "(D − O) / (|D| + |O|) with D and O the mean scores for an equal and for another symbol; empty while a transformer's scores are below 0.001, too small to attract anything",
    unit: "",
    range: [-1.0, 1.0],
    reading: Reading::Run(|seen| seen.matching.and_then(|matching| matching.dominance)),
};

/// Every measure there is.
pub static REGISTRY: &[&Measure] = &[
    &STEP,
    &SEQUENCES,
    &TRAIN_LOSS,
    &TRAIN_LOSS_LAST,
    &KL_TRUTH,
    &KL_TRUTH_SE,
    &KL_TRUTH_ALL,
    &KL_STRATEGY,
    &KL_STRATEGY_ALL,
    &TEST_KL_TRUTH,
    &TEST_KL_TRUTH_SE,
    &KL_TRUTH_BY_POSITION,
    &LOSS_BY_POSITION,
    &PREVIOUS_TOKEN,
    &INDUCTION,
    &SAME_TOKEN,
    &NGRAM_MATCH,
    &ENTROPY,
    &POSITIONAL_PROFILE,
    &ODD_EVEN,
    &MATCHING_GAP,
    &DIAGONAL_DOMINANCE,
];

/// Measures that every run records, first of all: phases and progress are read from them.
pub static ALWAYS: &[&Measure] = &[&STEP, &SEQUENCES, &KL_TRUTH];

/// Names of the measures that a recipe records unless it says otherwise, beside [`ALWAYS`].
pub const DEFAULT: [&str; 11] = [
    "train_loss",
    "kl_truth_se",
    "kl_truth_all",
    "kl_strategy",
    "kl_strategy_all",
    "test.kl_truth",
    "previous_token",
    "induction",
    "odd_even",
    "matching_gap",
    "diagonal_dominance",
];
