//! `induct show`: a run's story.

use std::path::PathBuf;

use clap::Args;
use induct::run::Ended;
use serde_json::json;

use super::{Threads, print, print_json};
use crate::failure::Failure;
use crate::recorded::Recorded;
use crate::story::{Story, stopped};

/// Tell a run's story: phases, losses beside the strategies', what the heads do, a small chart
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run: from `induct train`, in a sweep (SWEEP/runs/…) or in a report (REPORT/runs/…)
    run: PathBuf,
    /// Print {"phases": […], "drops": […], "strategies": {…}, "final": {…}, "heads": {…}, …}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = Recorded::open(&arguments.run)?;
    let recipe = run.folder.recipe();
    let ended = run.folder.summary()?;
    let summary = run.summary(&arguments.threads)?;
    let story = Story {
        recipe,
        history: &run.history,
        summary: &summary,
    };
    if arguments.json {
        let mut shown = serde_json::to_value(&summary).expect("plain data");
        shown["heads"] = story.heads_json();
        shown["ended"] = json!(ended.map(|summary| summary.ended));
        return print_json(&shown);
    }
    let path = arguments.run.display();
    match ended.map(|summary| (summary.ended, summary.diverged_at)) {
        Some((Ended::Complete, _)) => {}
        Some((Ended::Event, _)) => print(&(stopped(recipe, &summary) + "\n\n"))?,
        Some((Ended::Diverged, step)) => {
            let step = step.unwrap_or_default();
            print(&format!(
                "Diverged: the loss was not a number at step {step}.\n\n"
            ))?;
        }
        None => {
            let how = match recipe.check_parts() {
                Ok(()) => format!("`induct train {path}/recipe.toml --resume` goes on with it."),
                Err(missing) => format!("only the program that made it can go on ({missing})."),
            };
            print(&format!("Not ended: {how}\n\n"))?;
        }
    }
    print(&story.text())
}
