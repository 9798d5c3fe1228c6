//! Explains what is wrong with a table that is not a recipe: which key is to blame, its value, and what is
//! allowed.
//!
//! Settings with a `kind` are buffered before they are parsed, so a [`Misfit`] does not know its position.
//! Parsing again finds it. Keys are parsed in order: if the first few keys of a table are followed by one
//! that cannot exist, the parser complains about that one exactly when the keys before it are fine. So a
//! binary search finds the first wrong key, at every level down to the value to blame.

use toml::{Table, Value};

use super::recipe_reader::{Misfit, recipe_of};
use super::recipe_text::RecipeError;
use crate::invalid::Invalid;

/// A key, and a name, that no recipe has. It sorts after every other key.
const NOWHERE: &str = "\u{10ffff}";

/// One part of a path into a recipe.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Key(String),
    Index(usize),
}

/// The error for `table`, which was refused with `misfit`.
pub(super) fn in_words(table: &Value, misfit: Misfit) -> RecipeError {
    let (path, trimmed) = find(table, &misfit);
    Mistake {
        whole: table,
        trimmed,
        path,
    }
    .in_words(misfit)
}

/// The error for the value at `path` of `table`, which has the wrong type.
pub(super) fn wrong_type(table: &Table, path: Vec<Part>) -> RecipeError {
    let whole = Value::Table(table.clone());
    let mistake = Mistake {
        trimmed: whole.clone(),
        whole: &whole,
        path,
    };
    let allowed = mistake.options();
    mistake.not_allowed(&allowed)
}

/// The path as a user writes it.
pub(super) fn written(path: &[Part]) -> String {
    let mut text = String::new();
    for part in path {
        match part {
            Part::Index(index) => text += &format!("[{index}]"),
            Part::Key(key) => {
                let dot = if text.is_empty() { "" } else { "." };
                text += &format!("{dot}{}", key_text(key));
            }
        }
    }
    text
}

/// The longest value to show in full.
const LONGEST_SHOWN: usize = 80;

/// The text, truncated if it is long.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn key_text(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(bare) {
        true => shortened(key),
        false => shortened(&format!("{key:?}")),
    }
}

fn at<'a>(root: &'a Value, path: &[Part]) -> Option<&'a Value> {
    path.iter().try_fold(root, |place, part| match part {
        Part::Key(key) => place.get(key),
        Part::Index(index) => place.get(index),
    })
}

fn at_mut<'a>(root: &'a mut Value, path: &[Part]) -> Option<&'a mut Value> {
    path.iter().try_fold(root, |place, part| match part {
        Part::Key(key) => place.get_mut(key),
        Part::Index(index) => place.get_mut(index),
    })
}

