//! The one error for a setting that cannot be used.

use std::fmt::Display;

/// A setting whose value is not allowed: its name, the value, and what is allowed.
///
/// A module names a field as it knows it (`alpha`). The setting around it adds its own name with
/// [`Invalid::within`], so that a user reads the full path (`task.prior.alpha`).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} = {value} is not allowed: {allowed}")]
pub struct Invalid {
    /// Path of the setting, such as `task.prior.alpha`.
    pub field: String,
    /// The offending value, as a user would write it.
    pub value: String,
    /// What is allowed, and how to fix it.
    pub allowed: String,
}

impl Invalid {
    /// A `value` of `field` that is not allowed, with a sentence on what is.
    pub fn new(field: impl Into<String>, value: impl Display, allowed: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }

    /// The same error, named from the setting that contains this one.
    pub fn within(mut self, outer: &str) -> Self {
        self.field = if self.field.is_empty() {
            outer.to_owned()
        } else {
            format!("{outer}.{}", self.field)
        };
        self
    }
}

/// An [`Invalid`] that names the field and its value, unless `holds`.
pub fn require<T: Display>(
    holds: bool,
    field: &str,
    value: T,
    allowed: &str,
) -> Result<(), Invalid> {
    if holds {
        Ok(())
    } else {
        Err(Invalid::new(field, value, allowed))
    }
}
