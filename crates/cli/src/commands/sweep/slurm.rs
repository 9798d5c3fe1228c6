//! `induct sweep submit`, `resubmit` and `cancel`: a sweep as job arrays of Slurm.

use std::path::PathBuf;

use clap::Args;
use induct_sweep::Sweep;
use induct_sweep::slurm::{self, Request, Submitted};
use serde_json::json;

use super::status::seconds_left;
use super::{print, print_json};
use crate::commands::numbers;
use crate::failure::Failure;
use crate::words::{count, duration};

/// Submit a sweep to Slurm as a job array: each task does a share of its runs
#[derive(Args)]
pub struct Submit {
    /// Folder of the sweep, which all nodes must see under this path
    sweep: PathBuf,
    /// Number of tasks; as many as take ten minutes each if not given. More than the site's largest array become several
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1_000_000))]
    tasks: Option<u64>,
    #[command(flatten)]
    site: Site,
    /// Write the script and say what would be submitted, but submit nothing
    #[arg(long)]
    dry_run: bool,
    /// Submit although an earlier submission is still queued or at work
    #[arg(long)]
    again: bool,
    /// Print {"jobs": […], "tasks": n, "script": FILE}
    #[arg(long)]
    json: bool,
}

/// Submit again the shares of a sweep with missing runs
#[derive(Args)]
pub struct Resubmit {
    /// Folder of the sweep
    sweep: PathBuf,
    #[command(flatten)]
    site: Site,
    /// Try again the runs whose process died three times
    #[arg(long)]
    retry: bool,
    /// Submit although an earlier submission is still queued or at work
    #[arg(long)]
    again: bool,
    /// Print {"jobs": […], "tasks": n, "script": FILE}
    #[arg(long)]
    json: bool,
}

/// Cancel the Slurm jobs of a sweep; what is done stays
#[derive(Args)]
pub struct Cancel {
    /// Folder of the sweep
    sweep: PathBuf,
    /// Print {"cancelled": […]}
    #[arg(long)]
    json: bool,
}

/// What a site's Slurm may want to know. What is not given is as in the earlier submission, or as the site has it.
#[derive(Args)]
struct Site {
    /// Partition of the cluster
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Time limit of a task, such as 30 or 1:00:00. Tasks that reach it are queued again and go on
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Memory of a task, such as 2G
    #[arg(long, value_name = "SIZE")]
    mem: Option<String>,
    /// Cores of a task: as many runs at a time
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1024))]
    cpus: Option<u64>,
    /// The most tasks at work at a time
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1_000_000))]
    at_once: Option<u64>,
    /// Any other option of sbatch, such as --sbatch=--account=abc; may be repeated
    #[arg(long, value_name = "OPTION")]
    sbatch: Vec<String>,
}

impl Site {
    fn request(&self, tasks: Option<u64>, again: bool, retry: bool, dry_run: bool) -> Request {
        Request {
            program: crate::program(),
            tasks,
            partition: self.partition.clone(),
            time: self.time.clone(),
            memory: self.mem.clone(),
            cpus: self.cpus,
            at_once: self.at_once,
            others: self.sbatch.clone(),
            again,
            retry,
            dry_run,
        }
    }
}

/// Runs `submit`.
pub fn submit(arguments: &Submit) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let request =
        arguments
            .site
            .request(arguments.tasks, arguments.again, false, arguments.dry_run);
    let submitted = slurm::submit(&sweep, &request, seconds_left)?;
    say(&sweep, &submitted, &request, arguments.json)
}

/// Runs `resubmit`.
pub fn resubmit(arguments: &Resubmit) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let request = arguments
        .site
        .request(None, arguments.again, arguments.retry, false);
    let submitted = slurm::resubmit(&sweep, &request)?;
    say(&sweep, &submitted, &request, arguments.json)
}

fn say(sweep: &Sweep, submitted: &Submitted, request: &Request, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&json!({
            "jobs": submitted.jobs,
            "tasks": submitted.tasks,
            "script": submitted.script.to_string_lossy(),
        }));
    }
    let path = sweep.path().display();
    if submitted.tasks == 0 {
        return print(&format!(
            "nothing to do: every run of {path} has a result\n"
        ));
    }
    if request.dry_run {
        return print(&format!(
            "{} is written; it would be submitted with:\n{}\n",
            submitted.script.display(),
            submitted.commands.join("\n")
        ));
    }
    let jobs = match submitted.jobs.as_slice() {
        [only] => format!("job {only}"),
        several => format!("jobs {}", several.join(", ")),
    };
    let state = sweep.state()?;
    let cores = submitted.tasks * request.cpus.unwrap_or(1);
    let left = seconds_left(sweep, &state) / cores as f64;
    print(&format!(
        "submitted {} as {jobs}; about {} each\n`induct sweep status {path}` shows how far they are\n",
        count(submitted.tasks as usize, "task"),
        duration(left)
    ))
}

/// Runs `cancel`.
pub fn cancel(arguments: &Cancel) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let cancelled = slurm::cancel(&sweep)?;
    if arguments.json {
        return print_json(&json!({ "cancelled": cancelled }));
    }
    print(&match cancelled.as_slice() {
        [] => "no job of this sweep is queued or at work\n".to_owned(),
        [only] => format!("cancelled job {only}\n"),
        several => format!("cancelled jobs {}\n", several.join(", ")),
    })
}
