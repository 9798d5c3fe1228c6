//! Priors as a recipe writes them.

use std::sync::Arc;

use super::super::table::TransitionTable;
use super::task::check_task;
use super::{Dirichlet, Prior, PriorSpec};
use crate::Custom;
use crate::{Invalid, Within, require};

/// The settings of one kind of prior, as a recipe writes them.
pub(super) trait PriorSettings {
    /// Checks them against a task with k `states` and n = `ngram`. Draws nothing, so that checking a recipe costs
    /// nothing.
    fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        let _ = (states, ngram);
        Ok(())
    }

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

impl PriorSettings for Custom<dyn Prior> {
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
