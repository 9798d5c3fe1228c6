//! The keys in which two recipes differ.

use serde::Serialize;
use toml::Value;

use super::Recipe;

/// A key that two recipes set differently. Values are TOML; `None` where a recipe does not have the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Path of the key, such as `train.optimizer.lr` or `record.tests[0].name`.
    pub key: String,
    /// Its value in the first recipe.
    #[serde(rename = "a")]
    pub old: Option<String>,
    /// Its value in the second recipe.
    #[serde(rename = "b")]
    pub new: Option<String>,
}

impl Recipe {
    /// Every key of the complete recipe with its value as TOML, ordered by key.
    pub fn entries(&self) -> Vec<(String, String)> {
        let table = Value::try_from(self).expect("a recipe is plain data");
        let mut entries = Vec::new();
        collect("", &table, &mut entries);
        entries
    }

    /// The keys in which `new` differs from this recipe, ordered by key.
    pub fn differences(&self, new: &Recipe) -> Vec<Difference> {
        let (old, new) = (self.entries(), new.entries());
        let value = |entries: &[(String, String)], key: &str| {
            let found = entries.iter().find(|(other, _)| other == key);
            found.map(|(_, value)| value.clone())
        };
        let mut keys: Vec<&String> = old.iter().chain(&new).map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.dedup();
        let difference = |key: &String| Difference {
            key: key.clone(),
            old: value(&old, key),
            new: value(&new, key),
        };
        let all = keys.into_iter().map(difference);
        all.filter(|found| found.old != found.new).collect()
    }
}

impl Recipe {
    /// The overrides, each `key.path=value`, that turn `base` into this recipe, ordered by key; `None` if
    /// overrides cannot do that, because `base` sets a key that this recipe leaves unset.
    ///
    /// ```
    /// use induct::recipe::Recipe;
    ///
    /// let base = Recipe::default();
    /// let recipe = Recipe::from_toml("task.states = 3", &["train.batch=32".into()])?;
    /// let overrides = recipe.overrides_of(&base).expect("nothing is left unset");
    /// assert_eq!(overrides, ["task.states=3", "train.batch=32"]);
    /// # Ok::<(), induct::recipe::RecipeError>(())
    /// ```
    pub fn overrides_of(&self, base: &Recipe) -> Option<Vec<String>> {
        let table = |recipe: &Recipe| Value::try_from(recipe).expect("a recipe is plain data");
        let mut overrides = Vec::new();
        overriding("", &table(base), &table(self), &mut overrides)?;
        Some(overrides)
    }
}

/// Adds the overrides that turn a value at `path` into another. A list is replaced whole, and so is a table
/// of another kind, whose keys are others.
fn overriding(path: &str, old: &Value, new: &Value, overrides: &mut Vec<String>) -> Option<()> {
    let kind = |value: &Value| value.get("kind").cloned();
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Table(was), Value::Table(is)) if kind(old) == kind(new) => {
            if was.keys().any(|key| !is.contains_key(key)) {
                return None;
            }
            let missing = Value::Array(Vec::new());
            for (key, value) in is {
                let separator = if path.is_empty() { "" } else { "." };
                let inner = format!("{path}{separator}{key}");
                overriding(&inner, was.get(key).unwrap_or(&missing), value, overrides)?;
            }
        }
        _ => overrides.push(format!("{path}={new}")),
    }
    Some(())
}

/// Adds the entries of a value at `path`. A list of tables counts as tables with numbers.
fn collect(path: &str, value: &Value, entries: &mut Vec<(String, String)>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let separator = if path.is_empty() { "" } else { "." };
                collect(&format!("{path}{separator}{key}"), value, entries);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_table) => {
            for (index, value) in list.iter().enumerate() {
                collect(&format!("{path}[{index}]"), value, entries);
            }
        }
        _ => entries.push((path.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{SETTINGS, Setting};

    #[test]
    fn overrides_lead_from_any_setting_to_any_other_of_its_kind() {
        let recipe = |setting: &Setting| setting.recipe(&[]).unwrap();
        let all: Vec<Recipe> = SETTINGS.iter().map(recipe).collect();
        let mut expressed = 0;
        for (index, base) in all.iter().enumerate() {
            let setting = &all[(index + 7) % all.len()];
            if let Some(overrides) = setting.overrides_of(base) {
                let again = Recipe::from_toml(&base.to_toml(), &overrides);
                assert_eq!(again.as_ref(), Ok(setting), "{overrides:?}");
                expressed += 1;
            }
        }
        // What one setting has and another leaves unset, such as `train.stop`, is rare.
        assert!(2 * expressed > all.len(), "{expressed}");
    }

    #[test]
    fn a_recipe_that_leaves_a_key_unset_cannot_be_told_by_overrides() {
        let stop = ["train.stop={at=\"bigram\"}".to_owned()];
        let stopped = Recipe::from_toml("", &stop).unwrap();
        assert_eq!(Recipe::default().overrides_of(&stopped), None);
        let told = stopped.overrides_of(&Recipe::default()).unwrap();
        assert_eq!(Recipe::from_toml("", &told).unwrap(), stopped);
    }

    #[test]
    fn differing_keys_have_both_values() {
        let old = Recipe::default();
        assert_eq!(old.differences(&old), []);
        let changes = ["train.batch=8", "task.prior={kind=\"iid\", alpha=2.0}"].map(String::from);
        let mut new = Recipe::from_toml("", &changes).unwrap();
        new.record.tests.pop();
        let text = |d: Difference| {
            let or_none = |value: Option<String>| value.unwrap_or("-".into());
            format!("{} {} {}", d.key, or_none(d.old), or_none(d.new))
        };
        let found: Vec<String> = old.differences(&new).into_iter().map(text).collect();
        assert_eq!(
            found,
            [
                "record.tests[1].name \"doubly_stochastic\" -",
                "record.tests[1].prior.kind \"doubly-stochastic\" -",
                "task.prior.alpha 1.0 2.0",
                "task.prior.kind \"dirichlet\" \"iid\"",
                "train.batch 64 8",
            ]
        );
    }
}
