//! Stochastic gradient descent.

use serde::{Deserialize, Serialize};

use super::{Decay, Optimizer, Update, check_decay};
use crate::Invalid;

/// m ← μ m + (g + λ w);  w ← w − lr · m
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sgd {
    /// Learning rate.
    pub lr: f64,
    /// μ.
    #[serde(default)]
    pub momentum: f64,
    /// λ.
    #[serde(default)]
    pub weight_decay: f64,
    /// Which tensors decay.
    #[serde(default, skip_serializing_if = "Decay::is_usual")]
    pub decay: Decay,
}

impl Optimizer for Sgd {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn decay(&self) -> Decay {
        self.decay
    }

    fn moments(&self) -> usize {
        1
    }

    fn check(&self) -> Result<(), Invalid> {
        check_decay("momentum", self.momentum)
    }

    fn update(
        &self,
        update: &Update,
        grads: &[f32],
        moments: &mut [&mut [f32]],
        params: &mut [f32],
    ) {
        let [m] = moments else {
            unreachable!("it keeps one moment")
        };
        let (lr, decay) = (update.lr as f32, update.weight_decay as f32);
        let mu = self.momentum as f32;
        for ((w, &g), m) in params.iter_mut().zip(grads).zip(m.iter_mut()) {
            *m = mu * *m + (g + decay * *w);
            *w -= lr * *m;
        }
    }
}
