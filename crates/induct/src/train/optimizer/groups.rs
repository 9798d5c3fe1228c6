//! Parameters with their own settings, and frozen parameters.

use serde::{Deserialize, Serialize};

use super::check_rate;
use crate::invalid::{Invalid, require};
use crate::model::Layout;

/// Separate settings for some of the parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// Which: a tensor (`layers.0.v`), a part of the model (`layers.1`, `unembed`) or a kind (`W_K`).
    pub name: String,
    /// Learning rate that replaces the optimiser's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr: Option<f64>,
    /// Weight decay that replaces the optimiser's, for matrices and everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f64>,
}

/// Steps during which some of the parameters do not move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreezeSpec {
    /// Which parameters, named as in [`GroupSpec::name`].
    pub group: String,
    /// First frozen step.
    #[serde(default)]
    pub from: u64,
    /// First step that is no longer frozen; if unset, it stays frozen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

impl GroupSpec {
    pub(super) fn check(&self, layout: &Layout) -> Result<(), Invalid> {
        names_something(layout, "name", &self.name)?;
        check_rate("lr", self.lr.unwrap_or(0.0))?;
        check_rate("weight_decay", self.weight_decay.unwrap_or(0.0))
    }
}

impl FreezeSpec {
    pub(super) fn check(&self, layout: &Layout) -> Result<(), Invalid> {
        names_something(layout, "group", &self.group)?;
        let until = self.until.unwrap_or(u64::MAX);
        let allowed = format!("a step after from = {}", self.from);
        require(until > self.from, "until", until, &allowed)
    }

    pub(super) fn covers(&self, step: u64) -> bool {
        self.from <= step && self.until.is_none_or(|until| step < until)
    }
}

/// How many of the first `steps` steps are covered by any of `freezes`.
pub(super) fn frozen_steps(freezes: &[FreezeSpec], steps: u64) -> u64 {
    let mut stretches: Vec<(u64, u64)> = freezes
        .iter()
        .map(|freeze| (freeze.from, freeze.until.unwrap_or(u64::MAX).min(steps)))
        .collect();
    stretches.sort_unstable();
    let (mut frozen, mut counted_to) = (0, 0);
    for (from, until) in stretches {
        frozen += until.saturating_sub(from.max(counted_to));
        counted_to = counted_to.max(until);
    }
    frozen
}

/// Whether `group` names any tensor at all.
fn names_something(layout: &Layout, field: &str, group: &str) -> Result<(), Invalid> {
    if layout.in_group(group).next().is_some() {
        return Ok(());
    }
    let names: Vec<&str> = layout
        .tensors()
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    let allowed = format!(
        "a tensor or a part of its name, out of: {}",
        names.join(", ")
    );
    Err(Invalid::new(field, format!("\"{group}\""), allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frozen_steps_are_counted_once() {
        let freeze = |from, until| FreezeSpec {
            group: "embed".into(),
            from,
            until,
        };
        let freezes = [
            freeze(5, Some(8)),
            freeze(0, Some(2)),
            freeze(6, Some(10)),
            freeze(90, None),
        ];
        for steps in [0, 1, 2, 6, 9, 10, 50, 89, 90, 100] {
            let covered = |step: &u64| freezes.iter().any(|freeze| freeze.covers(*step));
            let one_by_one = (0..steps).filter(covered).count() as u64;
            assert_eq!(frozen_steps(&freezes, steps), one_by_one, "{steps}");
        }
        assert_eq!(frozen_steps(&freezes, u64::MAX), 7 + (u64::MAX - 90));
    }
}
