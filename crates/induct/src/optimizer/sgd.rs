//! Stochastic gradient descent.

use induct_kernels::settings;

use super::{Decay, Optimizer, Update, check_decay};
use crate::Invalid;

settings! {
    /// Stochastic gradient descent.
    pub struct Sgd {
        /// Learning rate; it has to be set.
        pub lr: f64,
        /// How much of the last step is kept, μ.
        pub momentum: f64 = 0.0,
        /// Weight decay, λ.
        pub weight_decay: f64 = 0.0,
        /// Which tensors decay.
        #[when(|own| own.decay != Decay::Matrices)]
        pub decay: Decay = Decay::Matrices,
    }
}

/// m ← μ m + (g + λ w);  w ← w − lr · m
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

#[cfg(test)]
mod tests {
    use super::super::tests::three_steps;
    use super::*;

    #[test]
    fn it_follows_pytorch() {
        let sgd = Sgd {
            lr: 0.1,
            momentum: 0.9,
            weight_decay: 0.1,
            decay: Decay::Matrices,
        };
        // From golden/optimizers.py: the same three steps in f64 by PyTorch's documented algorithm.
        for (weight_decay, expected) in [(0.1, 1.238_644_5), (0.0, 1.271)] {
            let found = three_steps(&sgd, weight_decay);
            assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        }
    }
}
