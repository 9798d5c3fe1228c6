//! A sweep as job arrays of Slurm.
//!
//! Everything goes through `sbatch`: Slurm schedules, restarts and counts. A task of an array is a shard of the sweep.
//! The script can be run by any other launcher too.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use induct_store::read_regular;
use serde::{Deserialize, Serialize};

use crate::error::SweepError;
use crate::folder::Sweep;
use crate::plan::MAX_RUNS;
use crate::shard::Shard;
use crate::state::State;

/// What a submission asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The program that a task calls: this one.
    pub program: PathBuf,
    /// Number of tasks.
    pub tasks: Option<u64>,
    /// Cores of a task.
    pub cpus: Option<u64>,
    /// The most tasks at work at a time.
    pub at_once: Option<u64>,
    /// Other options of `sbatch`.
    pub options: Vec<String>,
    /// Whether to submit although an earlier submission is still queued or at work.
    pub again: bool,
    /// Whether to try again runs that were given up.
    pub retry: bool,
    /// Whether to write the script only.
    pub dry_run: bool,
}

/// What was submitted.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// Numbers of jobs.
    pub jobs: Vec<String>,
    /// Number of tasks.
    pub tasks: u64,
    /// The script.
    pub script: PathBuf,
    /// The commands, as a shell takes them.
    pub commands: Vec<String>,
}

/// What `slurm/jobs.json` has: the last submission, and all jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Jobs {
    /// Number of shards.
    shares: u64,
    /// Options of `sbatch`.
    options: Vec<String>,
    /// The most tasks at work at a time.
    at_once: Option<u64>,
    /// Numbers of jobs, the first one first.
    jobs: Vec<String>,
}

/// A file's path below the sweep's folder.
const JOBS: &str = "slurm/jobs.json";
const SCRIPT: &str = "slurm/task.sh";

/// Options that a sweep remembers for `resubmit`. Others could make a folder that came from elsewhere run
/// programs or write files, so they are given again.
const REMEMBERED: &str = "account begin clusters comment constraint cores-per-socket cpus-per-task deadline \
    exclude exclusive gpus gres hint licenses mem mem-per-cpu mem-per-gpu nice nodelist \
    partition qos reservation threads-per-core time time-min tmp";

const JOBS_LIMIT: u64 = 1 << 20;

/// What a task should take, in seconds, if the number of tasks is not given.
const TASK: f64 = 600.0;

/// Submits all of a sweep. `seconds_left` says how long it takes on one thread.
pub fn submit(
    sweep: &Sweep,
    request: &Request,
    seconds_left: impl Fn(&Sweep, &State) -> f64,
) -> Result<Submission, SweepError> {
    let state = sweep.state()?;
    let missing = state.missing().filter(|&index| state.wants(index, false));
    let missing = missing.count() as u64;
    if missing == 0 {
        return nothing_left(sweep, &state);
    }
    let options = options(request)?;
    let limit = array_limit(request.dry_run)?;
    check_queue(sweep, request)?;
    let cpus = request.cpus.unwrap_or(1) as f64;
    let by_time = (seconds_left(sweep, &state) / cpus / TASK).ceil() as u64;
    let shares = request
        .tasks
        .unwrap_or(by_time.min(limit))
        .clamp(1, missing);
    let jobs = Jobs {
        shares,
        options,
        at_once: request.at_once,
        jobs: read_jobs(sweep)?.jobs,
    };
    let all: Vec<u64> = (0..shares).collect();
    send(sweep, jobs, &all, limit, request)
}

/// Submits the shards of the last submission with missing runs.
pub fn resubmit(sweep: &Sweep, request: &Request) -> Result<Submission, SweepError> {
    let mut jobs = read_jobs(sweep)?;
    if jobs.shares == 0 {
        let path = sweep.path().display();
        return Err(SweepError::usage(format!(
            "{path} was not submitted yet; `induct sweep submit {path}` does so"
        )));
    }
    let state = sweep.state()?;
    let missing = state
        .missing()
        .filter(|&index| state.wants(index, request.retry));
    let mut shares: Vec<u64> = missing
        .map(|index| Shard::of(index as u64, jobs.shares))
        .collect();
    shares.sort_unstable();
    shares.dedup();
    if shares.is_empty() {
        return nothing_left(sweep, &state);
    }
    let limit = array_limit(request.dry_run)?;
    check_queue(sweep, request)?;
    // What is not given stays.
    for option in options(request)? {
        jobs.options.retain(|other| name(other) != name(&option));
        jobs.options.push(option);
    }
    jobs.at_once = request.at_once.or(jobs.at_once);
    send(sweep, jobs, &shares, limit, request)
}

