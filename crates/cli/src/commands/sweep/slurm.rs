//! `induct sweep submit`, `resubmit` and `cancel`: a sweep as job arrays of Slurm.

use std::path::PathBuf;

use clap::Args;
use induct_sweep::Sweep;
use induct_sweep::slurm::{self, Request, Submission};
use serde_json::json;

use super::status::seconds_left;
use crate::commands::numbers;
use crate::failure::Failure;
use crate::options::Json;
use crate::words::{count, duration};

/// Submit a sweep to Slurm as a job array: each task does a shard of its runs
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
}

/// Submit again the shards of a sweep with missing runs
#[derive(Args)]
pub struct Resubmit {
    /// Folder of the sweep
    sweep: PathBuf,
    #[command(flatten)]
    site: Site,
    /// Try again the runs whose process died three times
    #[arg(long)]
    retry: bool,
}

/// Cancel the Slurm jobs of a sweep; what is done stays
#[derive(Args)]
pub struct Cancel {
    /// Folder of the sweep
    sweep: PathBuf,
    #[command(flatten)]
    json: Json,
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
    /// Submit although an earlier submission is still queued or at work
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    json: Json,
}

impl Site {
    fn request(&self) -> Request {
        let named = [
            ("partition", &self.partition),
            ("time", &self.time),
            ("mem", &self.mem),
        ];
        let named = named.map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)));
        let options = named.into_iter().flatten().chain(self.sbatch.clone());
        Request {
            program: crate::program(),
            cpus: self.cpus,
            at_once: self.at_once,
            options: options.collect(),
            again: self.again,
            ..Request::default()
        }
    }
}

pub fn submit(arguments: &Submit) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let request = Request {
        tasks: arguments.tasks,
        dry_run: arguments.dry_run,
        ..arguments.site.request()
    };
    let submitted = slurm::submit(&sweep, &request, seconds_left)?;
    report(&sweep, &submitted, &request, &arguments.site.json)
}

pub fn resubmit(arguments: &Resubmit) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let request = Request {
        retry: arguments.retry,
        ..arguments.site.request()
    };
    let submitted = slurm::resubmit(&sweep, &request)?;
    report(&sweep, &submitted, &request, &arguments.site.json)
}

fn report(
    sweep: &Sweep,
    submitted: &Submission,
    request: &Request,
    json: &Json,
) -> Result<(), Failure> {
    let path = sweep.path().display();
    let text = if submitted.tasks == 0 {
        format!("nothing to do: every run of {path} has a result\n")
    } else if request.dry_run {
        let (script, commands) = (submitted.script.display(), submitted.commands.join("\n"));
        format!("{script} is written; it would be submitted with:\n{commands}\n")
    } else {
        let cores = submitted.tasks * request.cpus.unwrap_or(1);
        let left = seconds_left(sweep, &sweep.state()?) / cores as f64;
        format!(
            "submitted {} as {}; about {} each\n`induct sweep status {path}` shows how far they are\n",
            count(submitted.tasks, "task"),
            jobs(&submitted.jobs),
            duration(left)
        )
    };
    let value = json!({
        "jobs": submitted.jobs,
        "tasks": submitted.tasks,
        "script": submitted.script.to_string_lossy(),
    });
    json.print(&value, &text)
}

fn jobs(numbers: &[String]) -> String {
    let jobs = if numbers.len() == 1 { "job" } else { "jobs" };
    format!("{jobs} {}", numbers.join(", "))
}

pub fn cancel(arguments: &Cancel) -> Result<(), Failure> {
    let cancelled = slurm::cancel(&Sweep::open(&arguments.sweep)?)?;
    let text = match cancelled.as_slice() {
        [] => "no job of this sweep is queued or at work\n".to_owned(),
        numbers => format!("cancelled {}\n", jobs(numbers)),
    };
    let value = json!({ "cancelled": cancelled });
    arguments.json.print(&value, &text)
}
