//! Optimisers over the flat vector of parameters.
//!
//! An [`Optimizer`] updates one tensor at a time; the [`Updater`] decides which rates apply to it and whether
//! it is frozen. To add one, write a file like [`Sgd`]'s and list it in `optimizers!` below. One from another
//! crate enters through [`OptimizerSpec::custom`].

mod adamw;
mod sgd;
mod updater;

pub(crate) use updater::names_something;
pub use updater::{GroupSpec, Updater};

use std::fmt::Debug;
use std::sync::Arc;

use crate::Custom;
use crate::model::Tensor;
use crate::{Invalid, require};
use induct_kernels::settings::{Kind, Settings};
use induct_kernels::{choices, with_kind};

/// Updates parameters from their gradients.
///
/// It has settings but no state: what it remembers of earlier steps are its moments, which are
/// kept, saved and restored for it.
///
/// ```
/// use induct::recipe::Recipe;
/// use induct::train::{Optimizer, OptimizerSpec, Trainer, Update};
///
/// /// Sign descent: w ← w − lr · sign(g)
/// #[derive(Debug)]
/// struct SignDescent {
///     lr: f64,
/// }
///
/// impl Optimizer for SignDescent {
///     fn lr(&self) -> f64 {
///         self.lr
///     }
///
///     fn update(&self, update: &Update, grads: &[f32], _: &mut [&mut [f32]], params: &mut [f32]) {
///         let lr = update.lr as f32;
///         for (w, g) in params.iter_mut().zip(grads) {
///             *w -= lr * g.signum();
///         }
///     }
/// }
///
/// let mut recipe = Recipe::default();
/// recipe.task.length = 10;
/// recipe.train.optimizer = OptimizerSpec::custom("sign-descent", SignDescent { lr: 1e-3 }, &[]);
/// Trainer::new(&recipe)?.advance()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Optimizer: Debug + Send + Sync {
    /// The learning rate, before the schedule, for groups without their own.
    fn lr(&self) -> f64;

    /// Weight decay of the tensors that [`decay`](Self::decay), for groups without their own.
    fn weight_decay(&self) -> f64 {
        0.0
    }

    /// Which tensors decay, of those without a weight decay of their own. If another program's optimiser says
    /// anything but matrices, its settings have to say so too.
    fn decay(&self) -> Decay {
        Decay::Matrices
    }

    /// Number of moments it keeps: vectors as long as the parameters, zero at the
    /// start. At most [`MAX_MOMENTS`].
    fn moments(&self) -> usize {
        0
    }

    /// Checks its settings. The learning rate and weight decay are always
    /// checked: they must be from 0 to 1e30.
    ///
    /// # Errors
    ///
    /// If one is impossible; the error names it as in a recipe.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Updates one tensor. Gradient and moments are as long as `params`; the gradient is finite, and there
    /// are as many moments as [`moments`](Self::moments) returns.
    ///
    /// The result must depend on nothing else: a run is resumed from parameters and moments alone. Parameters
    /// that become infinite or NaN end the run at the next step, as [`Diverged`](crate::train::Diverged).
    fn update(
        &self,
        update: &Update,
        grads: &[f32],
        moments: &mut [&mut [f32]],
        params: &mut [f32],
    );
}

/// What an optimiser is told about one update of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The tensor: its name, and its shape for optimisers that treat matrices as such.
    pub tensor: &'a Tensor,
    /// Its learning rate at this step: its group's or the optimiser's, times the schedule's factor.
    pub lr: f64,
    /// Its weight decay: its group's, or else the optimiser's if it decays, and 0 if it does not.
    pub weight_decay: f64,
    /// Number of updates it has had, including this one. Steps at which it is frozen do not count.
    pub updates: u64,
}

choices! {
    /// Which tensors decay.
    pub enum Decay {
        /// Those that multiply activations: not embeddings, positional vectors, gains and biases.
        Matrices = "matrices",
        /// All.
        All = "all",
    }
}

/// The largest number of moments that an optimiser may keep.
pub const MAX_MOMENTS: usize = 8;

