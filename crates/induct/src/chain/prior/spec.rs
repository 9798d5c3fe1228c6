//! Priors as a recipe writes them.

use std::sync::Arc;

use induct_kernels::with_kind;

use super::super::table::TransitionTable;
use super::task::check_task;
use super::{
    Dirichlet, DoublyStochastic, Fixed, Iid, Interpolated, Mixture, Pool, Prior, Symmetric,
};
use crate::Custom;
use crate::{Invalid, Within, require};

/// The settings of one kind of prior, as a recipe writes them.
pub(super) trait Settings {
    /// Checks them against a task. Draws nothing, so that checking a recipe costs nothing.
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid>;

    /// Makes the prior from settings that have been checked.
    fn prepare(&self, states: usize, ngram: usize) -> Result<Arc<dyn Prior>, Invalid>;

    /// Number of chains in all its pools.
    fn pooled(&self) -> f64 {
        0.0
    }

    /// Checks that it contains no code that only another program has.
    fn check_code(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// The parts of other programs in it.
    fn customs_mut(&mut self) -> Vec<&mut Custom<dyn Prior>> {
        Vec::new()
    }
}

/// Makes the enum of all kinds, and everything that is the same for each of them.
macro_rules! kinds {
    ($($kind:ident: $meaning:literal,)*) => {
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
                $(#[doc = $meaning] $kind($kind),)*
                /// A prior from another crate: its name, and its settings.
                Custom(Custom<dyn Prior>),
            }
        }

        impl PriorSpec {
            pub(super) fn settings(&self) -> &dyn Settings {
                match self {
                    $(Self::$kind(settings) => settings,)*
                    Self::Custom(custom) => custom,
                }
            }

            pub(super) fn settings_mut(&mut self) -> &mut dyn Settings {
                match self {
                    $(Self::$kind(settings) => settings,)*
                    Self::Custom(custom) => custom,
                }
            }
        }

        $(impl From<$kind> for PriorSpec {
            fn from(settings: $kind) -> Self {
                Self::$kind(settings)
            }
        })*
    };
}

// One line per kind. Its name in recipes is in kebab case.
kinds! {
    Dirichlet: "Every context's row is an independent Dirichlet draw.",
    Iid: "One Dirichlet draw, shared by all rows: symbols are independent.",
    DoublyStochastic: "Uniform over tables whose columns sum to one as well.",
    Interpolated: "Two states, between independent symbols (p = 0) and no unigram signal (p = 1).",
    Symmetric: "Two states that stay put with the same probability a ~ U(½−ε, ½+ε).",
    Fixed: "The same chain for every sequence.",
    Pool: "A number of chains drawn once from another prior, then used again and again.",
    Mixture: "One of several priors, chosen for every sequence by weight.",
}

impl Default for PriorSpec {
    fn default() -> Self {
        Dirichlet::default().into()
    }
}

impl From<Custom<dyn Prior>> for PriorSpec {
    fn from(custom: Custom<dyn Prior>) -> Self {
        Self::Custom(custom)
    }
}

impl Settings for Custom<dyn Prior> {
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        self.check_text("-")?;
        match self.part() {
            Ok(prior) => prior.check(states, ngram),
            // Text that another program wrote can be read, even if it cannot be trained.
            Err(_) => Ok(()),
        }
    }

    fn prepare(&self, _: usize, _: usize) -> Result<Arc<dyn Prior>, Invalid> {
        self.part().cloned()
    }

    fn check_code(&self) -> Result<(), Invalid> {
        self.part().map(|_| ())
    }

    fn customs_mut(&mut self) -> Vec<&mut Custom<dyn Prior>> {
        vec![self]
    }
}

impl PriorSpec {
    /// Checks the settings against a task's k and n. Draws nothing, and trusts a prior from another program.
    ///
    /// # Errors
    ///
    /// If a setting is impossible or does not fit the task.
    pub fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        check_task(states, ngram)?;
        let checked = self.settings().check(states, ngram);
        checked.within("prior")
    }

    /// Checks that it contains no code that only another program has.
    pub(crate) fn check_code(&self) -> Result<(), Invalid> {
        let checked = self.settings().check_code();
        checked.within("prior")
    }

    /// The priors of other programs in it: itself, or parts of pools and mixtures.
    pub fn customs_mut(&mut self) -> Vec<&mut Custom<dyn Prior>> {
        self.settings_mut().customs_mut()
    }

    /// Memory for the chains of all its pools together, in bytes. They are drawn when the prior is made.
    pub fn pool_bytes(&self, states: usize, ngram: usize) -> f64 {
        self.settings().pooled() * TransitionTable::bytes(states, ngram)
    }
}

/// Refuses a kind that is only defined for two states.
pub(super) fn two_states(kind: &str, states: usize) -> Result<(), Invalid> {
    require(
        states == 2,
        "kind",
        format!("\"{kind}\" with {states} states"),
        &format!("\"{kind}\" is defined for 2 states; set task.states = 2 or another kind"),
    )
}
