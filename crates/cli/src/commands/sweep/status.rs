//! `induct sweep status`: how far a sweep is, from its files alone.

use std::path::PathBuf;

use clap::Args;
use induct_sweep::{State, Sweep};
use serde_json::json;

use super::gather;
use crate::failure::Failure;
use crate::options::Json;
use crate::words::{count, duration, thousands};

/// Show how far a sweep is: done, running, failed, and the time left
#[derive(Args)]
pub struct Arguments {
    /// Folder of the sweep
    sweep: PathBuf,
    #[command(flatten)]
    json: Json,
}

/// The most failures that are shown one by one.
const SHOWN: usize = 10;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let sweep = Sweep::open(&arguments.sweep)?;
    let state = sweep.state()?;
    let plan = &sweep.plan;
    let failed = state.failed.iter().map(|(&index, why)| {
        let run = &plan.runs()[index];
        json!({ "overrides": plan.overrides(run), "seed": run.key.seed, "error": why })
    });
    let workers = state.workers.iter().map(|worker| {
        json!({
            "shard": worker.author.shard,
            "host": worker.author.host,
            "threads": worker.author.threads,
            "alive": worker.alive,
            "runs": worker.begun,
        })
    });
    let value = json!({
        "runs": plan.runs().len(),
        "done": state.finished(),
        "diverged": state.diverged,
        "running": state.running(),
        "failed": failed.collect::<Vec<_>>(),
        "missing": state.missing().count(),
        "seconds_left": seconds_left(&sweep, &state),
        "seconds_left_on_threads": threads(&state),
        "workers": workers.collect::<Vec<_>>(),
        "levels": state.levels,
        "journals": state.journals,
        "remarks": state.remarks,
    });
    arguments.json.print(&value, &text(&sweep, &state))
}

/// The threads at work.
fn threads(state: &State) -> usize {
    let living = state.living().map(|worker| worker.author.threads);
    living.fold(0, usize::saturating_add)
}

fn text(sweep: &Sweep, state: &State) -> String {
    let plan = &sweep.plan;
    let (runs, done) = (plan.runs().len(), state.finished());
    let left = seconds_left(sweep, state);
    let mut text = format!(
        "{} of {} done, {} running, {} failed\n",
        thousands(done),
        count(runs, "run"),
        thousands(state.running()),
        thousands(state.failed.len())
    );
    if state.diverged > 0 {
        text += &format!(
            "{} diverged: that is a result\n",
            thousands(state.diverged as usize)
        );
    }
    if done < runs {
        text += &match threads(state) {
            0 => format!("nobody is at work; {} left on one thread\n", duration(left)),
            threads => format!(
                "{} left on {} at work\n",
                duration(left / threads as f64),
                count(threads, "thread")
            ),
        };
    }
    if let Some(mixture) = gather::mixture(&state.levels) {
        text += &format!("{mixture}\n");
    }
    let silent = state.workers.len() - state.living().count();
    if silent > 0 {
        let who = match silent {
            1 => "a worker has died".to_owned(),
            silent => format!("{silent} workers have died"),
        };
        text += &format!(
            "{who} before the end of its shard; what was finished is kept, and `sweep work` or `sweep resubmit` does the rest\n"
        );
    }
    for remark in &state.remarks {
        text += &format!("{remark}\n");
    }
    for (&index, why) in state.failed.iter().take(SHOWN) {
        let run = &plan.runs()[index];
        let mut what = plan.overrides(run);
        what.push(format!("seed {}", run.key.seed));
        text += &format!("failed: {}: {why}\n", what.join(", "));
    }
    if state.failed.len() > SHOWN {
        text += &format!(
            "… and {} more (--json has all)\n",
            state.failed.len() - SHOWN
        );
    }
    text
}

/// Seconds that the missing runs take on one thread: as planned, corrected by how long finished ones took.
pub fn seconds_left(sweep: &Sweep, state: &State) -> f64 {
    let plan = &sweep.plan;
    let seconds = state
        .missing()
        .map(|index| plan.seconds(&plan.runs()[index]));
    let planned: f64 = seconds.sum();
    match state.expected > 0.0 && state.seconds > 0.0 {
        true => planned * state.seconds / state.expected,
        false => planned,
    }
}
