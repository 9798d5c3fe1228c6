//! Finding recipes: built-in presets and files.

use std::path::Path;

use induct::train::Recipe;

use crate::failure::Failure;

/// A built-in recipe.
pub struct Preset {
    /// What it is called on the command line.
    pub name: &'static str,
    /// One line on what it shows.
    pub about: &'static str,
    /// Its TOML.
    pub toml: &'static str,
}

macro_rules! presets {
    ($($name:literal: $about:literal,)*) => {
        &[$(Preset {
            name: $name,
            about: $about,
            toml: include_str!(concat!("../presets/", $name, ".toml")),
        }),*]
    };
}

/// All built-in recipes.
pub const PRESETS: &[Preset] = presets! {
    "main": "two layers, two states: uniform, then unigram, then a sudden drop to bigram",
    "three-states": "three states, three heads a layer: the same phases, ends near bigram",
    "three-states-one-head": "three states with the paper's single head, which ends farther from bigram",
    "trigram": "three heads a layer on trigrams: uniform, unigram, bigram, trigram",
    "one-layer": "one layer: never passes the unigram level",
    "minimal": "the paper's minimal model, two states",
    "minimal-three-states": "the paper's minimal model, three states",
    "construction": "the hand-made two-layer transformer that counts bigrams (no training)",
    "construction-minimal-unigram": "the minimal model's weights that count symbols (no training; logits are raw counts)",
    "construction-minimal-bigram": "the minimal model's weights that count transitions (no training; logits are raw counts)",
};

/// The preset called `name`.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Loads a preset or a file, with overrides.
pub fn load(source: &str, overrides: &[String]) -> Result<Recipe, Failure> {
    if let Some(preset) = preset(source) {
        return Ok(Recipe::from_toml(preset.toml, overrides)?);
    }
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let text = std::fs::read_to_string(source).map_err(|error| {
        Failure::mistake(format!(
            "{source}: no such preset, and as a file it cannot be read ({error}); presets: {}",
            names.join(", ")
        ))
    })?;
    read(Path::new(source), &text, overrides)
}

/// Reads a recipe from the text of a file.
pub fn read(path: &Path, text: &str, overrides: &[String]) -> Result<Recipe, Failure> {
    Recipe::from_toml(text, overrides)
        .map_err(|error| Failure::mistake(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_valid_recipe_that_carries_its_name() {
        for preset in PRESETS {
            let recipe = load(preset.name, &[]).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            assert_eq!(recipe.name, preset.name);
            let again = Recipe::from_toml(&recipe.to_toml(), &[]).unwrap();
            assert_eq!(
                again, recipe,
                "{} does not survive being written",
                preset.name
            );
        }
    }
}
