//! `induct show`: a run's story.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::options::{Json, Threads};
use crate::recorded::RecordedRun;
use crate::story::Story;

/// Tell a run's story: phases, losses beside the strategies', what the heads do, a small chart
#[derive(Args)]
pub struct Arguments {
    /// Folder of the run: from `induct train`, in a sweep (SWEEP/runs/…) or in a report (REPORT/runs/…)
    run: PathBuf,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    threads: Threads,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let run = RecordedRun::open(&arguments.run)?;
    let ended = run.folder.summary()?;
    let summary = run.summary(&arguments.threads)?;
    let story = Story::new(&run, &summary, ended.map(|summary| summary.ended));
    arguments.json.print(&story, &story.text())
}
