//! Every named setting. Presets, the report's experiments and the benchmark's settings all come from here, so
//! that one name means one thing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::{Table, Value};

use crate::recipe::{Recipe, RecipeError};

/// All settings of `settings.toml`, in its order.
pub static SETTINGS: LazyLock<Vec<Setting>> =
    LazyLock::new(|| Setting::all_in(include_str!("settings.toml")));

/// A named setting.
///
/// ```
/// use induct::catalogue::Setting;
///
/// let setting = Setting::named("three-states").expect("it is in the catalogue");
/// assert_eq!(setting.recipe(&[])?.task.states, 3);
/// # Ok::<(), induct::recipe::RecipeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it is or shows, in one line.
    pub about: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether `induct presets` lists it. The others are points of a series, or settings of the benchmark.
    #[serde(default)]
    pub listed: bool,
    /// The setting whose recipe it changes; that of [`Recipe::default`] if unset.
    base: Option<&'static str>,
    #[serde(default)]
    recipe: Table,
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// As printed in the paper.
    Printed,
    /// As in the authors' released code.
    Released,
    /// As we recommend it: the paper's model and task, with rates and sizes that show the same in less time.
    Recommended,
}

impl Origin {
    /// The origin in one word.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Printed => "printed",
            Origin::Released => "released",
            Origin::Recommended => "recommended",
        }
    }
}

impl Setting {
    /// The setting called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// All settings in a text like `settings.toml`, which is part of a program.
    ///
    /// # Panics
    ///
    /// If it is not such a text, or the base of a setting does not stand above it.
    pub fn all_in(text: &'static str) -> Vec<Self> {
        let catalogue = toml::from_str(text);
        let mut catalogue: BTreeMap<String, Vec<Self>> =
            catalogue.unwrap_or_else(|error| panic!("{error}"));
        let mut settings = catalogue.remove("setting").expect("there are settings");
        for index in 0..settings.len() {
            if let Some(base) = settings[index].base {
                let base = settings[..index].iter().find(|other| other.name == base);
                let mut recipe = base.expect("a base stands above").recipe.clone();
                merge(&mut recipe, &settings[index].recipe);
                settings[index].recipe = recipe;
            }
        }
        settings
    }

    /// Its recipe, with overrides.
    pub fn recipe(&self, overrides: &[String]) -> Result<Recipe, RecipeError> {
        let mut table = self.recipe.clone();
        table.insert("name".into(), self.name.into());
        Recipe::from_table(table, overrides)
    }
}

/// Puts the entries of `changes` into a table; those that are tables themselves, entry by entry.
fn merge(table: &mut Table, changes: &Table) {
    for (key, value) in changes {
        match (table.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(changes)) => merge(inner, changes),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_a_sound_recipe_under_one_name() {
        for setting in SETTINGS.iter() {
            let recipe = setting
                .recipe(&[])
                .unwrap_or_else(|error| panic!("{}: {error}", setting.name));
            assert_eq!(recipe.name, setting.name);
            // The first of its name is the setting itself.
            assert!(Setting::named(setting.name).is_some_and(|found| std::ptr::eq(found, setting)));
            let again = Recipe::from_toml(&recipe.to_toml(), &[]);
            assert_eq!(
                again,
                Ok(recipe),
                "{} does not survive being written",
                setting.name
            );
        }
        assert_eq!(Setting::named("mian"), None);
    }

    #[test]
    fn no_two_settings_are_the_same_model_on_the_same_task_trained_alike() {
        let nameless = |setting: &Setting| Recipe {
            name: String::new(),
            ..setting.recipe(&[]).unwrap()
        };
        let all: Vec<Recipe> = SETTINGS.iter().map(nameless).collect();
        for (index, recipe) in all.iter().enumerate() {
            let same = all[..index].iter().position(|other| other == recipe);
            let name = |index: usize| SETTINGS[index].name;
            assert_eq!(same.map(name), None, "{}", name(index));
        }
    }
}
