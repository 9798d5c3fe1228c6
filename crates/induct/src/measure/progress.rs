//! How far training has come, and how large its gradient is.

use super::{BuiltIn, NON_NEGATIVE, Reading};

/// Steps done.
pub static STEP: BuiltIn = BuiltIn {
    name: "step",
    meaning: "training steps done",
    unit: "steps",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| Some(seen.step as f64)),
};

/// Training sequences seen.
pub static SEQUENCES: BuiltIn = BuiltIn {
    name: "sequences",
    meaning: "training sequences seen",
    unit: "sequences",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| Some(seen.sequences as f64)),
};

/// Loss of the last step's batch.
pub static TRAIN_LOSS: BuiltIn = BuiltIn {
    name: "train_loss",
    meaning: "loss of the last step's batch, averaged over positions, of the weights before that step",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| seen.train_loss),
};

/// The same at the last position.
pub static TRAIN_LOSS_LAST: BuiltIn = BuiltIn {
    name: "train_loss_last",
    meaning: "loss of the last step's batch at the last position",
    unit: "nats",
    range: NON_NEGATIVE,
    reading: Reading::Run(|seen| seen.train_loss_last),
};

/// Norm of the last step's gradient.
pub static GRADIENT_NORM: BuiltIn = BuiltIn {
    name: "gradient_norm",
    meaning: "Euclidean norm of the gradient of the last step's batch, of the weights before that step, \
              restricted to a tensor or a part of the model, frozen or not",
    unit: "",
    range: NON_NEGATIVE,
    reading: Reading::Gradient(|layout, gradient, group| {
        let tensors = layout.in_group(group);
        let entries = tensors.flat_map(|tensor| &gradient[tensor.range.clone()]);
        entries
            .map(|&g| f64::from(g) * f64::from(g))
            .sum::<f64>()
            .sqrt()
    }),
};
