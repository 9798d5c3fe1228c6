//! What is trained for the paper.

/// The values of p for the interpolated priors, in the order of their experiments.
pub const INTERPOLATED: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

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
