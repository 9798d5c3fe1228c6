//! Parameters with their own settings.

use serde::{Deserialize, Serialize};

use super::check_rate;
use crate::Invalid;
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

impl GroupSpec {
    pub(super) fn check(&self, layout: &Layout) -> Result<(), Invalid> {
        names_something(layout, "name", &self.name)?;
        check_rate("lr", self.lr.unwrap_or(0.0))?;
        check_rate("weight_decay", self.weight_decay.unwrap_or(0.0))
    }
}

/// Whether `group` names any tensor at all.
pub(crate) fn names_something(layout: &Layout, field: &str, group: &str) -> Result<(), Invalid> {
    if layout.in_group(group).next().is_some() {
        return Ok(());
    }
    let names: Vec<&str> = layout
        .tensors()
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    let allowed = format!(
        "all, or a tensor or a part of its name, out of: {}",
        names.join(", ")
    );
    Err(Invalid::new(field, format!("\"{group}\""), allowed))
}
