//! Priors over chains.
//!
//! | | is |
//! |---|---|
//! | [`Prior`] | a way to draw tables, built in or from another crate |
//! | [`PriorSpec`] | a prior as a recipe writes it: a `kind` with its settings |
//! | [`TaskPrior`] | a prior that fits its task's k and n, ready to draw |
//!
//! Every built-in kind has its own file here. To add one, write its file (settings, check, draw, tests) and
//! add it to the list in `spec`.

mod birkhoff;
#[cfg(test)]
pub(crate) mod checks;
mod dirichlet;
mod doubly_stochastic;
mod draft;
mod fixed;
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
pub use dirichlet::{Dirichlet, Iid};
pub use doubly_stochastic::DoublyStochastic;
pub(crate) use draft::ROW_TOLERANCE;
pub use draft::{Draft, DrawError};
pub use fixed::Fixed;
pub use interpolated::Interpolated;
pub use law::Law;
pub(crate) use law::weighted;
pub use mixture::{Mixture, MixturePart};
pub use pool::{MAX_POOL, Pool, PoolWeights};
pub use rows::{Alpha, Rows};
pub use spec::PriorSpec;
pub use symmetric::Symmetric;
pub use task::TaskPrior;
pub(crate) use task::check_task;

use crate::Invalid;
use crate::chain::Generator;

/// A prior over chains: a way to draw transition tables.
///
/// Only [`draw`](Prior::draw) must be implemented. A prior from another crate enters a recipe as
/// [`PriorSpec::Custom`], under its own name:
///
/// ```
/// use std::sync::Arc;
///
/// use induct::Custom;
/// use induct::chain::{Draft, Generator, Prior, PriorSpec, open_interval};
/// use induct::recipe::Recipe;
/// use induct::train::Trainer;
///
/// /// Chains that stay where they are, with a probability drawn from an interval.
/// #[derive(Debug)]
/// struct Sticky {
///     least: f64,
/// }
///
/// impl Prior for Sticky {
///     fn draw(&self, rng: &mut Generator, table: &mut Draft) {
///         let states = table.states();
///         let stay = open_interval(rng, self.least, 1.0);
///         for context in 0..table.contexts() {
///             let row = table.row_mut(context);
///             row.fill((1.0 - stay) / (states - 1) as f64);
///             // The last symbol of a context is its least significant digit.
///             row[context % states] = stay;
///         }
///     }
/// }
///
/// let sticky = Custom::<dyn Prior>::new("sticky", Arc::new(Sticky { least: 0.8 }));
/// let mut recipe = Recipe::default();
/// recipe.task.prior = PriorSpec::Custom(sticky.with("least", 0.8));
/// let loss = Trainer::new(&recipe)?.advance()?;
/// assert!((loss - 2.0_f64.ln()).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