/// Nothing to submit, unless runs were given up.
fn nothing_left(sweep: &Sweep, state: &State) -> Result<Submission, SweepError> {
    match state.missing().count() {
        0 => Ok(Submission::default()),
        given_up => Err(SweepError::Failed(format!(
            "all that is left was given up, because the worker that trained it died three times (runs: {given_up}); \
             `induct sweep resubmit {} --retry` tries again",
            sweep.path().display()
        ))),
    }
}

/// Cancels the jobs of a sweep that are queued or at work; returns them.
pub fn cancel(sweep: &Sweep) -> Result<Vec<String>, SweepError> {
    let living = living(&read_jobs(sweep)?.jobs)?;
    if !living.is_empty() {
        call(Command::new("scancel").args(&living))?;
    }
    Ok(living)
}

/// Options of `sbatch` that a request names.
fn options(request: &Request) -> Result<Vec<String>, SweepError> {
    let cpus = request.cpus.map(|cpus| format!("--cpus-per-task={cpus}"));
    let all: Vec<String> = cpus.into_iter().chain(request.options.clone()).collect();
    check_options(&all).map_err(SweepError::usage)?;
    Ok(all)
}

/// An option's name, with its dashes.
fn name(option: &str) -> &str {
    option.split('=').next().unwrap_or_default()
}

fn is_remembered(option: &str) -> bool {
    let name = name(option).strip_prefix("--");
    name.is_some_and(|name| REMEMBERED.split(' ').any(|known| known == name))
}

/// Refuses what would not stay an option: a line break ends the comment of a script that it stands in.
fn check_options(options: &[String]) -> Result<(), String> {
    let is_option = |text: &str| text.starts_with('-') && !text.contains(char::is_control);
    match options.iter().find(|option| !is_option(option)) {
        None => Ok(()),
        Some(other) => Err(format!(
            "{other:?} is no option of sbatch: expected one that begins with - and has no line break or other control \
             character"
        )),
    }
}

impl Jobs {
    /// Checks what was read from a file like what is typed.
    fn check(&self) -> Result<(), String> {
        check_options(&self.options)?;
        if let Some(option) = self.options.iter().find(|option| !is_remembered(option)) {
            return Err(format!("{option:?} is no option that it remembers"));
        }
        let is_number = |job: &&String| !job.is_empty() && job.chars().all(|c| c.is_ascii_digit());
        let most = self.at_once.unwrap_or(1).max(self.shares);
        match self.jobs.iter().find(|job| !is_number(job)) {
            Some(job) => Err(format!("{job:?} is no number of a job")),
            None if most > MAX_RUNS || self.at_once == Some(0) => Err(format!(
                "expected at most {MAX_RUNS} shards, and as many at once"
            )),
            None => Ok(()),
        }
    }
}

fn send(
    sweep: &Sweep,
    mut jobs: Jobs,
    shares: &[u64],
    limit: u64,
    request: &Request,
) -> Result<Submission, SweepError> {
    let path = absolute(sweep.path())?;
    let folder = sweep.claim()?;
    folder.write(
        SCRIPT,
        script(&path, &request.program, jobs.shares, &jobs.options)?.as_bytes(),
    )?;
    let script = path.join(SCRIPT);
    executable(&script)?;
    jobs.options.retain(|option| is_remembered(option));
    let mut submitted = Submission {
        tasks: shares.len() as u64,
        script: script.clone(),
        ..Submission::default()
    };
    // Shards beyond the largest array go into further ones, which count from 0 again and share what may run at once.
    let arrays = shares.chunk_by(|a, b| a / limit == b / limit).count() as u64;
    for group in shares.chunk_by(|a, b| a / limit == b / limit) {
        let first = group[0] / limit * limit;
        let inside: Vec<u64> = group.iter().map(|share| share - first).collect();
        let throttle = jobs
            .at_once
            .map_or(String::new(), |most| format!("%{}", most.div_ceil(arrays)));
        let mut exported = format!("ALL,INDUCT_FIRST_SHARE={first}");
        if request.retry {
            exported += ",INDUCT_RETRY=1";
        }
        let mut command = Command::new("sbatch");
        command.arg("--parsable");
        command.arg(format!("--array={}{throttle}", ranges(&inside)));
        command.arg(format!("--export={exported}"));
        command.arg(&script);
        submitted.commands.push(in_words(&command));
        if request.dry_run {
            continue;
        }
        let answer = call(&mut command).map_err(|error| match submitted.jobs.as_slice() {
            [] => error,
            before => SweepError::Failed(format!(
                "{error}; jobs {} were submitted before that: once they are done, \
                 `induct sweep resubmit` submits what is missing",
                before.join(", ")
            )),
        })?;
        let id = answer
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        jobs.jobs.push(id.clone());
        submitted.jobs.push(id);
        // At once, so that no job is forgotten.
        let text = serde_json::to_string_pretty(&jobs).expect("plain data") + "\n";
        folder.write(JOBS, text.as_bytes())?;
    }
    Ok(submitted)
}

