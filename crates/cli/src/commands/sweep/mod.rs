//! `induct sweep`: many runs of one recipe, on this machine or on a cluster.

mod gather;
mod plan;
mod plot;
mod repair;
mod results;
mod slurm;
mod status;
mod work;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use induct_sweep::{Shard, SweepError};
use serde_json::json;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::options::{Json, Threads};
use crate::words::count;

/// Train one recipe over many seeds and variations: here, all at once; or step by step, on a cluster
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    here: Here,
}

#[derive(Subcommand)]
enum Action {
    Plan(plan::Arguments),
    Work(work::Arguments),
    Status(status::Arguments),
    Gather(gather::Arguments),
    Plot(plot::Arguments),
    Repair(repair::Arguments),
    Submit(slurm::Submit),
    Resubmit(slurm::Resubmit),
    Cancel(slurm::Cancel),
}

/// Plan, work and gather in one.
#[derive(Args)]
struct Here {
    #[command(flatten)]
    what: plan::What,
    /// Folder of the sweep; sweeps/NAME if not given. Runs that it holds already are not trained again, so a
    /// sweep can grow by seeds, values and keys
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    threads: Threads,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.action {
        None => here(&arguments.here),
        Some(Action::Plan(arguments)) => plan::run(arguments),
        Some(Action::Work(arguments)) => work::run(arguments),
        Some(Action::Status(arguments)) => status::run(arguments),
        Some(Action::Gather(arguments)) => gather::run(arguments),
        Some(Action::Plot(arguments)) => plot::run(arguments),
        Some(Action::Repair(arguments)) => repair::run(arguments),
        Some(Action::Submit(arguments)) => slurm::submit(arguments),
        Some(Action::Resubmit(arguments)) => slurm::resubmit(arguments),
        Some(Action::Cancel(arguments)) => slurm::cancel(arguments),
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Usage(_) | SweepError::NoSweep { .. } => Failure::usage(error.to_string()),
            SweepError::Store(error) => error.into(),
            SweepError::Failed(_) => Failure::failed(error.to_string()),
        }
    }
}

fn here(arguments: &Here) -> Result<(), Failure> {
    let (plan, name) = arguments.what.plan()?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => Path::new("sweeps").join(name),
    };
    let interrupt = Interrupt::watch()?;
    let sweep = plan::What::put(&out, plan, true)?;
    let worked = arguments
        .threads
        .run(|| work::with_bar(&sweep, Shard::ALL, false, &|| interrupt.asked()))?;
    let gathered = gather::write(&sweep, false)?;
    results::write_figure_of(&sweep, &gathered)?;
    if worked.left > 0 {
        return Err(Failure::interrupted(format!(
            "stopped with {} unfinished; run the same command again to continue",
            count(worked.left, "run")
        )));
    }
    let rows = results::json_rows(&sweep, &gathered);
    let value = json!({ "out": out.to_string_lossy(), "runs": rows });
    let text = results::text(&sweep, &gathered);
    arguments.json.print(&value, &text)?;
    work::failures(&sweep, &worked)
}
