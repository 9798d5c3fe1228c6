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

    /// Number of chains in its pool.
    fn pooled(&self) -> f64 {
        0.0
    }

    /// The priors that it draws from, each with its place.
    fn parts(&self) -> Vec<(String, &PriorSpec)> {
        Vec::new()
    }

    /// The same, to be completed.
    fn parts_mut(&mut self) -> Vec<&mut PriorSpec> {
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
}

impl PriorSpec {
    /// Checks the settings against a task's k and n. Draws nothing, and trusts a prior from another program.
    pub fn check(&self, states: usize, ngram: usize) -> Result<(), Invalid> {
        check_task(states, ngram)?;
        let own = &|spec: &Self| spec.settings().check(states, ngram);
        self.check_all(own).within("prior")
    }

    /// Checks that it contains no code that only another program has.
    pub(crate) fn check_code(&self) -> Result<(), Invalid> {
        let own = &|spec: &Self| match spec {
            Self::Custom(custom) => custom.part().map(|_| ()),
            _ => Ok(()),
        };
        self.check_all(own).within("prior")
    }

    /// Checks it, then the priors that it draws from.
    fn check_all(&self, check: &dyn Fn(&Self) -> Result<(), Invalid>) -> Result<(), Invalid> {
        check(self)?;
        let mut parts = self.settings().parts().into_iter();
        parts.try_for_each(|(place, part)| part.check_all(check).within(&place))
    }

    /// The priors of other programs in it: itself, or parts of pools and mixtures.
    pub fn customs_mut(&mut self) -> Vec<&mut Custom<dyn Prior>> {
        match self {
            Self::Custom(custom) => vec![custom],
            _ => {
                let parts = self.settings_mut().parts_mut().into_iter();
                parts.flat_map(Self::customs_mut).collect()
            }
        }
    }

    /// Memory for the chains of all its pools together, in bytes. They are drawn when the prior is made.
    pub fn pool_bytes(&self, states: usize, ngram: usize) -> f64 {
        let own = self.settings().pooled() * TransitionTable::bytes(states, ngram);
        let parts = self.settings().parts().into_iter();
        let of_parts: f64 = parts.map(|(_, part)| part.pool_bytes(states, ngram)).sum();
        own + of_parts
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
