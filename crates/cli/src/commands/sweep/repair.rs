//! `induct sweep repair`: a damaged plan, from its copy.

use std::path::PathBuf;

use clap::Args;
use induct_sweep::Sweep;
use serde_json::json;

use super::{print, print_json};
use crate::failure::Failure;

/// Write the plan of a sweep anew, if one of its two files is damaged
#[derive(Args)]
pub struct Arguments {
    /// Folder of the sweep
    sweep: PathBuf,
    /// Print {"repaired": […]}
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let repaired = Sweep::open(&arguments.sweep)?.repair()?;
    if arguments.json {
        return print_json(&json!({ "repaired": repaired }));
    }
    print(&match repaired.as_slice() {
        [] => "both files of the plan are whole\n".to_owned(),
        names => format!("written anew: {}\n", names.join(", ")),
    })
}
