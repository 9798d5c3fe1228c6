//! The one error for a setting that cannot be used.

use std::fmt::Display;

/// A setting whose value is impossible: which one, what it was, and what is allowed.
///
/// Rooms name a field as they know it (`alpha`); whoever holds the setting puts its own name in
/// front with [`Invalid::within`], so that a user reads the full path (`task.prior.alpha`).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} = {value} is not allowed: {allowed}")]
pub struct Invalid {
    /// Path of the setting, such as `task.prior.alpha`.
    pub field: String,
    /// The offending value, as a user would write it.
    pub value: String,
    /// What is allowed, and how to mend it.
    pub allowed: String,
}

impl Invalid {
    /// An impossible `value` of `field`, with a sentence on what is allowed.
    pub fn new(field: impl Into<String>, value: impl Display, allowed: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }

    /// The same error, seen from the setting that holds this one.
    pub fn within(mut self, outer: &str) -> Self {
        self.field = if self.field.is_empty() {
            outer.to_owned()
        } else {
            format!("{outer}.{}", self.field)
        };
        self
    }
}

/// `value` if `holds`, else an [`Invalid`] that names it.
pub(crate) fn require<T: Display>(
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
