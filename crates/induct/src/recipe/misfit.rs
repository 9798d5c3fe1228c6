//! What is wrong with a table that is not a recipe: where, the value, and what is allowed.

use std::fmt::{Display, Formatter};

use induct_kernels::KIND;
use serde::de::{Error, Expected, Unexpected};
use toml::{Table, Value};

use super::RecipeError;
use crate::Invalid;

/// Why a table does not match the type of a recipe.
#[derive(Debug)]
pub(super) struct Misfit {
    /// The parts of the path to the setting, innermost first.
    path: Vec<String>,
    /// Its value, as the user wrote it.
    value: Option<String>,
    /// The kind of the table, if it has one.
    kind: Option<String>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The value is another than what is allowed.
    Takes(String),
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    MissingKey(&'static str),
}

impl From<What> for Misfit {
    fn from(what: What) -> Self {
        Self {
            path: Vec::new(),
            value: None,
            kind: None,
            what,
        }
    }
}

impl Misfit {
    /// Adds the setting around it, as [`key_text`] or `[index]`.
    pub(super) fn within(mut self, outer: &str) -> Self {
        self.path.push(outer.to_owned());
        self
    }

    /// Adds the value that it is about, unless it is known already.
    pub(super) fn about(mut self, value: &Value) -> Self {
        let text = || match value {
            // TOML would spread a multi-line string over several lines.
            Value::String(text) => format!("{text:?}"),
            other => other.to_string().replace('\n', " "),
        };
        self.value.get_or_insert_with(|| shortened(&text()));
        self
    }

    /// Adds the kind of the table that it is about.
    pub(super) fn of_kind(mut self, kind: &str) -> Self {
        self.kind = self.path.is_empty().then(|| kind.to_owned()).or(self.kind);
        self
    }

    /// What is allowed in place of the value.
    pub(super) fn takes(self) -> Option<String> {
        match self.what {
            What::Takes(takes) => Some(takes),
            _ => None,
        }
    }

    /// The key that is missing, and the table that it is missing in.
    pub(super) fn missing_in<'a>(
        &self,
        root: &'a mut Value,
    ) -> Option<(&'a mut Table, &'static str)> {
        let What::MissingKey(key) = self.what else {
            return None;
        };
        let index = |part: &str| part.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
        let inner = |place: &'a mut Value, part: &String| match index(part) {
            Some::<usize>(index) => place.get_mut(index),
            None => place.get_mut(part),
        };
        let place = self.path.iter().rev().try_fold(root, inner)?;
        Some((place.as_table_mut()?, key))
    }

    /// The error for the user. If a key is missing, it may say what that `takes`.
    pub(super) fn in_words(self, takes: Option<String>) -> RecipeError {
        let path = self.path.iter().rev().fold(String::new(), |path, part| {
            let dot = if path.is_empty() || part.starts_with('[') {
                ""
            } else {
                "."
            };
            path + dot + part
        });
        let own = |key: &str| match path.as_str() {
            "" => key_text(key),
            _ => format!("{path}.{}", key_text(key)),
        };
        match self.what {
            What::Takes(allowed) => {
                Invalid::new(path, self.value.unwrap_or_default(), allowed).into()
            }
            What::MissingKey(key) => {
                let takes = takes.map_or(String::new(), |takes| format!("; it takes {takes}"));
                RecipeError::Key {
                    path: own(key),
                    message: format!("missing{takes}"),
                }
            }
            What::UnknownKey { ref key, known } => {
                let kind = self.kind.map(|kind| format!(" with {KIND} = \"{kind}\""));
                let known: Vec<&str> = known
                    .iter()
                    .copied()
                    .chain(kind.as_ref().map(|_| KIND))
                    .collect();
                let meant = nearest(key, &known).map(|near| format!("did you mean \"{near}\"? "));
                let message = format!(
                    "no such key; {}keys of {}{}: {}",
                    meant.unwrap_or_default(),
                    if path.is_empty() { "a recipe" } else { &path },
                    kind.unwrap_or_default(),
                    known.join(", ")
                );
                let path = own(key);
                RecipeError::Key { path, message }
            }
        }
    }
}

impl Error for Misfit {
    fn custom<T: Display>(allowed: T) -> Self {
        What::Takes(allowed.to_string()).into()
    }

    fn invalid_type(_: Unexpected, expected: &dyn Expected) -> Self {
        Self::custom(match expected.to_string().as_str() {
            "usize" | "u64" => "a whole number, 0 or above",
            "f64" => "a number",
            "a boolean" => "true or false",
            "a string" => "text in quotes",
            "a sequence" => "a list",
            "a map" => "a table of numbers",
            "an array of length 2" => "a list of 2 numbers",
            _ => "a value of another type",
        })
    }

    fn invalid_value(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_variant(_: &str, names: &'static [&'static str]) -> Self {
        Self::custom(one_of(names))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let key = key.to_owned();
        What::UnknownKey { key, known }.into()
    }

    fn missing_field(key: &'static str) -> Self {
        What::MissingKey(key).into()
    }
}

impl Display for Misfit {
    // Never shown: serde's traits require it.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Misfit {}

/// The longest value to show in full.
const LONGEST_SHOWN: usize = 80;

/// The text, truncated if it is long.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A key as a user writes it.
pub(super) fn key_text(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(bare) {
        true => shortened(key),
        false => shortened(&format!("{key:?}")),
    }
}

pub(super) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("one of {}", quoted.join(", "))
}

/// The known name that `name` is most likely a misspelling of.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name: String = name.chars().take(LONGEST_SHOWN).collect();
    let slips = known
        .iter()
        .map(|other| (strsim::osa_distance(&name, other), *other));
    let (slips, near) = slips.min()?;
    // Up to a third of a name may be wrong, but not all of a short one.
    (slips <= (name.chars().count() / 3).max(1) && slips < near.len()).then_some(near)
}
