//! `induct sweep plan`: what a sweep will do, how long it takes and how much it keeps.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use induct::lanes::{instructions, use_level};
use induct_sweep::{Axis, Keep, Plan, Seeds, Study, Sweep, disk};
use serde_json::json;

use crate::commands::{note, numbers};
use crate::failure::Failure;
use crate::options::Json;
use crate::recipes;
use crate::words::{bytes, count, duration};

/// Plan a sweep, and say how many runs it has, how long they take and how much disk they need
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    what: What,
    /// Folder of the sweep
    #[arg(long, value_name = "SWEEP")]
    out: PathBuf,
    /// Let the sweep that is in the folder grow by the runs of this plan that it does not have
    #[arg(long)]
    extend: bool,
    #[command(flatten)]
    json: Json,
}

/// What to sweep over.
#[derive(Args)]
pub struct What {
    /// A study's file (see docs/sweeps.md), a recipe's file, or the name of a preset
    #[arg(required = true, value_name = "STUDY|RECIPE")]
    source: Option<String>,
    /// Number of seeds: 0, 1, …, for both the initial weights and the data; 5 if neither this nor a study says
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1_000_000))]
    seeds: Option<u64>,
    /// Values for one key, separated by semicolons, such as "train.optimizer.lr=1e-3;3e-3"; may be repeated,
    /// for all combinations
    #[arg(long, value_name = "KEY.PATH=V1;V2;…")]
    vary: Vec<String>,
    /// Override one key of the recipe in every run, such as train.steps=100; may be repeated
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Runs to keep whole, with snapshots and records; all if there are at most 1,000 runs, else none
    #[arg(long, value_name = "WHICH")]
    keep: Option<Whole>,
    /// A column of metrics.csv to keep at every record, such as kl_truth; may be repeated
    #[arg(long, value_name = "COLUMN")]
    curve: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Whole {
    /// Every run
    All,
    /// The first seed of each point
    First,
    /// No run
    None,
}

impl From<Whole> for Keep {
    fn from(whole: Whole) -> Self {
        match whole {
            Whole::All => Keep::All,
            Whole::First => Keep::First,
            Whole::None => Keep::None,
        }
    }
}

impl What {
    /// The plan, and the name of its recipe. Its cost is not measured yet.
    pub fn plan(&self) -> Result<(Plan, String), Failure> {
        let source = self.source.as_deref().unwrap_or_default();
        let (mut study, of_file) = self.study(source)?;
        if let Some(count) = self.seeds {
            study.seeds.count = count;
        }
        study.set.extend(self.set.iter().cloned());
        for axis in variations(&self.vary)? {
            study.vary.retain(|other| other.key != axis.key);
            study.vary.push(axis);
        }
        if let Some(keep) = self.keep {
            study.results.runs = Some(keep.into());
        }
        if !self.curve.is_empty() {
            study.results.curves = Some(self.curve.clone());
        }
        if let Some(level) = &study.level {
            use_level(level).map_err(|invalid| {
                Failure::usage(format!(
                    "{source}: level = \"{level}\": {}",
                    invalid.allowed
                ))
            })?;
            study.level = Some(instructions().to_owned());
        } else {
            study.level = crate::pinned_level();
        }
        // An error in a file is that file's; one in options is theirs.
        let blame = |failure: Failure| match of_file {
            true => failure.while_at(source),
            false => failure.for_options(),
        };
        let base = recipes::load(&study.base, &study.set);
        let base = if of_file { base.map_err(blame)? } else { base? };
        let plan = Plan::new(&study, &base).map_err(|error| blame(error.into()))?;
        Ok((plan, base.name))
    }

    /// The study, and whether it comes from a file.
    fn study(&self, source: &str) -> Result<(Study, bool), Failure> {
        let path = Path::new(source);
        let text = recipes::read_text(path, recipes::MOST_BYTES).unwrap_or_default();
        if !Study::is_study(&text) {
            return Ok((Study::new(source, Seeds::default()), false));
        }
        let mut study =
            Study::from_toml(&text).map_err(|error| Failure::from(error).while_at(source))?;
        // A file beside the study is meant, if there is one.
        let beside = path.with_file_name(&study.base);
        if beside.is_file() {
            study.base = beside.to_string_lossy().into_owned();
        }
        Ok((study, true))
    }

