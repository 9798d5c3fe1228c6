//! An optimiser of one's own beside AdamW: Lion (Chen et al., 2023).
//!
//!     cargo run --release -p induct --example custom_optimizer

use induct::measure::KL_TRUTH;
use induct::recipe::Recipe;
use induct::train::{Optimizer, OptimizerSpec, Update};

/// w ← w − lr · (sign(β₁ m + (1−β₁) g) + λ w);  m ← β₂ m + (1−β₂) g
#[derive(Debug)]
struct Lion {
    lr: f64,
    betas: [f32; 2],
}

impl Optimizer for Lion {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn moments(&self) -> usize {
        1
    }

    fn update(
        &self,
        update: &Update,
        grads: &[f32],
        moments: &mut [&mut [f32]],
        params: &mut [f32],
    ) {
        let (lr, decay) = (update.lr as f32, update.weight_decay as f32);
        for ((w, &g), m) in params.iter_mut().zip(grads).zip(moments[0].iter_mut()) {
            let direction = self.betas[0] * *m + (1.0 - self.betas[0]) * g;
            *w -= lr * (direction.signum() + decay * *w);
            *m = self.betas[1] * *m + (1.0 - self.betas[1]) * g;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lion = Lion {
        lr: 3e-4,
        betas: [0.9, 0.99],
    };
    // What is told here makes two runs different runs; the learning rate is told in any case.
    let lion = OptimizerSpec::custom("lion", lion, &[("beta_1", 0.9), ("beta_2", 0.99)]);
    let settings = ["task.length=50", "train.steps=1200", "record.every=200"];
    let mut recipe = Recipe::from_toml("", &settings.map(String::from))?;
    for (name, optimizer) in [("AdamW", OptimizerSpec::default()), ("Lion", lion)] {
        recipe.train.optimizer = optimizer;
        let run = induct::run::train(&recipe)?;
        let kl = run.history.column(&KL_TRUTH).expect("every run records it");
        let kl: Vec<String> = kl.iter().map(|kl| format!("{kl:.4}")).collect();
        println!("{name:5}  kl_truth every 200 steps: {}", kl.join("  "));
    }
    Ok(())
}
