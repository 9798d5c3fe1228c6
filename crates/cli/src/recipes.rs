//! Finding recipes: by name in the catalogue, or in a file.

use std::path::Path;

use induct::catalogue::{SETTINGS, Setting};
use induct::train::{Recipe, RecipeError};

use crate::failure::Failure;

/// The settings that `induct presets` lists.
pub fn presets() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.listed)
}

/// Loads a setting by name, or a recipe from a file, with overrides.
pub fn load(source: &str, overrides: &[String]) -> Result<Recipe, Failure> {
    if let Some(setting) = Setting::named(source) {
        return Ok(setting.recipe(overrides)?);
    }
    let path = Path::new(source);
    let names: Vec<&str> = presets().map(|setting| setting.name).collect();
    let cannot = |why: &str| {
        Failure::mistake(format!(
            "{source} is not a preset, and cannot be read as a file ({why}); the presets are {}",
            names.join(", ")
        ))
    };
    // Reading a pipe might never end.
    let about = std::fs::metadata(path).map_err(|error| cannot(&error.to_string()))?;
    if !about.is_file() {
        return Err(cannot("it is not a regular file"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| cannot(&error.to_string()))?;
    read(path, &text, overrides)
}

/// Overrides, with interventions as given by `--intervene` in place of the recipe's own.
pub fn with_interventions(overrides: &[String], interventions: &[String]) -> Vec<String> {
    let entries: Vec<String> = interventions
        .iter()
        .map(|entry| format!("{{{entry}}}"))
        .collect();
    let all = (!entries.is_empty()).then(|| format!("intervene=[{}]", entries.join(", ")));
    overrides.iter().cloned().chain(all).collect()
}

/// Parses a recipe from the text of a file.
pub fn read(path: &Path, text: &str, overrides: &[String]) -> Result<Recipe, Failure> {
    Recipe::from_toml(text, overrides).map_err(|error| match error {
        RecipeError::Override { .. } => error.into(),
        _ => Failure::mistake(format!("{}: {error}", path.display())),
    })
}