    pub fn put(out: &Path, plan: Plan, extend: bool) -> Result<Sweep, Failure> {
        Sweep::put(out, plan, extend).map_err(|error| {
            let failure = Failure::from(error);
            let text = failure.to_string();
            match text.contains("--out") || text.contains("sweep repair") {
                true => failure,
                false => failure.with_advice("choose another --out"),
            }
        })
    }
}

/// Parses `--vary`: `key.path=v1;v2;…`.
fn variations(texts: &[String]) -> Result<Vec<Axis>, Failure> {
    let mut all: Vec<Axis> = Vec::new();
    for text in texts {
        let refuse = |why: &str| Err(Failure::usage(format!("--vary {text}: {why}")));
        let Some((key, values)) = text.split_once('=') else {
            return refuse("expected KEY.PATH=VALUE;VALUE;…");
        };
        let key = key.trim().to_owned();
        if all.iter().any(|other| other.key == key) {
            return refuse("this key is varied already; give all its values in one --vary");
        }
        let values = values.split(';').map(|value| value.trim().into()).collect();
        all.push(Axis { key, values });
    }
    Ok(all)
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (plan, _) = arguments.what.plan()?;
    let sweep = What::put(&arguments.out, plan, arguments.extend)?;
    let plan = &sweep.plan;
    let runs = plan.runs().len() as u64;
    let seconds: f64 = plan.runs().iter().map(|run| plan.seconds(run)).sum();
    let bytes_needed = disk(plan)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let value = json!({
        "out": arguments.out.to_string_lossy(),
        "runs": runs,
        "points": plan.points(),
        "keys": plan.keys(),
        "seconds": seconds,
        "bytes": bytes_needed,
        "kept_whole": plan.kept.runs.name(),
        "level": plan.level,
        "numerics": plan.numerics,
    });
    let stops = plan
        .recipe(&plan.runs()[0])
        .is_ok_and(|recipe| recipe.train.stop.is_some());
    let at_most = if stops { "at most " } else { "about " };
    let mut text = format!(
        "{}: {}, in {}\n",
        count(runs, "run"),
        count(plan.points(), "point"),
        arguments.out.display(),
    );
    for grid in &plan.grids {
        for axis in &grid.vary {
            let ends = match axis.values.as_slice() {
                [only] => only.clone(),
                [first, .., last] => {
                    format!("{}, {first} to {last}", count(axis.values.len(), "value"))
                }
                [] => String::new(),
            };
            text += &format!("  {}: {ends}\n", axis.key);
        }
        text += &format!(
            "  seeds: {} from {} on\n",
            grid.seeds.count, grid.seeds.first
        );
    }
    text += &format!(
        "time: {at_most}{} on one thread, {} on {} ({} per run on average, measured at a few points)\n",
        duration(seconds),
        duration(seconds / threads as f64),
        count(threads, "thread"),
        duration(seconds / runs as f64),
    );
    let whole = match plan.kept.runs {
        Keep::All => "every run is kept whole",
        Keep::First => "the first seed of each point is kept whole",
        Keep::None => "no run is kept whole",
    };
    text += &format!("disk: about {}; {whole}\n", bytes(bytes_needed));
    match &plan.level {
        Some(level) => text += &format!("level: {level} on every machine\n"),
        None => {
            text += "level: the best of each machine; --level pins one, so that all compute the same bytes\n";
        }
    }
    let out = arguments.out.display();
    text += &format!(
        "next: `induct sweep work {out}` here, or `induct sweep submit {out}` on a Slurm cluster\n"
    );
    arguments.json.print(&value, &text)?;
    if runs > 100_000 {
        note("a sweep of this size is better done on a cluster");
    }
    Ok(())
}
