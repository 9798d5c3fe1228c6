//! `induct sweep work`: a share of a sweep's runs.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use induct::lanes::use_level;
use induct_sweep::{Keep, Report, Shard, Sweep, Work, Worked};
use serde_json::json;

use super::{note, print, print_json};
use crate::commands::Threads;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::words::count;

/// Do what is missing of a sweep, or of a share of it; any number of processes may do so at once
#[derive(Args)]
pub struct Arguments {
    /// Folder of the sweep
    sweep: PathBuf,
    /// Share number I of N, from 0 on, such as 0/4; all of it if not given
    #[arg(long, value_name = "I/N", default_value = "0/1")]
    shard: Shard,
    /// Try again the runs whose worker died three times
    #[arg(long)]
    retry: bool,
    /// Print {"done": n, "failed": n, "left": n, "elsewhere": n, "given_up": n}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    settle_level(&sweep)?;
    let interrupt = Interrupt::watch()?;
    let notice = Interrupt::watch_notice()?;
    let stop = || interrupt.asked() || notice.asked();
    let worked = arguments
        .threads
        .run(|| with_bar(&sweep, arguments.shard, arguments.retry, &stop))?;
    if arguments.json {
        print_json(&json!({
            "done": worked.done,
            "failed": worked.failed,
            "left": worked.left,
            "elsewhere": worked.elsewhere,
            "given_up": worked.given_up,
        }))?;
    }
    if worked.left > 0 {
        let left = count(worked.left as usize, "run");
        // A run that never fits would be queued again for ever.
        let progress = worked.done > 0 || sweep.plan.kept.runs == Keep::All;
        return Err(match notice.asked() && !interrupt.asked() {
            true if !progress => Failure::failed(format!(
                "no run of share {} was finished in the time given; give more time, or plan with --keep all, so that \
                 runs resume where they were",
                arguments.shard
            )),
            true => Failure::TimeIsUp(format!(
                "stopped in time with {left} of share {} left",
                arguments.shard
            )),
            false => Failure::Interrupted(format!(
                "stopped with {left} of share {} left; run the same command again to continue",
                arguments.shard
            )),
        });
    }
    failures(&sweep, &worked)?;
    match arguments.json {
        true => Ok(()),
        false => print(&format!(
            "share {}: {} done\n",
            arguments.shard,
            count(worked.done as usize, "run")
        )),
    }
}

/// Computes at the level that a sweep is pinned to.
fn settle_level(sweep: &Sweep) -> Result<(), Failure> {
    let Some(level) = &sweep.plan.level else {
        return Ok(());
    };
    if let Some(asked) = crate::pinned_level().filter(|asked| asked != level) {
        return Err(Failure::mistake(format!(
            "--level {asked}: {} is pinned to level {level}; leave --level out",
            sweep.path().display()
        )));
    }
    use_level(level).map_err(|invalid| {
        Failure::mistake(format!(
            "{} is pinned to level {level}: {}; work on it on another machine, or plan a new sweep with a --level \
             that all machines have (portable is one)",
            sweep.path().display(),
            invalid.allowed
        ))
    })
}

/// An error, if any run failed or was given up.
pub fn failures(sweep: &Sweep, worked: &Worked) -> Result<(), Failure> {
    let path = sweep.path().display();
    if worked.failed > 0 {
        return Err(Failure::failed(format!(
            "{} failed; `induct sweep status {path}` says why, and the next `sweep work` tries again",
            count(worked.failed as usize, "run"),
        )));
    }
    if worked.given_up > 0 {
        return Err(Failure::failed(format!(
            "{} not tried again, because the worker that trained it died three times; \
             `induct sweep work {path} --retry` does so",
            count(worked.given_up as usize, "run"),
        )));
    }
    if worked.elsewhere > 0 {
        note(&format!(
            "another process is at {} of this share",
            count(worked.elsewhere as usize, "run")
        ));
    }
    Ok(())
}

/// Works with a bar that shows how far it is.
pub fn with_bar(
    sweep: &Sweep,
    shard: Shard,
    retry: bool,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Worked, Failure> {
    settle_level(sweep)?;
    let bar = ProgressBar::new(0);
    let template = "{bar:30} {msg}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    let further = Mutex::new(0.0);
    let say = |text: String| bar.suspend(|| note(&text));
    let report = |report: Report| match report {
        Report::Begin { runs, seconds } => {
            total.store(runs, Ordering::Relaxed);
            bar.set_length((1000.0 * seconds) as u64);
            bar.set_message(format!("0 of {}", count(runs as usize, "run")));
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
            bar.set_message(format!("{done} of {}", count(total as usize, "run")));
            // A log shows a line per twentieth of the work.
            let lines = total.div_ceil(20).max(1);
            if bar.is_hidden() && (done.is_multiple_of(lines) || done == total) {
                note(&format!("{done} of {} done", count(total as usize, "run")));
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
