//! `induct presets`: the built-in recipes.

use clap::Args;
use serde_json::json;

use super::{print, print_json};
use crate::failure::Failure;
use crate::recipes::{PRESETS, Preset, preset};

/// List the built-in recipes, or print one to start your own from
#[derive(Args)]
pub struct Arguments {
    /// Print this preset's TOML
    name: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let entry = |preset: &Preset| json!({ "name": preset.name, "about": preset.about, "toml": preset.toml });
    if let Some(name) = &arguments.name {
        let Some(preset) = preset(name) else {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let known = names.join(", ");
            return Err(Failure::mistake(format!(
                "{name}: no such preset; there are {known}"
            )));
        };
        return if arguments.json {
            print_json(&entry(preset))
        } else {
            print(preset.toml)
        };
    }
    if arguments.json {
        return print_json(&json!({ "presets": PRESETS.iter().map(entry).collect::<Vec<_>>() }));
    }
    let lines = PRESETS
        .iter()
        .map(|preset| format!("{:<30} {}\n", preset.name, preset.about));
    print(&lines.collect::<String>())?;
    print("\n`induct presets NAME` prints one; `induct train NAME` runs it.\n")
}
