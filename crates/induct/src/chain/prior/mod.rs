//! Priors over chains.
//!
//! | | is |
//! |---|---|
//! | [`Prior`] | a way to draw tables, built in or from another crate |
//! | [`PriorSpec`] | a prior as a recipe writes it: a `kind` with its settings |
//! | [`TaskPrior`] | a prior that fits its task's k and n, ready to draw |
//!
//! Every built-in kind has its own file here. To add one, write its file (settings, check, draw, tests) and list it
//! in `priors!` below.

mod birkhoff;
#[cfg(test)]
pub(crate) mod checks;
mod dirichlet;
mod doubly_stochastic;
mod draft;
mod fixed;
mod iid;
mod interpolated;
mod law;
mod mixture;
mod pool;
mod rows;
mod spec;
mod symmetric;
mod task;

use std::fmt::Debug;

pub(crate) use birkhoff::rectangle_move;
pub(crate) use draft::ROW_TOLERANCE;
pub use draft::{Draft, DrawError};
pub use law::Law;
pub(crate) use law::weighted;
pub use mixture::MixturePart;
pub use pool::{MAX_POOL, PoolWeights};
pub use rows::{Alpha, Rows};
pub use task::TaskPrior;
pub(crate) use task::check_task;

use induct_kernels::settings::{Kind, Settings};
use induct_kernels::with_kind;

use crate::chain::Generator;
use crate::{Custom, Invalid};

/// A prior over chains: a way to draw transition tables.
///
/// Only [`draw`](Prior::draw) must be implemented. A prior from another crate enters a recipe as
/// [`PriorSpec::Custom`], under its own name: `examples/custom_prior.rs` is a complete program.
pub trait Prior: Debug + Send + Sync {
    /// Checks its settings against a task with k `states` and n = `ngram`. An error names the setting as the
    /// prior knows it; the caller prepends the path to the prior.
    ///
    /// # Errors
    ///
    /// If no such table exists, or a setting is meaningless.
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        let _ = (states, ngram);
        Ok(())
    }

    /// Fills the rows of a table, one distribution per context, from nothing but `rng`.
    ///
    /// A table without a unique stationary law is drawn again. The rows of a prior from another crate are
    /// checked and used as they are: nothing is normalised.
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>);

    /// What is known about the form of its draws. Where this says something, Bayes predictions are exact, or
    /// nearly so; otherwise they are computed from draws of the prior.
    fn law(&self) -> Law<'_> {
        Law::Unknown
    }
}

/// Defines the enum of all priors, each by its name in Rust, in recipes, and its settings.
macro_rules! priors {
    ($( $variant:ident = $kind:literal, $module:ident::$settings:ident; )*) => {
        $( pub use $module::$settings; )*

        with_kind! {
            /// A prior over chains, as a recipe writes it: a `kind`, and its settings.
            ///
            /// `doubly-stochastic`, `interpolated` and `symmetric` are priors over Markov chains; in a task with
            /// n > 2 their tables depend only on the last symbol of a context.
            ///
            /// ```
            /// use induct::chain::PriorSpec;
            /// use induct::chain::prior::{Dirichlet, Pool, PoolWeights};
            /// use induct::recipe::Recipe;
            ///
            /// let text = "prior = { kind = \"pool\", size = 64, of = { kind = \"dirichlet\" } }";
            /// let recipe = Recipe::from_toml(&format!("[task]\n{text}"), &[])?;
            /// let of = Box::new(PriorSpec::from(Dirichlet::default()));
            /// let weights = PoolWeights::default();
            /// assert_eq!(recipe.task.prior, PriorSpec::from(Pool { size: 64, seed: 0, weights, of }));
            /// # Ok::<(), induct::recipe::RecipeError>(())
            /// ```
            #[derive(Clone, Debug, PartialEq)]
            pub enum PriorSpec {
                $(
                    #[doc = concat!("`", $kind, "`")]
                    $variant($settings),
                )*
                /// A prior from another crate: its name, and its settings.
                Custom(Custom<dyn Prior>),
            }
        }

        impl PriorSpec {
            /// All built-in kinds with their settings.
            pub fn kinds() -> Vec<Kind> {
                vec![$( $settings::kind($kind), )*]
            }

            fn settings(&self) -> &dyn spec::PriorSettings {
                match self {
                    $( Self::$variant(settings) => settings, )*
                    Self::Custom(custom) => custom,
                }
            }

            fn settings_mut(&mut self) -> &mut dyn spec::PriorSettings {
                match self {
                    $( Self::$variant(settings) => settings, )*
                    Self::Custom(custom) => custom,
                }
            }
        }

        $( impl From<$settings> for PriorSpec {
            fn from(settings: $settings) -> Self {
                Self::$variant(settings)
            }
        } )*
    };
}

priors! {
    Dirichlet = "dirichlet", dirichlet::Dirichlet;
    Iid = "iid", iid::Iid;
    DoublyStochastic = "doubly-stochastic", doubly_stochastic::DoublyStochastic;
    Interpolated = "interpolated", interpolated::Interpolated;
    Symmetric = "symmetric", symmetric::Symmetric;
    Fixed = "fixed", fixed::Fixed;
    Pool = "pool", pool::Pool;
    Mixture = "mixture", mixture::Mixture;
}