fn absolute(path: &Path) -> Result<PathBuf, SweepError> {
    std::fs::canonicalize(path).map_err(SweepError::io("use", path))
}

fn executable(path: &Path) -> Result<(), SweepError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).map_err(SweepError::io("write", path))?;
    }
    Ok(())
}

/// A word as a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%@+".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

fn in_words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// Numbers as ranges: `0-3,7`.
fn ranges(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let shown = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    shown.collect::<Vec<_>>().join(",")
}

fn script(
    sweep: &Path,
    program: &Path,
    shares: u64,
    options: &[String],
) -> Result<String, SweepError> {
    let text = |path: &Path| -> Result<String, SweepError> {
        let text = path
            .to_str()
            .filter(|text| !text.contains(char::is_control));
        text.map(str::to_owned).ok_or_else(|| {
            SweepError::usage(format!(
                "{}: a script cannot have such a path; move it",
                path.display()
            ))
        })
    };
    let (sweep, program) = (text(sweep)?, text(program)?);
    let log = format!("{}/slurm/%A.log", sweep.replace('%', "%%"));
    let name = Path::new(&sweep)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut directives = vec![
        format!("--job-name={}", quoted(&name)),
        format!("--output=\"{}\"", log.replace('"', "\\\"")),
        "--open-mode=append".to_owned(),
        "--requeue".to_owned(),
        "--signal=B:USR1@60".to_owned(),
    ];
    directives.extend(options.iter().map(|option| quoted(option)));
    let directives: Vec<String> = directives
        .iter()
        .map(|option| format!("#SBATCH {option}"))
        .collect();
    let last = shares - 1;
    let (sweep, program) = (quoted(&sweep), quoted(&program));
    Ok(format!(
        r#"#!/bin/bash
# A share of the sweep in {sweep}; written by `induct sweep submit`.
#
# Under Slurm, each task of a job array does one share. Other launchers name the share:
#     seq 0 {last} | parallel -q -j 8 {sweep}/{SCRIPT} {{}}
#     hq submit --array 0-{last} {sweep}/{SCRIPT}
# A share may be done twice, also at the same time: what is done is not done again.
{directives}

sweep={sweep}
induct={program}
shares={shares}

share=${{1:-${{SLURM_ARRAY_TASK_ID:-$HQ_TASK_ID}}}}
first=${{INDUCT_FIRST_SHARE:-0}}
case $share:$first in
:* | *[!0-9:]* | *:*:*)
    echo "usage: $0 SHARE    (0 to {last})" >&2
    exit 2
    ;;
esac
# Shares beyond the site's largest array are in further arrays, which count from 0 again. A leading 0 means nothing.
share=$((10#$share + 10#$first))

# A minute before its time is up, Slurm sends USR1: the worker stops in good order.
worker=
trap '[ -n "$worker" ] && kill -USR1 $worker' USR1
trap '[ -n "$worker" ] && kill -TERM $worker' TERM INT
"$induct" sweep work "$sweep" --shard "$share/$shares" --threads "${{SLURM_CPUS_PER_TASK:-1}}" ${{INDUCT_RETRY:+--retry}} &
worker=$!
while :; do
    wait $worker
    code=$?
    # A signal ends the wait before the worker ends.
    kill -0 $worker 2>/dev/null || break
done
# What the time did not suffice for is queued again; 138 is a worker that had no time to begin.
if [ $code -eq {TIME_IS_UP} ] || [ $code -eq 138 ] && [ -n "$SLURM_JOB_ID" ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
"#,
        directives = directives.join("\n"),
    ))
}

/// Exit code of `induct sweep work` if it stopped because its time was nearly up: that of a temporary failure.
pub const TIME_IS_UP: u8 = 75;

fn read_jobs(sweep: &Sweep) -> Result<Jobs, SweepError> {
    let path = sweep.path().join(JOBS);
    let bytes = match read_regular(&path, JOBS_LIMIT) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Jobs::default()),
        bytes => bytes.map_err(SweepError::io("read", &path))?,
    };
    let jobs = serde_json::from_slice(&bytes).map_err(|error| error.to_string());
    let checked = jobs.and_then(|jobs: Jobs| jobs.check().map(|()| jobs));
    checked.map_err(|why| {
        SweepError::usage(format!(
            "{} is damaged ({why}); remove it to submit the sweep anew",
            path.display()
        ))
    })
}

