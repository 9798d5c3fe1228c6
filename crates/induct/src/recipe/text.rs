//! Recipes as text: reading, overriding, writing.
//!
//! Unset keys have defaults; unknown keys are errors. A setting that is a table with a `kind` may be written
//! as the kind alone (`loss = "cross-entropy"`), and a main setting without a kind has the default kind.

use induct_kernels::KIND;
use toml::{Table, Value};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use super::Recipe;
use super::misfit::shortened;
use super::reader::recipe_of;
use crate::Invalid;

/// Why a text is not a recipe.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// Not TOML at all.
    #[error("not valid TOML: {0}")]
    Syntax(String),
    /// Tables, lists or the parts of a key are nested too deep.
    #[error("tables, lists or the parts of a key are nested {MAX_DEPTH} levels deep or more")]
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
    /// An intervention that a trained model cannot be put under.
    #[error(
        "intervene[{index}] changes how weights are trained, not what a trained model computes; here it can be \
         ablate, clamp, patch or stop-gradient"
    )]
    AboutWeights {
        /// Its number.
        index: usize,
    },
    /// A value that is not allowed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Recipe {
    /// Parses a recipe and checks all of it. Each override is `key.path=value`, with the value in TOML.
    pub fn from_toml(text: &str, overrides: &[String]) -> Result<Self, RecipeError> {
        if text_is_too_deep(text) {
            return Err(RecipeError::TooDeep);
        }
        let table = text.parse();
        let table = table.map_err(|error| RecipeError::Syntax(syntax_error(text, &error)))?;
        Self::from_table(table, overrides)
    }

    /// The same from a table.
    pub(crate) fn from_table(mut table: Table, overrides: &[String]) -> Result<Self, RecipeError> {
        add_default_kinds(&mut table);
        for text in overrides {
            apply_override(&mut table, text)?;
        }
        // Dotted keys inside of tables, and overrides, can nest values deeper than any of their texts does.
        if table.values().any(|value| is_deeper(value, MAX_DEPTH - 1)) {
            return Err(RecipeError::TooDeep);
        }
        add_default_kinds(&mut table);
        let recipe = recipe_of(table)?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The recipe with other interventions, all of which must change what a trained model computes: entries of
    /// `[[intervene]]`, as inline tables.
    pub fn with_interventions(&self, entries: &[String]) -> Result<Self, RecipeError> {
        // How many sequences training took at once does not matter to a model that is trained.
        let mut overrides = ["train.batch=64", "record.test_sequences=64"]
            .map(String::from)
            .to_vec();
        overrides.push(format!("intervene=[{}]", entries.join(", ")));
        let intervene = Self::from_toml(&self.to_toml(), &overrides)?.intervene;
        if let Some(index) = intervene.iter().position(|spec| spec.group().is_some()) {
            return Err(RecipeError::AboutWeights { index });
        }
        Ok(Self {
            intervene,
            ..self.clone()
        })
    }

    /// The recipe as TOML, complete: enough to repeat the run.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a recipe is plain data")
    }
}

/// No recipe nests as many levels of tables and lists, or has a key of as many parts.
const MAX_DEPTH: usize = 32;

/// Whether brackets that are open at once, and the parts of keys before and in them, are [`MAX_DEPTH`] or
/// more. The parser limits brackets and parts, but not both together, and recurses as deep as they nest.
fn text_is_too_deep(text: &str) -> bool {
    let (mut open, mut dots) = (Vec::new(), 0);
    Source::new(text).lex().any(|token| {
        match token.kind() {
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => {
                open.push((kind, std::mem::take(&mut dots) + 1));
            }
            TokenKind::RightSquareBracket => {
                open.pop_if(|(kind, _)| *kind == TokenKind::LeftSquareBracket);
            }
            TokenKind::RightCurlyBracket => {
                open.pop_if(|(kind, _)| *kind == TokenKind::LeftCurlyBracket);
            }
            TokenKind::Comma | TokenKind::Newline => dots = 0,
            TokenKind::Dot => dots += 1,
            _ => {}
        }
        open.iter().map(|(_, levels)| levels).sum::<usize>() + dots >= MAX_DEPTH
    })
}

/// Whether tables and lists are nested in the value more than `levels` deep.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(deeper),
        Value::Table(table) => table.values().any(deeper),
        _ => false,
    }
}

/// The longest line to show in an error.
const LONGEST_LINE: usize = 200;

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
        let (number, most) = (shortened(number), i64::MAX);
        return format!("{number} is too large: whole numbers end at {most}");
    }
    match text.lines().any(|line| line.len() > LONGEST_LINE) {
        true => error.message().to_owned(),
        false => error.to_string(),
    }
}

/// Why a value of an override is refused.
const NEITHER: &str =
    "the value is neither TOML (whole numbers end at 9223372036854775807) nor a plain word";

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
        if let Value::String(kind) = inner {
            *inner = kind_table(kind);
        }
        place = inner
            .as_table_mut()
            .ok_or_else(|| refuse(format!("{key} is not a table")))?;
    }
    // The settings of the old kind do not apply to the new one.
    if last == KIND && place.get(last).is_some_and(|kind| *kind != value) {
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
    Value::Table(Table::from_iter([(KIND.to_owned(), kind.into())]))
}

/// The default kinds of the main settings.
const DEFAULT_KINDS: [(&str, &str, &str); 5] = [
    ("task", "prior", "dirichlet"),
    ("", "model", "transformer"),
    ("train", "loss", "cross-entropy"),
    ("train", "optimizer", "adamw"),
    ("train", "schedule", "constant"),
];

/// Gives main settings without a kind their default kind.
fn add_default_kinds(table: &mut Table) {
    for (outer, key, default) in DEFAULT_KINDS {
        let place = match outer {
            "" => Some(&mut *table),
            _ => table.get_mut(outer).and_then(Value::as_table_mut),
        };
        let setting = place.and_then(|place| place.get_mut(key)?.as_table_mut());
        if let Some(setting) = setting.filter(|setting| !setting.contains_key(KIND)) {
            setting.insert(KIND.into(), default.into());
        }
    }
}