/// The first of 1, …, `most` for which `holds`. It must hold for `most`, and from some number on.
fn first(most: usize, mut holds: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The path to the value to blame, and the recipe without anything after it.
fn find(whole: &Value, misfit: &Misfit) -> (Vec<Part>, Value) {
    let (mut path, mut root) = (Vec::new(), whole.clone());
    loop {
        let next = match at(&root, &path) {
            Some(Value::Table(table)) => first_wrong_key(&root, &path, table)
                .or_else(|| first_wrong_number(&root, &path, table)),
            Some(Value::Array(items)) => first_wrong_entry(&root, &path, items, misfit),
            _ => None,
        };
        let Some((part, trimmed)) = next else {
            return (path, root);
        };
        path.push(part);
        root = trimmed;
    }
}

/// The first key whose value is wrong; `None` if the table itself is to blame.
fn first_wrong_key(root: &Value, path: &[Part], table: &Table) -> Option<(Part, Value)> {
    let with_first = |count: usize| {
        let mut trial = root.clone();
        if let Some(Value::Table(table)) = at_mut(&mut trial, path) {
            let mut seen = 0;
            table.retain(|key, _| {
                seen += usize::from(key != "kind" && key != NOWHERE);
                key == "kind" || seen <= count
            });
            table.insert(NOWHERE.into(), Value::Boolean(true));
        }
        trial
    };
    let wrong_within = |count: usize| {
        let misfit = recipe_of(&with_first(count)).err();
        !matches!(misfit, Some(Misfit::UnknownKey { key, .. }) if key == NOWHERE)
    };
    let keys: Vec<&String> = table
        .keys()
        .filter(|key| *key != "kind" && *key != NOWHERE)
        .collect();
    if keys.is_empty() || wrong_within(0) || !wrong_within(keys.len()) {
        return None;
    }
    let count = first(keys.len(), wrong_within);
    let trimmed = with_first(count);
    let wanted = keys[count - 1].as_str();
    let known = |misfit: Option<Misfit>| !matches!(misfit, Some(Misfit::UnknownKey { key, .. }) if key == wanted);
    // An unknown key is the table's mistake, unless something below it has the same name.
    let mut scalar = trimmed.clone();
    let own: Vec<Part> = path
        .iter()
        .cloned()
        .chain([Part::Key(keys[count - 1].clone())])
        .collect();
    *at_mut(&mut scalar, &own)? = Value::Boolean(true);
    let exists = known(recipe_of(&scalar).err());
    exists.then(|| (Part::Key(keys[count - 1].clone()), trimmed))
}

/// The first value that is not a number, in a table of numbers under any names; none if the table is not one
/// of these.
fn first_wrong_number(root: &Value, path: &[Part], table: &Table) -> Option<(Part, Value)> {
    let mut trial = root.clone();
    let other = NOWHERE.repeat(2);
    *at_mut(&mut trial, path)? = Value::Table(Table::from_iter([(other, Value::Float(0.0))]));
    let takes_any_name = match recipe_of(&trial) {
        Ok(_) => true,
        // An outer table's complaint about what was put there to find this one.
        Err(misfit) => matches!(misfit, Misfit::UnknownKey { key, .. } if key == NOWHERE),
    };
    let is_number = |value: &Value| matches!(value, Value::Integer(_) | Value::Float(_));
    let (key, _) = table.iter().find(|(_, value)| !is_number(value))?;
    takes_any_name.then(|| (Part::Key(key.clone()), root.clone()))
}

/// The first entry that is wrong; `None` if the list itself is to blame.
fn first_wrong_entry(
    root: &Value,
    path: &[Part],
    items: &[Value],
    misfit: &Misfit,
) -> Option<(Part, Value)> {
    let with_first = |count: usize| {
        let mut trial = root.clone();
        if let Some(Value::Array(items)) = at_mut(&mut trial, path) {
            items.truncate(count);
        }
        trial
    };
    let same = |count: usize| recipe_of(&with_first(count)).as_ref() == Err(misfit);
    // A type with its own error message (a number, or a list of them) is shown as a whole. In a list of tables it is
    // that of a key.
    let own_message = matches!(misfit, Misfit::Other(_)) && !items.iter().all(Value::is_table);
    if own_message || items.is_empty() || same(0) {
        return None;
    }
    let count = first(items.len(), same);
    let too_long =
        matches!(misfit, Misfit::Length(..)) && !matches!(items[count - 1], Value::Array(_));
    (!too_long).then(|| (Part::Index(count - 1), with_first(count)))
}

/// The place where a recipe goes wrong.
struct Mistake<'a> {
    whole: &'a Value,
    /// The recipe without anything after `path`, so that whatever is tried there fails first.
    trimmed: Value,
    path: Vec<Part>,
}

