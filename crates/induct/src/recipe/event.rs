//! Moments that a run itself brings about, as recipes name them.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{Recipe, is_default};
use crate::measure::KL_STRATEGY;
use crate::{Invalid, require};

/// A moment that the run itself brings about: the onset of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The strategy whose phase begins: one of the task's ladder.
    pub at: String,
    /// Steps to wait after the onset took effect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub after: u64,
}

impl Event {
    /// Checks that a run of `recipe`, which names the event at `field`, can tell when it happens.
    pub(super) fn check(&self, field: &str, recipe: &Recipe) -> Result<(), Invalid> {
        let ladder = recipe.task.ladder();
        let allowed = ladder.join(", ");
        require(
            ladder.contains(&self.at),
            &format!("{field}.at"),
            format!("\"{}\"", self.at),
            &format!("one of {allowed}: the strategies that phases are read from"),
        )?;
        let record = &recipe.record;
        let mut chosen = record.chosen().into_iter();
        require(
            chosen.any(|measure| measure.name() == KL_STRATEGY.name),
            "record.measures",
            format!("{:?}", record.measures),
            &format!("add \"kl_strategy\": phases are read from it, and {field} waits for one"),
        )
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.after {
            0 => write!(f, "at the onset of {}", self.at),
            1 => write!(f, "1 step after the onset of {}", self.at),
            steps => write!(f, "{steps} steps after the onset of {}", self.at),
        }
    }
}
