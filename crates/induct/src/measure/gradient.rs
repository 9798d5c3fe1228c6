//! How large the gradient is, group by group.

use super::{BuiltIn, NON_NEGATIVE, Reading};

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