impl Mistake<'_> {
    fn in_words(mut self, misfit: Misfit) -> RecipeError {
        match misfit {
            Misfit::UnknownKey { key, known } => self.no_such_key(key, known),
            Misfit::MissingKey("kind") => {
                let allowed = self.kinds().map_or_else(String::new, one_of);
                self.path.push(Part::Key("kind".into()));
                self.key_error(format!("missing; {allowed}"))
            }
            Misfit::MissingKey(key) => {
                let own = Part::Key(key.into());
                if let Some(Value::Table(table)) = at_mut(&mut self.trimmed, &self.path) {
                    // No required key is a boolean, so this gives an error that says what it takes.
                    table.insert(key.into(), Value::Boolean(true));
                }
                self.path.push(own);
                let allowed = match recipe_of(&self.trimmed) {
                    Err(Misfit::Expected(expected)) => self.allowed(&expected),
                    Err(Misfit::Other(sentence)) => sentence,
                    _ => self.options(),
                };
                self.key_error(format!("missing; it takes {allowed}"))
            }
            Misfit::NotOneOf(names) => {
                if let Some(Value::Table(_)) = at(self.whole, &self.path) {
                    self.path.push(Part::Key("kind".into()));
                }
                self.not_allowed(&one_of(names))
            }
            Misfit::Expected(expected) if expected == "variant identifier" => {
                let allowed = self.kinds().map_or_else(String::new, one_of);
                self.path.push(Part::Key("kind".into()));
                self.not_allowed(&allowed)
            }
            Misfit::Expected(expected) => {
                let allowed = self.allowed(&expected);
                self.not_allowed(&allowed)
            }
            Misfit::Length(_, expected) => {
                let digits = expected.split(|c: char| !c.is_ascii_digit());
                let count = digits.into_iter().find(|digits| !digits.is_empty());
                let allowed = match count {
                    Some(count) if !expected.contains("struct") => format!("a list of {count}"),
                    _ => "a table".into(),
                };
                self.not_allowed(&allowed)
            }
            Misfit::Other(sentence) => self.not_allowed(&sentence),
        }
    }

    fn no_such_key(mut self, key: String, known: &[&str]) -> RecipeError {
        let kind = at(self.whole, &self.path).and_then(|place| place.get("kind"));
        let kind = kind.filter(|_| key != "kind");
        let owner = match (written(&self.path), kind) {
            (path, _) if path.is_empty() => "a recipe".to_owned(),
            (path, None) => path,
            (path, Some(kind)) => format!("{path} with kind = {kind}"),
        };
        let known: Vec<&str> = known.iter().copied().chain(kind.map(|_| "kind")).collect();
        let meant = nearest(&key, &known).map(|near| format!("did you mean \"{near}\"? "));
        self.path.push(Part::Key(key));
        self.key_error(format!(
            "no such key; {}keys of {owner}: {}",
            meant.unwrap_or_default(),
            known.join(", ")
        ))
    }

    fn key_error(&self, message: String) -> RecipeError {
        RecipeError::Key {
            path: written(&self.path),
            message,
        }
    }

    fn not_allowed(&self, allowed: &str) -> RecipeError {
        let value = at(self.whole, &self.path).map(|value| match value {
            // TOML would spread a multi-line string over several lines.
            Value::String(text) => format!("{text:?}"),
            other => other.to_string(),
        });
        let value = shortened(&value.unwrap_or_default().replace('\n', " "));
        Invalid::new(written(&self.path), value, allowed).into()
    }

    /// What a type that describes itself as `expected` takes, in words.
    fn allowed(&self, expected: &str) -> String {
        match expected {
            "usize" => "a whole number, 0 or above".into(),
            "u64" => format!("a whole number from 0 to {}", i64::MAX),
            "f64" => "a number".into(),
            "a boolean" => "true or false".into(),
            "a string" => "text in quotes".into(),
            "a sequence" => "a list".into(),
            "a map" => "a table of numbers".into(),
            "an array of length 2" => "a list of 2 numbers".into(),
            _ => self.options(),
        }
    }

    /// The names, kinds or keys that are allowed at the path: what the parser says about one that does not
    /// exist.
    fn options(&self) -> String {
        let nowhere = || Value::String(NOWHERE.into());
        if let Some(Misfit::NotOneOf(names)) = self.tried(nowhere()) {
            return one_of(names);
        }
        if let Some(kinds) = self.kinds() {
            let first = kinds.first().unwrap_or(&"");
            let kinds = one_of(kinds).replace("one of", "one of the kinds");
            return format!("a table such as {{ kind = \"{first}\" }}, or {kinds}");
        }
        let table = Table::from_iter([(NOWHERE.to_owned(), Value::Boolean(true))]);
        match self.tried(Value::Table(table)) {
            Some(Misfit::UnknownKey { known, .. }) => {
                format!("a table with the keys {}", known.join(", "))
            }
            _ => "a value of another type".into(),
        }
    }

    /// The kinds of the setting at the path, if it has any.
    fn kinds(&self) -> Option<&'static [&'static str]> {
        let nowhere = Value::String(NOWHERE.into());
        let table = Table::from_iter([("kind".to_owned(), nowhere)]);
        match self.tried(Value::Table(table)) {
            Some(Misfit::NotOneOf(kinds)) => Some(kinds),
            _ => None,
        }
    }

    /// The misfit that another value at the path would cause.
    fn tried(&self, value: Value) -> Option<Misfit> {
        let mut trial = self.trimmed.clone();
        *at_mut(&mut trial, &self.path)? = value;
        recipe_of(&trial).err()
    }
}

fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("one of {}", quoted.join(", "))
}

/// The known name that `name` is most likely a misspelling of.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(LONGEST_SHOWN).collect();
    let slips = |other: &&str| edits(&name, &other.chars().collect::<Vec<_>>());
    let (slips, near) = known.iter().map(|other| (slips(other), *other)).min()?;
    // Up to a third of a name may be wrong, but not all of a short one.
    (slips <= (name.len() / 3).max(1) && slips < near.len()).then_some(near)
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two words.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let differ = usize::from(from[i - 1] != to[j - 1]);
            let mut least = (rows[i - 1][j] + 1)
                .min(row[j - 1] + 1)
                .min(rows[i - 1][j - 1] + differ);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = ["steps", "batch", "optimizer"];
        for (name, expected) in [
            ("stepz", Some("steps")),
            ("tseps", Some("steps")),
            ("bacth", Some("batch")),
            ("optimiser", Some("optimizer")),
            ("seed", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, &known), expected, "{name}");
        }
    }
}
