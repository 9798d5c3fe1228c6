//! `induct presets`: the built-in recipes.

use clap::Args;
use serde_json::json;

use super::{print, print_json};
use crate::failure::Failure;
use crate::recipes::{PRESETS, preset};

/// List the built-in recipes, or print one to start your own from
#[derive(Args)]
pub struct Arguments {
    /// Print this preset's TOML
    name: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.name {
        let Some(preset) = preset(name) else {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let known = names.join(", ");
            return Err(Failure::mistake(format!(
                "{name}: no such preset; there are {known}"
            )));
        };
        return print(preset.toml);
    }
    if arguments.json {
        let list = PRESETS.iter().map(
            |preset| json!({ "name": preset.name, "about": preset.about, "toml": preset.toml }),
        );
        return print_json(&json!({ "presets": list.collect::<Vec<_>>() }));
    }
    let lines = PRESETS
        .iter()
        .map(|preset| format!("{:<30} {}\n", preset.name, preset.about));
    print(&lines.collect::<String>())?;
    print("\n`induct presets NAME` prints one; `induct train NAME` runs it.\n")
}
