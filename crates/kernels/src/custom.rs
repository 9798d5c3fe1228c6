//! Parts of a recipe that another program brings: a prior, a task, a block, a strategy, a measure or an optimiser
//! of its own.

use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Invalid, require};

/// A part that is not built in.
///
/// A recipe's text carries its name and settings, so that two runs with different settings are different
/// runs, and every program can read what a run recorded. The part itself is code: a recipe that was read
/// from text has none, and can be shown but not trained.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct Custom<T: ?Sized> {
    /// What it is called in recipes, files and figures.
    pub name: String,
    /// What it was made with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, f64>,
    #[serde(skip)]
    part: Option<Arc<T>>,
}

impl<T: ?Sized> Custom<T> {
    /// A part under a name of its own.
    pub fn new(name: impl Into<String>, part: Arc<T>) -> Self {
        Self {
            name: name.into(),
            settings: BTreeMap::new(),
            part: Some(part),
        }
    }

    /// What a recipe's text says of a part: all but the part itself.
    pub fn named(name: String, settings: BTreeMap<String, f64>) -> Self {
        Self {
            name,
            settings,
            part: None,
        }
    }

    /// The same with one more setting to tell it from others of its name.
    #[must_use]
    pub fn with(mut self, setting: impl Into<String>, value: f64) -> Self {
        self.settings.insert(setting.into(), value);
        self
    }

    /// Gives a part that was read from text its code.
    pub fn supply(&mut self, part: Arc<T>) {
        self.part = Some(part);
    }

    /// Checks what stands in the recipe's text.
    /// Its name may have letters, digits and `marks` in it.
    pub fn check_text(&self, marks: &str) -> Result<(), Invalid> {
        require(
            is_name(&self.name, marks),
            "name",
            format!("\"{}\"", self.name),
            &format!(
                "letters, digits and any of \"{marks}\", a letter first: it names columns and figures"
            ),
        )?;
        // A number that does not equal itself would make a run differ from itself.
        let mut settings = self.settings.iter();
        settings.try_for_each(|(key, value)| {
            let field = format!("settings.{key}");
            require(value.is_finite(), &field, value, "a finite number")
        })
    }

    /// The part itself.
    ///
    /// # Errors
    ///
    /// If the recipe was read from text.
    pub fn part(&self) -> Result<&Arc<T>, Invalid> {
        self.part.as_ref().ok_or_else(|| {
            let allowed = "a part of this program: that one is brought by the program that trained the run, which \
                           alone can draw from it or compute with it";
            Invalid::new("name", format!("\"{}\"", self.name), allowed)
        })
    }
}

impl<T: ?Sized> Clone for Custom<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            settings: self.settings.clone(),
            part: self.part.clone(),
        }
    }
}

impl<T: ?Sized> Debug for Custom<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Custom")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Whether a text has only letters, digits and `marks` in it, a letter first.
pub fn is_name(text: &str, marks: &str) -> bool {
    let fit = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(fit)
}

/// Two parts are the same to a recipe if its text says the same of them.
impl<T: ?Sized> PartialEq for Custom<T> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.settings == other.settings
    }
}
