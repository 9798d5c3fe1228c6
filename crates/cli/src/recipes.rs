//! Finding recipes: by the name of a setting, or in a file.

use std::io::{self, ErrorKind};
use std::path::Path;

use induct::catalogue::{SETTINGS, Setting};
use induct::recipe::{Recipe, RecipeError};
use induct_store::read_regular;
use induct_studies::setting;

use crate::failure::Failure;

/// The settings that `induct presets` lists.
pub fn presets() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.listed)
}

/// Loads a setting by name, or a recipe from a file, with overrides.
pub fn load(source: &str, overrides: &[String]) -> Result<Recipe, Failure> {
    if let Some(setting) = setting(source) {
        return Ok(setting.recipe(overrides)?);
    }
    let path = Path::new(source);
    let names: Vec<&str> = presets().map(|setting| setting.name).collect();
    let cannot = |why: &str| {
        Failure::usage(format!(
            "{source} is not a preset, and cannot be read as a file ({why}); the presets are {}",
            names.join(", ")
        ))
    };
    let text = read_text(path, MOST_BYTES).map_err(|error| cannot(&error.to_string()))?;
    read(path, &text, overrides)
}

pub const MOST_BYTES: u64 = 1 << 20;

/// The text of a file of at most `most` bytes.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_regular(path, most)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text"))
}

/// Overrides, with interventions as given by `--intervene` in place of the recipe's own.
pub fn with_interventions(overrides: &[String], interventions: &[String]) -> Vec<String> {
    let entries = inline_tables(interventions).join(", ");
    let all = (!entries.is_empty()).then(|| format!("intervene=[{entries}]"));
    overrides.iter().cloned().chain(all).collect()
}

/// Interventions as given by `--intervene`, as inline tables.
pub fn inline_tables(interventions: &[String]) -> Vec<String> {
    let tables = interventions.iter().map(|entry| format!("{{{entry}}}"));
    tables.collect()
}

pub fn read(path: &Path, text: &str, overrides: &[String]) -> Result<Recipe, Failure> {
    Recipe::from_toml(text, overrides).map_err(|error| match error {
        RecipeError::Override { .. } => error.into(),
        _ => Failure::usage(format!("{}: {error}", path.display())),
    })
}
