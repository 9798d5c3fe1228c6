//! Recipes as text: reading, overriding, writing.
//!
//! Unset keys have defaults; unknown keys are errors. A setting that is a table with a `kind` may be written
//! as the kind alone (`loss = "cross-entropy"`), and a main setting without a kind has the default kind.

use toml::{Table, Value};

use super::nesting::{MAX_DEPTH, table_is_too_deep, text_is_too_deep};
use super::recipe::Recipe;
use super::recipe_mistake::{Part, in_words, shortened, written, wrong_type};
use super::recipe_reader::recipe_of;
use crate::invalid::Invalid;

/// Why a text is not a recipe.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// Not TOML at all.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// Tables, lists or the parts of a key are nested deeper than in any recipe.
    #[error("nested more than {MAX_DEPTH} levels deep, which no recipe is")]
    TooDeep,
    /// A key that is unknown, or missing.
    #[error("{path}: {message}")]
    Key {
        /// Path of the key.
        path: String,
        /// What is wrong and what is allowed.
        message: String,
    },
    /// An override that is not `key.path=value`.
    #[error("{text}: {message}")]
    Override {
        /// The override as given; only its start if it is long.
        text: String,
        /// What is wrong.
        message: String,
    },
    /// A value that is not allowed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Recipe {
    /// Parses a recipe and checks all of it. Each override is `key.path=value`, with the value in TOML.
    pub fn from_toml(text: &str, overrides: &[String]) -> Result<Self, RecipeError> {
        let mut table = parse(text)?;
        spell_out_kinds(&mut table);
        for text in overrides {
            apply_override(&mut table, text)?;
        }
        // Overrides can nest values deeper than any of their texts does.
        if table_is_too_deep(&table) {
            return Err(RecipeError::TooDeep);
        }
        spell_out_kinds(&mut table);
        refuse_foreign(&table, &mut Vec::new(), &table)?;
        let table = Value::Table(table);
        let recipe = recipe_of(&table).map_err(|misfit| in_words(&table, misfit))?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The recipe as TOML, complete: enough to repeat the run.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a recipe is plain data")
    }
}

/// The longest line to show in an error.
const LONGEST_LINE: usize = 200;

/// Parses a TOML text into a table.
fn parse(text: &str) -> Result<Table, RecipeError> {
    if text_is_too_deep(text) {
        return Err(RecipeError::TooDeep);
    }
    let table: Table = text
        .parse()
        .map_err(|error| RecipeError::Syntax(syntax_error(text, &error)))?;
    match table_is_too_deep(&table) {
        true => Err(RecipeError::TooDeep),
        false => Ok(table),
    }
}

/// What is wrong with a text that is not TOML.
fn syntax_error(text: &str, error: &toml::de::Error) -> String {
    // The parser reports numbers beyond 64 bits as a mismatch of Rust types.
    let number = error.span().and_then(|span| text.get(span));
    let digits = |text: &&str| {
        let rest = text.trim_start_matches(['+', '-']);
        let digit = |c: char| c.is_ascii_alphanumeric() || c == '_';
        rest.starts_with(|c: char| c.is_ascii_digit()) && rest.chars().all(digit)
    };
    if let Some(number) = number.filter(digits).filter(|number| number.len() > 15) {
        return format!(
            "{} is too large: whole numbers end at {}",
            shortened(number),
            i64::MAX
        );
    }
    match text.lines().any(|line| line.len() > LONGEST_LINE) {
        true => error.message().to_owned(),
        false => error.to_string(),
    }
}

/// Refuses values that would be misread: dates, and lists in place of a table with a kind.
fn refuse_foreign(table: &Table, path: &mut Vec<Part>, whole: &Table) -> Result<(), RecipeError> {
    for (key, value) in table {
        path.push(Part::Key(key.clone()));
        refuse_foreign_value(value, path, whole)?;
        path.pop();
    }
    Ok(())
}

fn refuse_foreign_value(
    value: &Value,
    path: &mut Vec<Part>,
    whole: &Table,
) -> Result<(), RecipeError> {
    match value {
        Value::Datetime(date) => {
            Err(Invalid::new(written(path), date, "a recipe has no dates").into())
        }
        Value::Array(_) if has_kind(path.last()) => Err(wrong_type(whole, path.clone())),
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            path.push(Part::Index(index));
            refuse_foreign_value(item, path, whole)?;
            path.pop();
            Ok(())
        }),
        Value::Table(inner) => refuse_foreign(inner, path, whole),
        _ => Ok(()),
    }
}

/// Why a value of an override is refused.
const NEITHER: &str =
    "the value is neither TOML (whole numbers end at 9223372036854775807) nor a plain word";

/// Whether a table with a kind is expected there.
fn has_kind(part: Option<&Part>) -> bool {
    matches!(part, Some(Part::Key(key)) if WITH_KIND.contains(&key.as_str()))
}

/// Sets one key of a table from `key.path=value`.
fn apply_override(table: &mut Table, text: &str) -> Result<(), RecipeError> {
    let refuse = |message: String| RecipeError::Override {
        text: shortened(text),
        message,
    };
    let (path, value) = text
        .split_once('=')
        .ok_or_else(|| refuse("expected key.path=value, such as train.steps=100".into()))?;
    let value = value.trim();
    if path.split('.').count() > MAX_DEPTH {
        return Err(refuse(format!("the key has more than {MAX_DEPTH} parts")));
    }
    if text_is_too_deep(value) {
        return Err(refuse(RecipeError::TooDeep.to_string()));
    }
    // A bare word is a string: `model.positions=absolute` needs no quotes inside a shell's quotes.
    let value = format!("value = {value}")
        .parse::<Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .or_else(|| is_word(value).then(|| Value::String(value.to_owned())))
        .ok_or_else(|| refuse(NEITHER.into()))?;
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
        // `train.optimizer.lr=…` on a recipe with `optimizer = "adamw"`.
        if let (Value::String(kind), true) = (&*inner, WITH_KIND.contains(&key)) {
            *inner = kind_table(kind);
        }
        place = inner
            .as_table_mut()
            .ok_or_else(|| refuse(format!("{key} is not a table")))?;
    }
    // The settings of the old kind do not apply to the new one.
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

/// Keys whose values are tables with a kind, wherever they occur.
const WITH_KIND: [&str; 7] = [
    "prior",
    "of",
    "model",
    "start",
    "loss",
    "optimizer",
    "schedule",
];

/// The default kinds of the main settings.
const DEFAULT_KINDS: [(&str, &str, &str); 5] = [
    ("task", "prior", "dirichlet"),
    ("", "model", "transformer"),
    ("train", "loss", "cross-entropy"),
    ("train", "optimizer", "adamw"),
    ("train", "schedule", "constant"),
];

/// Turns `loss = "margin"` into a table, and gives main settings without a kind their default kind.
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
