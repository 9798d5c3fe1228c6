//! `induct presets`: the built-in recipes.

use clap::Args;
use induct::catalogue::{SETTINGS, Setting};
use induct_studies::setting;
use serde_json::json;

use crate::failure::Failure;
use crate::options::Json;
use crate::recipes::presets;

/// List the built-in recipes, or print one to start your own from
#[derive(Args)]
pub struct Arguments {
    /// Print the recipe of this preset, as TOML
    name: Option<String>,
    /// List all settings, including those of series and of the benchmark
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    json: Json,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.name {
        let Some(setting) = setting(name) else {
            let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
            let known = names.join(", ");
            return Err(Failure::usage(format!(
                "{name}: no such preset; choose one of {known}"
            )));
        };
        return arguments.json.print(&entry(setting)?, &toml(setting)?);
    }
    let shown: Vec<&Setting> = match arguments.all {
        true => SETTINGS.iter().collect(),
        false => presets().collect(),
    };
    let entries: Result<Vec<_>, Failure> = shown.iter().copied().map(entry).collect();
    let lines = shown.iter().map(|setting| {
        let origin = setting.origin.name();
        format!("{:<30} {origin:<12} {}\n", setting.name, setting.about)
    });
    let text = lines.collect::<String>()
        + "\nprinted: as in the paper's text; released: as in its authors' code; recommended: ours\n\
           `induct presets NAME` prints a preset, and `induct train NAME` trains it.\n\
           `induct presets --all` also lists the settings of series and of the benchmark.\n";
    let value = json!({ "presets": entries? });
    arguments.json.print(&value, &text)
}

fn entry(setting: &Setting) -> Result<serde_json::Value, Failure> {
    Ok(json!({
        "name": setting.name,
        "about": setting.about,
        "origin": setting.origin.name(),
        "toml": toml(setting)?,
    }))
}

/// The complete recipe, below a line that says what it is.
fn toml(setting: &Setting) -> Result<String, Failure> {
    let recipe = setting.recipe(&[])?.to_toml();
    let (about, origin) = (setting.about, setting.origin.name());
    Ok(format!("# {about} ({origin})\n{recipe}"))
}
