//! What is trained for the paper.

use crate::experiment::Plan;

/// Strategies beside the ladder that two and three states are examined with. With three states, the first
/// takes long.
const COUNTS: &[&str] = &["unigram-and-current"];
const BAYES: &[&str] = &["bayes"];
const BOTH: &[&str] = &["unigram-and-current", "bayes"];

/// The values of p for the interpolated priors.
pub const INTERPOLATED: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The experiments that train on them, in the same order.
pub const INTERPOLATED_NAMES: &str = "interpolated-{0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0}";

/// The four one-layer models: name and description.
pub const ONE_LAYER: [(&str, &str); 4] = [
    ("one-layer-relative", "one layer, relative positions"),
    (
        "one-layer-relative-mlp",
        "one layer with an MLP, relative positions",
    ),
    ("one-layer-absolute", "one layer, absolute positions"),
    (
        "one-layer-absolute-mlp",
        "one layer with an MLP, absolute positions",
    ),
];

/// All experiments. Where a run takes long, fewer seeds are trained at most: the whole must end within 40
/// minutes.
pub const EXPERIMENTS: &[Plan] = &[
    // Figure 8 shows the distribution of its transitions.
    Plan::new("main", 8, 80, 25)
        .all_seeds()
        .snapshots(160, 41)
        .exam(BOTH, &[]),
    Plan::new("three-states", 6, 40, 25)
        .snapshots(160, 41)
        .exam(BAYES, COUNTS),
    Plan::new("three-states-more-heads", 1, 8, 50).exam(BAYES, COUNTS),
    Plan::new("three-states-from-construction", 1, 8, 100),
    Plan::new("printed", 1, 8, 250)
        .snapshots(81, 81)
        .exam(BOTH, &[]),
    Plan::new("printed-three-states", 0, 8, 250)
        .snapshots(81, 81)
        .exam(BAYES, COUNTS),
    Plan::new("released", 1, 40, 25)
        .snapshots(41, 41)
        .exam(BOTH, &[]),
    Plan::new("released-three-states", 0, 20, 50)
        .snapshots(41, 41)
        .exam(BAYES, COUNTS),
    Plan::new("minimal", 8, 80, 25).snapshots(160, 1),
    Plan::new("minimal-start", 8, 80, 1).profile(),
    Plan::new("minimal-three-states", 6, 40, 25).snapshots(160, 1),
    Plan::new("minimal-{uniform-start,slow-second-layer}", 6, 40, 10),
    Plan::new(INTERPOLATED_NAMES, 2, 20, 25),
    Plan::new("released-interpolated-{0.5,1.0}", 0, 8, 25),
    Plan::new("trigram", 1, 40, 20),
    Plan::new("trigram-one-head", 1, 20, 20),
    Plan::new("printed-trigram{,-one-head}", 0, 20, 20),
    Plan::new("five-states", 1, 20, 50),
    Plan::new("eight-states", 1, 20, 100),
    Plan::new("eight-states-two-heads", 0, 3, 100),
    Plan::new("one-layer-relative", 1, 8, 200).exam(COUNTS, &[]),
    Plan::new("one-layer-{relative-mlp,absolute,absolute-mlp}", 0, 8, 200).exam(COUNTS, &[]),
    Plan::new("released-one-layer", 0, 8, 200).exam(COUNTS, &[]),
    Plan::new("rate-1e-4", 0, 3, 100),
    Plan::new("rate-3e-4", 1, 8, 50),
];
