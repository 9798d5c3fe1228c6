//! `induct show`: a run's story.

use std::path::PathBuf;

use clap::Args;
use induct::probe::in_distribution;

use super::{print, print_json};
use crate::failure::Failure;
use crate::run_folder::{Ending, RunFolder};
use crate::story::Story;

/// Tell a run's story: phases, losses against strategies, what the heads do, a small chart
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run
    run: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = RunFolder::open(&arguments.run)?;
    let recipe = folder.recipe(&[])?;
    let history = folder.history()?;
    let story = Story::new(&in_distribution(&recipe)?, &history);
    if arguments.json {
        return print_json(&story.json());
    }
    let path = arguments.run.display();
    match folder.ending() {
        Some(Ending::Complete) => {}
        Some(Ending::Diverged(step)) => {
            print(&format!(
                "Diverged: the loss became no number at step {step}.\n\n"
            ))?;
        }
        None => {
            print(&format!(
                "Not ended: `induct train {path}/recipe.toml --resume` goes on with it.\n\n"
            ))?;
        }
    }
    print(&story.text(&recipe))
}
