//! The keys in which two recipes differ.

use toml::Value;

use super::recipe::Recipe;

/// A key that two recipes set differently. Values are TOML; `None` where a recipe does not have the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path of the key, such as `train.optimizer.lr` or `record.tests[0].name`.
    pub key: String,
    /// Its value in the first recipe.
    pub old: Option<String>,
    /// Its value in the second recipe.
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
