//! Recipes as text: reading, overriding, writing.
//!
//! Unset keys have defaults, unknown keys are errors. Where a setting is a table with a `kind`, the kind alone
//! may stand for it (`loss = "cross-entropy"`), and a main setting without one has the default kind.

use toml::{Table, Value};

use super::recipe::Recipe;
use crate::invalid::Invalid;

/// Why a text is no recipe.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// Not TOML at all.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// A key or value that a recipe does not have.
    #[error("{path}: {message}")]
    Key {
        /// Where.
        path: String,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// An override that is not `key.path=value`.
    #[error("--set {text}: {message}")]
    Override {
        /// As given.
        text: String,
        /// What is wrong.
        message: String,
    },
    /// A value that is impossible.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Recipe {
    /// Reads a recipe and checks all of it; each override is `key.path=value`, its value in TOML.
    pub fn from_toml(text: &str, overrides: &[String]) -> Result<Self, RecipeError> {
        let mut table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| RecipeError::Syntax(error.to_string()))?;
        spell_out_kinds(&mut table);
        for text in overrides {
            apply_override(&mut table, text)?;
        }
        spell_out_kinds(&mut table);
        let recipe = deserialize(&table).map_err(|error| error.at_its_key(&table))?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The recipe as TOML, complete: enough to repeat the run.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a recipe is plain data")
    }
}

/// A recipe from its table, or where and why it is none.
fn deserialize(table: &Table) -> Result<Recipe, RecipeError> {
    serde_path_to_error::deserialize(Value::Table(table.clone())).map_err(|error| {
        RecipeError::Key {
            path: error.path().to_string(),
            // The TOML reader repeats the path on lines of its own.
            message: error
                .inner()
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        }
    })
}

impl RecipeError {
    /// Settings with a kind are read as a whole, so an error inside one names the whole. The key that is to blame
    /// is the one without which the error is another.
    fn at_its_key(self, table: &Table) -> Self {
        let RecipeError::Key { path, message } = &self else {
            return self;
        };
        let without = |key: &str| {
            let mut rest = table.clone();
            let inner = path.split('.').try_fold(&mut rest, |place, part| {
                place.get_mut(part).and_then(Value::as_table_mut)
            })?;
            let value = inner.remove(key)?;
            (deserialize(&rest) != Err(self.clone())).then_some(value)
        };
        let place = path.split('.').try_fold(table, |place, part| {
            place.get(part).and_then(Value::as_table)
        });
        let mut keys = place
            .into_iter()
            .flat_map(Table::keys)
            .filter(|key| *key != "kind");
        match keys.find_map(|key| Some((key, without(key)?))) {
            Some((key, value)) if !message.contains(&format!("`{key}`")) => RecipeError::Key {
                path: format!("{path}.{key} = {value}"),
                message: message.clone(),
            },
            _ => self,
        }
    }
}

/// Sets one key of a table from `key.path=value`.
fn apply_override(table: &mut Table, text: &str) -> Result<(), RecipeError> {
    let refuse = |message: String| RecipeError::Override {
        text: text.to_owned(),
        message,
    };
    let (path, value) = text
        .split_once('=')
        .ok_or_else(|| refuse("expected key.path=value, such as train.steps=100".into()))?;
    let value = value.trim();
    // A bare word is a string: `--set model.positions=absolute` needs no quotes inside quotes.
    let value = format!("value = {value}")
        .parse::<Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .or_else(|| is_word(value).then(|| Value::String(value.to_owned())))
        .ok_or_else(|| refuse("the value is neither TOML (whole numbers end at 9223372036854775807) nor a plain word".into()))?;
    let mut keys: Vec<&str> = path.trim().split('.').collect();
    let last = keys
        .pop()
        .filter(|last| !last.is_empty() && keys.iter().all(|key| !key.is_empty()));
    let last = last.ok_or_else(|| refuse("a part of the key is empty".into()))?;
    let mut place = table;
    for key in keys {
        let inner = place
            .entry(key)
            .or_insert_with(|| Value::Table(Table::new()));
        // `--set train.optimizer.lr=…` on a recipe with `optimizer = "adamw"`.
        if let Value::String(kind) = inner {
            *inner = kind_table(kind);
        }
        place = inner
            .as_table_mut()
            .ok_or_else(|| refuse(format!("{key} is not a table")))?;
    }
    // Settings of another kind do not belong to the new one.
    if last == "kind" && place.get(last).is_some_and(|kind| *kind != value) {
        place.clear();
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

fn is_word(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(word)
}

fn kind_table(kind: &str) -> Value {
    let kind = ("kind".to_owned(), Value::String(kind.to_owned()));
    Value::Table(Table::from_iter([kind]))
}

/// Keys whose values are tables with a kind, wherever they stand.
const WITH_KIND: [&str; 7] = [
    "prior",
    "of",
    "model",
    "start",
    "loss",
    "optimizer",
    "schedule",
];

/// The kind of the main settings, if none is given.
const DEFAULT_KINDS: [(&str, &str, &str); 5] = [
    ("task", "prior", "dirichlet"),
    ("", "model", "transformer"),
    ("train", "loss", "cross-entropy"),
    ("train", "optimizer", "adamw"),
    ("train", "schedule", "constant"),
];

/// Turns `loss = "margin"` into a table, and gives main settings without a kind the default one.
fn spell_out_kinds(table: &mut Table) {
    spell_out_names(table);
    for (outer, key, default) in DEFAULT_KINDS {
        let place = match outer {
            "" => Some(&mut *table),
            _ => table.get_mut(outer).and_then(Value::as_table_mut),
        };
        let setting = place.and_then(|place| place.get_mut(key)?.as_table_mut());
        if let Some(setting) = setting.filter(|setting| !setting.contains_key("kind")) {
            setting.insert("kind".into(), Value::String(default.into()));
        }
    }
}

fn spell_out_names(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::String(kind) if WITH_KIND.contains(&key.as_str()) => *value = kind_table(kind),
            Value::Table(inner) => spell_out_names(inner),
            Value::Array(items) => {
                items
                    .iter_mut()
                    .filter_map(Value::as_table_mut)
                    .for_each(spell_out_names);
            }
            _ => {}
        }
    }
}
