//! The moment at which an intervention begins or ends.

use serde::{Deserialize, Serialize};

use crate::recipe::{Event, Recipe};
use crate::{Invalid, require};

/// A step, or a moment that the run itself brings about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a step, or an event such as { at = \"unigram\", after = 100 }"
)]
pub enum When {
    /// After this many steps.
    Step(u64),
    /// At the onset of a phase.
    Event(Event),
}

impl Default for When {
    fn default() -> Self {
        When::Step(0)
    }
}

impl When {
    /// The step, if it is known beforehand.
    pub(crate) fn known(&self) -> Option<u64> {
        match self {
            When::Step(step) => Some(*step),
            When::Event(_) => None,
        }
    }

    /// The step, given the onset of one strategy's phase; `None` if it waits for another one.
    pub(crate) fn at_onset(&self, strategy: &str, onset: u64) -> Option<u64> {
        match self {
            When::Event(event) if event.at == strategy => Some(onset.saturating_add(event.after)),
            _ => None,
        }
    }

    /// Checks that a run of `recipe` has such a moment before its end.
    pub(crate) fn check(&self, field: &str, recipe: &Recipe) -> Result<(), Invalid> {
        let steps = recipe.train.steps;
        match self {
            When::Event(event) => event.check(field, recipe),
            When::Step(0) => Ok(()),
            When::Step(step) => require(
                *step < steps,
                field,
                step,
                &format!("a step before the last: below train.steps = {steps}"),
            ),
        }
    }
}
