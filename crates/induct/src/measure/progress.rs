//! How far training has come.

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
