//! How far training has come, and how large its gradient is.

use super::{BuiltIn, NON_NEGATIVE, Reading};

measures! {
    STEP: "step" in "steps", NON_NEGATIVE,
        "training steps done",
        Run(|seen| Some(seen.step as f64));

    SEQUENCES: "sequences" in "sequences", NON_NEGATIVE,
        "training sequences seen",
        Run(|seen| Some(seen.sequences as f64));

    TRAIN_LOSS: "train_loss" in "nats", NON_NEGATIVE,
        "loss of the last step's batch, averaged over positions, of the weights before that step",
        Run(|seen| seen.train_loss);

    TRAIN_LOSS_LAST: "train_loss_last" in "nats", NON_NEGATIVE,
        "loss of the last step's batch at the last position",
        Run(|seen| seen.train_loss_last);

    GRADIENT_NORM: "gradient_norm" in "", NON_NEGATIVE,
        "Euclidean norm of the gradient of the last step's batch, of the weights before that step, \
         restricted to a tensor or a part of the model, frozen or not",
        Gradient(|layout, gradient, group| {
            let tensors = layout.in_group(group);
            let entries = tensors.flat_map(|tensor| &gradient[tensor.range.clone()]);
            entries
                .map(|&g| f64::from(g) * f64::from(g))
                .sum::<f64>()
                .sqrt()
        });
}