/// Defines the enum of all optimisers, each by its name in Rust, in recipes, and its settings.
macro_rules! optimizers {
    ($( $variant:ident = $kind:literal, $module:ident::$settings:ident; )*) => {
        $( pub use $module::$settings; )*

        with_kind! {
            /// An optimiser, as a recipe writes it: its `kind` and its settings.
            #[derive(Clone, Debug, PartialEq)]
            pub enum OptimizerSpec {
                $(
                    #[doc = concat!("`", $kind, "`")]
                    $variant($settings),
                )*
                /// One supplied by another program.
                Custom(Custom<dyn Optimizer>),
            }
        }

        impl OptimizerSpec {
            /// All built-in kinds with their settings.
            pub fn kinds() -> Vec<Kind> {
                vec![$( $settings::kind($kind), )*]
            }

            /// The optimiser itself.
            ///
            /// # Errors
            ///
            /// If another program supplies it, and the recipe was read from text.
            pub fn part(&self) -> Result<Arc<dyn Optimizer>, Invalid> {
                match self {
                    $( Self::$variant(settings) => Ok(Arc::new(settings.clone())), )*
                    Self::Custom(custom) => custom.part().cloned(),
                }
            }
        }
    };
}

optimizers! {
    Sgd = "sgd", sgd::Sgd;
    Adamw = "adamw", adamw::AdamW;
}

impl Default for OptimizerSpec {
    fn default() -> Self {
        OptimizerSpec::Adamw(AdamW::default())
    }
}

impl OptimizerSpec {
    /// An optimiser supplied by the calling program, under a name.
    ///
    /// List all settings that determine what it does: runs with equal recipes are taken for the same run. Its
    /// learning rate and weight decay need not be listed.
    pub fn custom(
        name: impl Into<String>,
        optimizer: impl Optimizer + 'static,
        settings: &[(&str, f64)],
    ) -> Self {
        let rates = [
            ("lr", optimizer.lr()),
            ("weight_decay", optimizer.weight_decay()),
        ];
        let custom = Custom::new(name, Arc::new(optimizer) as Arc<dyn Optimizer>);
        let settings = rates.iter().chain(settings);
        Self::Custom(settings.fold(custom, |custom, (name, value)| custom.with(*name, *value)))
    }

    /// The base learning rate; none for an optimiser supplied by another program, if
    /// the recipe was read from text.
    pub fn lr(&self) -> Option<f64> {
        self.part().ok().map(|optimizer| optimizer.lr())
    }

    /// Checks what is known about it: an optimiser supplied by another program may be missing.
    fn check(&self) -> Result<(), Invalid> {
        if let Self::Custom(custom) = self {
            custom.check_text("-_")?;
        }
        let Ok(optimizer) = self.part() else {
            return Ok(());
        };
        check_rate("lr", optimizer.lr())?;
        check_rate("weight_decay", optimizer.weight_decay())?;
        require(
            optimizer.moments() <= MAX_MOMENTS,
            "moments",
            optimizer.moments(),
            &format!("an optimiser that keeps at most {MAX_MOMENTS} moments"),
        )?;
        optimizer.check()
    }
}

pub(crate) fn check_rate(field: &str, value: f64) -> Result<(), Invalid> {
    require(
        (0.0..=1e30).contains(&value),
        field,
        value,
        "a number of at least 0 (at most 1e30)",
    )
}

/// Checks the fraction of a moment that is kept from step to step.
fn check_decay(field: &str, value: f64) -> Result<(), Invalid> {
    let allowed = "a number of at least 0, below 1";
    require((0.0..1.0).contains(&value), field, value, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the optimiser takes w = 0.5 in three steps down ½ (w − 2)², whose
    /// gradient changes from step to step.
    pub(super) fn three_steps(optimizer: &dyn Optimizer, weight_decay: f64) -> f32 {
        let tensor = Tensor {
            name: "w".into(),
            shape: vec![1],
            range: 0..1,
            decays: true,
        };
        let mut w = [0.5];
        let mut moments = vec![[0.0_f32]; optimizer.moments()];
        for updates in 1..=3 {
            let update = Update {
                tensor: &tensor,
                lr: optimizer.lr(),
                weight_decay,
                updates,
            };
            let grads = [w[0] - 2.0];
            let mut moments: Vec<&mut [f32]> = moments.iter_mut().map(|m| &mut m[..]).collect();
            optimizer.update(&update, &grads, &mut moments, &mut w);
        }
        w[0]
    }
}
