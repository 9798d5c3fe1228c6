//! Adam with decoupled weight decay.

use induct_kernels::settings;

use super::{Decay, Optimizer, Update, check_decay};
use crate::{Invalid, require};

settings! {
    /// Adam with decoupled weight decay.
    pub struct AdamW {
        /// Learning rate.
        pub lr: f64 = 1e-3,
        /// How much of each moment is kept from step to step, β₁ and β₂.
        pub betas: [f64; 2] = [0.9, 0.95],
        /// What the root of the second moment is kept away from zero by, ε.
        pub epsilon: f64 = 1e-8,
        /// Weight decay, λ.
        pub weight_decay: f64 = 0.1,
        /// Which tensors decay.
        #[when(|own| own.decay != Decay::Matrices)]
        pub decay: Decay = Decay::Matrices,
    }
}

/// m ← β₁ m + (1−β₁) g;  s ← β₂ s + (1−β₂) g²;
/// w ← w − lr · (λ w + m̂ / (√ŝ + ε)), where m̂ = m / (1−β₁ⁿ), ŝ = s / (1−β₂ⁿ) after n updates
impl Optimizer for AdamW {
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
        2
    }

    fn check(&self) -> Result<(), Invalid> {
        check_decay("betas[0]", self.betas[0])?;
        check_decay("betas[1]", self.betas[1])?;
        require(
            (1e-30..=1.0).contains(&self.epsilon),
            "epsilon",
            self.epsilon,
            "a number above 0 (from 1e-30 to 1)",
        )
    }

    fn update(
        &self,
        update: &Update,
        grads: &[f32],
        moments: &mut [&mut [f32]],
        params: &mut [f32],
    ) {
        let [m, s] = moments else {
            unreachable!("it keeps two moments")
        };
        let (lr, decay) = (update.lr as f32, update.weight_decay as f32);
        let [beta_1, beta_2] = self.betas.map(|beta| beta as f32);
        let after = |beta: f64| 1.0 - libm::pow(beta, update.updates as f64);
        let correction = self.betas.map(after);
        let step_size = (update.lr / correction[0]) as f32;
        let root = (1.0 / correction[1].sqrt()) as f32;
        let epsilon = self.epsilon as f32;
        let moments = m.iter_mut().zip(s.iter_mut());
        for ((w, &g), (m, s)) in params.iter_mut().zip(grads).zip(moments) {
            *m = beta_1 * *m + (1.0 - beta_1) * g;
            *s = beta_2 * *s + (1.0 - beta_2) * g * g;
            *w -= lr * decay * *w + step_size * *m / (s.sqrt() * root + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::three_steps;
    use super::*;

    #[test]
    fn it_follows_pytorch() {
        let adamw = AdamW {
            lr: 0.1,
            ..AdamW::default()
        };
        // From golden/optimizers.py: the same three steps in f64 by PyTorch's documented algorithm.
        for (weight_decay, expected) in [(0.1, 0.781_626_8), (0.0, 0.799_420_8)] {
            let found = three_steps(&adamw, weight_decay);
            assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
        }
    }
}
