//! `induct sweep work`: a shard of a sweep's runs.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use induct::lanes::use_level;
use induct_sweep::{Keep, Report, Shard, Sweep, Work, WorkSummary};
use serde_json::json;

use crate::commands::note;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::options::{Json, Threads};
use crate::progress::bar;
use crate::words::count;

/// Do what is missing of a sweep, or of a shard of it; any number of processes may do so at once
#[derive(Args)]
pub struct Arguments {
    /// Folder of the sweep
    sweep: PathBuf,
    /// Shard number I of N, from 0 on, such as 0/4; all of it if not given
    #[arg(long, value_name = "I/N", default_value = "0/1")]
    shard: Shard,
    /// Try again the runs whose worker died three times
    #[arg(long)]
    retry: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    threads: Threads,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    settle_level(&sweep)?;
    let interrupt = Interrupt::watch()?;
    let notice = Interrupt::watch_notice()?;
    let stop = || interrupt.asked() || notice.asked();
    let worked = arguments
        .threads
        .run(|| with_bar(&sweep, arguments.shard, arguments.retry, &stop))?;
    let whole = worked.left + worked.failed + worked.given_up == 0;
    let done = count(worked.done, "run");
    let text = match whole {
        true => format!("shard {}: {done} done\n", arguments.shard),
        false => String::new(),
    };
    arguments.json.print(&json!(worked), &text)?;
    if worked.left > 0 {
        let left = count(worked.left, "run");
        // A run that never fits would be queued again for ever.
        let progress = worked.done > 0 || sweep.plan.kept.runs == Keep::All;
        return Err(match notice.asked() && !interrupt.asked() {
            true if !progress => Failure::failed(format!(
                "no run of shard {} was finished in the time given; give more time, or plan with --keep all, so that \
                 runs resume where they were",
                arguments.shard
            )),
            true => Failure::time_is_up(format!(
                "stopped in time with {left} of shard {} left",
                arguments.shard
            )),
            false => Failure::interrupted(format!(
                "stopped with {left} of shard {} left; run the same command again to continue",
                arguments.shard
            )),
        });
    }
    failures(&sweep, &worked)
}

/// Computes at the level that a sweep is pinned to.
fn settle_level(sweep: &Sweep) -> Result<(), Failure> {
    let Some(level) = &sweep.plan.level else {
        return Ok(());
    };
    if let Some(asked) = crate::pinned_level().filter(|asked| asked != level) {
        return Err(Failure::usage(format!(
            "--level {asked}: {} is pinned to level {level}; leave --level out",
            sweep.path().display()
        )));
    }
    use_level(level).map_err(|invalid| {
        Failure::usage(format!(
            "{} is pinned to level {level}: {}; work on it on another machine, or plan a new sweep with a --level \
             that all machines have (portable is one)",
            sweep.path().display(),
            invalid.allowed
        ))
    })
}

/// An error, if any run failed or was given up.
pub fn failures(sweep: &Sweep, worked: &WorkSummary) -> Result<(), Failure> {
    let path = sweep.path().display();
    if worked.failed > 0 {
        return Err(Failure::failed(format!(
            "{} failed; `induct sweep status {path}` says why, and the next `sweep work` tries again",
            count(worked.failed, "run"),
        )));
    }
    if worked.given_up > 0 {
        return Err(Failure::failed(format!(
            "{} not tried again, because the worker that trained it died three times; \
             `induct sweep work {path} --retry` does so",
            count(worked.given_up, "run"),
        )));
    }
    if worked.elsewhere > 0 {
        note(&format!(
            "another process is at {} of this shard",
            count(worked.elsewhere, "run")
        ));
    }
    Ok(())
}

pub fn with_bar(
    sweep: &Sweep,
    shard: Shard,
    retry: bool,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<WorkSummary, Failure> {
    settle_level(sweep)?;
    let bar = bar(0, "{bar:30} {msg}, {eta} left");
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let further = Mutex::new(0.0);
    let say = |text: String| bar.suspend(|| note(&text));
    let report = |report: Report| match report {
        Report::Begin { runs, seconds } => {
            total.store(runs, Ordering::Relaxed);
            bar.set_length((1000.0 * seconds) as u64);
            bar.set_message(format!("0 of {}", count(runs, "run")));
        }
        Report::Further(seconds) => {
            let mut sum = further
                .lock()
                .expect("nothing panics while it holds the lock");
            *sum += 1000.0 * seconds;
            bar.set_position(*sum as u64);
        }
        Report::Done { error } => {
            let (done, total) = (
                1 + done.fetch_add(1, Ordering::Relaxed),
                total.load(Ordering::Relaxed),
            );
            bar.set_message(format!("{done} of {}", count(total, "run")));
            // A log shows a line per twentieth of the work.
            let lines = total.div_ceil(20).max(1);
            if bar.is_hidden() && (done.is_multiple_of(lines) || done == total) {
                note(&format!("{done} of {} done", count(total, "run")));
            }
            if let Some(error) = error {
                say(format!("a run failed: {error}"));
            }
        }
        Report::Remark(text) => say(text),
    };
    let work = Work {
        sweep,
        shard,
        retry,
        stop,
        report: &report,
    };
    let worked = work.run();
    bar.finish_and_clear();
    Ok(worked?)
}