/// Refuses a second submission while the first is at work.
fn check_queue(sweep: &Sweep, request: &Request) -> Result<(), SweepError> {
    if request.again || request.dry_run {
        return Ok(());
    }
    let living = living(&read_jobs(sweep)?.jobs)?;
    if living.is_empty() {
        return Ok(());
    }
    let path = sweep.path().display();
    Err(SweepError::usage(format!(
        "job {} is still queued or at work for {path}; `induct sweep status {path}` shows how far it is, \
         `induct sweep cancel {path}` ends it, and --again submits a second time, which does no harm",
        living.join(", ")
    )))
}

/// Those of some jobs that are queued or at work.
fn living(jobs: &[String]) -> Result<Vec<String>, SweepError> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    // Slurm forgets jobs, and names none if it has forgotten one: so all of this user's are asked for.
    let queue = call(Command::new("squeue").args(["--noheader", "--me", "--format=%F"]))?;
    let queued: Vec<&str> = queue.lines().map(str::trim).collect();
    Ok(jobs
        .iter()
        .filter(|job| queued.contains(&job.as_str()))
        .cloned()
        .collect())
}

fn array_limit(dry_run: bool) -> Result<u64, SweepError> {
    let shown = match call(Command::new("scontrol").args(["show", "config"])) {
        Ok(shown) => shown,
        // Without Slurm there is no limit to heed.
        Err(_) if dry_run => return Ok(u64::from(u32::MAX)),
        Err(error) => return Err(error),
    };
    Ok(limit_in(&shown).unwrap_or(1_000))
}

fn limit_in(config: &str) -> Option<u64> {
    let line = config
        .lines()
        .find(|line| line.trim_start().starts_with("MaxArraySize"))?;
    let (_, value) = line.split_once('=')?;
    value.trim().parse().ok().filter(|&limit| limit > 0)
}

/// Calls a command of Slurm's, and returns what it prints.
fn call(command: &mut Command) -> Result<String, SweepError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output: Output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => SweepError::usage(format!(
            "there is no Slurm here: {name} was not found. `induct sweep work SWEEP` does the runs on this machine; \
             `induct sweep submit SWEEP --dry-run` writes a script for other launchers (see docs/sweeps.md)"
        )),
        _ => SweepError::Failed(format!("cannot start {name}: {error}")),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(SweepError::Failed(format!(
        "Slurm refuses: {}",
        said.trim()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_limits() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        let config = "MaxArraySize            = 1001\nMaxJobCount             = 10000\n";
        assert_eq!(limit_in(config), Some(1001));
        assert_eq!(limit_in("nothing"), None);
    }

    #[test]
    fn a_script_survives_a_strange_path() {
        let text = script(
            Path::new("/a b/it's 5%"),
            Path::new("induct"),
            4,
            &["--mem=1G".into()],
        )
        .unwrap();
        assert!(text.contains("sweep='/a b/it'\\''s 5%'"), "{text}");
        assert!(
            text.contains("#SBATCH --output=\"/a b/it's 5%%/slurm/%A.log\""),
            "{text}"
        );
        assert!(text.contains("#SBATCH --mem=1G"));
        assert!(script(Path::new("/a\nb"), Path::new("induct"), 4, &[]).is_err());
    }

    #[test]
    fn options_and_files_that_would_run_as_commands_are_refused() {
        for option in ["--mem=1G\ntouch pwned", "touch pwned"] {
            let mut request = Request::default();
            request.options.push(option.to_owned());
            let refused = options(&request).unwrap_err().to_string();
            assert!(refused.contains("is no option of sbatch"), "{refused}");
        }
        let jobs = |shares: u64, option: &str, at_once: u64, job: &str| Jobs {
            shares,
            options: vec![option.to_owned()],
            at_once: Some(at_once),
            jobs: vec![job.to_owned()],
        };
        assert_eq!(jobs(4, "--mem=1G", 2, "17").check(), Ok(()));
        for damaged in [
            jobs(4, "--mem=1G\ntouch pwned", 2, "17"),
            // Sourced by the script's shell, and written to by Slurm.
            jobs(4, "--export-file=/tmp/environment", 2, "17"),
            jobs(4, "--output=/home/user/.profile", 2, "17"),
            jobs(4, "--mem=1G", 2, "--user=root"),
            jobs(u64::MAX, "--mem=1G", 2, "17"),
            jobs(4, "--mem=1G", 0, "17"),
        ] {
            assert!(damaged.check().is_err(), "{damaged:?}");
        }
    }
}
