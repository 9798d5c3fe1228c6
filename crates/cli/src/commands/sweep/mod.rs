//! `induct sweep`: one recipe over many seeds and variations, on all cores.

mod folder;
mod plan;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use induct::measure::KL_TRUTH;
use induct::train::many;
use induct_figure::Figure;
use induct_pictures::curves::Group;
use induct_pictures::groups::by_size;
use induct_pictures::sweeps::{KeyAxis, Map, curves, phase_diagram};
use induct_store::{How, Outcome, RunFolder, Session, snapshot_weights};
use serde_json::{Value, json};

use self::folder::SweepFolder;
use self::plan::Planned;
use self::table::Row;
use super::{Threads, note, numbers, print, print_json};
use crate::failure::Failure;
use crate::figure_files::write_figure;
use crate::interrupt::Interrupt;
use crate::recipes;
use crate::session;
use crate::words::count;

/// Train one recipe over many seeds and variations, several runs at a time
#[derive(Args)]
pub struct Arguments {
    /// File of a recipe, or name of a preset (see `induct presets`)
    recipe: String,
    /// Number of seeds: 0, 1, …, for both the initial weights and the data
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = numbers::whole_within(1..=100_000))]
    seeds: u64,
    /// Values for one key, separated by semicolons, such as "train.optimizer.lr=1e-3;3e-3"; may be repeated,
    /// for all combinations
    #[arg(long, value_name = "KEY.PATH=V1;V2;…")]
    vary: Vec<String>,
    /// Override one key of the recipe in every run, such as train.steps=100; may be repeated
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,
    /// Folder of the sweep; sweeps/NAME if not given. Runs that it holds already are not trained again, so a
    /// sweep can grow by seeds, values and keys
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print {"runs": [{"run": "0f3a…", "overrides": […], "seed": n, "kl_truth": x, …}, …]}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let base = recipes::load(&arguments.recipe, &arguments.set)?;
    let variations = plan::variations(&arguments.vary)?;
    let runs = plan::runs(
        &arguments.recipe,
        &arguments.set,
        &variations,
        arguments.seeds,
    )?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => Path::new("sweeps").join(&base.name),
    };
    let keys: Vec<String> = variations.into_iter().map(|v| v.key).collect();
    let interrupt = Interrupt::watch()?;
    let folder = SweepFolder::claim(&out, &base, &keys)?;
    let stopped = arguments
        .threads
        .run(|| train_all(&runs, &folder, &interrupt))?;
    let rows = table::rows(
        &folder.files.file("runs"),
        &folder.files.names("runs")?,
        &folder.keys,
        |why| note(&format!("left out of the table: {why}")),
    );
    folder
        .files
        .write("sweep.csv", &table::csv(&rows, &folder.keys)?)?;
    if let Some(figure) = summary_figure(&rows, &folder)? {
        write_figure(&folder.files, "figure", &figure, WIDTH)?;
    }
    if stopped > 0 {
        return Err(Failure::Interrupted(format!(
            "stopped with {} unfinished; run the same command again to continue",
            count(stopped, "run")
        )));
    }
    if arguments.json {
        let entry = |planned: &Planned| {
            let row = rows.iter().find(|row| row.name == planned.name);
            json_row(planned, row)
        };
        let entries: Vec<Value> = runs.iter().map(entry).collect();
        return print_json(&json!({ "out": out.to_string_lossy(), "runs": entries }));
    }
    print(&table::text(&rows, &folder.keys, &out))
}

/// Width of the figure in files, in pixels; PNGs have twice as many.
const WIDTH: u32 = 900;

/// Trains the runs that are missing; returns how many were stopped before their end.
fn train_all(
    runs: &[Planned],
    folder: &SweepFolder,
    interrupt: &Interrupt,
) -> Result<usize, Failure> {
    let bar = bar(runs);
    let (steps, done, stopped) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let train = |index: usize| -> Result<(), Failure> {
        let run = &runs[index];
        let path = folder.files.file("runs").join(&run.name);
        let mut last = 0;
        let mut advance = |to: u64| {
            let more = to.saturating_sub(last);
            last = to;
            bar.set_position(more + steps.fetch_add(more, Ordering::Relaxed));
        };
        if interrupt.asked() {
            stopped.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let session = Session {
            recipe: &run.recipe,
            path: &path,
            how: How::Resume,
            instruments: None,
            snapshots: &snapshot_weights,
            remark: &note,
        };
        match session::train(&session, interrupt, |progress| advance(progress.step))? {
            Outcome::Stopped(_) => {
                stopped.fetch_add(1, Ordering::Relaxed);
            }
            // A run that diverged says so in its summary; the others continue.
            Outcome::Ended { .. } => {
                advance(run.recipe.train.steps);
                let done = 1 + done.fetch_add(1, Ordering::Relaxed);
                if bar.is_hidden() {
                    note(&format!("{done} of {} done", count(runs.len(), "run")));
                }
            }
        }
        Ok(())
    };
    let outcomes = many(runs.len(), train)
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?;
    bar.finish_and_clear();
    outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
    Ok(stopped.into_inner())
}

fn bar(runs: &[Planned]) -> ProgressBar {
    let steps = runs.iter().map(|run| run.recipe.train.steps);
    let total = steps.fold(0, u64::saturating_add);
    let template = "{bar:30} {pos}/{len} steps of all runs, {eta} left";
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::new(total).with_style(style)
}

fn json_row(planned: &Planned, row: Option<&Row>) -> Value {
    let summary = row.map(|row| &row.summary);
    json!({
        "run": planned.name,
        "overrides": planned.overrides,
        "seed": planned.seed,
        "kl_truth": row.and_then(|row| row.last("kl_truth")),
        "diverged_at": summary.and_then(|summary| summary.diverged_at),
        "phases": summary.map(|summary| &summary.phases),
        "seconds": summary.map(|summary| summary.seconds),
    })
}

/// The sweep in one figure: curves if at most one key varies, else a phase diagram over the first two.
fn summary_figure(rows: &[Row], folder: &SweepFolder) -> Result<Option<Figure>, Failure> {
    if rows.is_empty() {
        return Ok(None);
    }
    if let [x, y, ..] = folder.keys.as_slice() {
        return Ok(Some(diagram(rows, x, y)));
    }
    let mut groups: Vec<Group> = Vec::new();
    for same in rows.chunk_by(|a, b| a.values == b.values) {
        let mut seeds = Vec::new();
        for row in same {
            let run = RunFolder::open(&folder.files.file("runs").join(&row.name))?;
            let history = run.history()?;
            let steps = history.steps().into_iter().map(|step| step as f64);
            let losses = history.column(&KL_TRUTH).unwrap_or_default();
            seeds.push(steps.zip(losses).collect());
        }
        let label = match (folder.keys.first(), same[0].values.first()) {
            (Some(key), Some(value)) => format!("{key} = {value}"),
            _ => count(same.len(), "seed"),
        };
        groups.push(Group { label, seeds });
    }
    // The levels belong to the task, so they are shared by all runs unless the task varies.
    let same_task = !folder.keys.iter().any(|key| key.starts_with("task."));
    let levels: Vec<(String, f64)> = match same_task {
        true => rows[0].summary.levels(),
        false => Vec::new(),
    };
    Ok(Some(curves(&groups, &levels)))
}

/// Medians, over seeds and any further keys, of the final loss and of the onset of the last strategy.
fn diagram(rows: &[Row], x: &str, y: &str) -> Figure {
    let axis = |name: &str, index: usize| {
        let mut values: Vec<String> = rows.iter().map(|row| row.values[index].clone()).collect();
        values.sort_by(|a, b| by_size(a, b));
        values.dedup();
        KeyAxis {
            key: name.to_owned(),
            values,
        }
    };
    let (x, y) = (axis(x, 0), axis(y, 1));
    let strategies = rows.iter().map(|row| &row.summary.strategies);
    let last = strategies.max_by_key(|s| s.len()).and_then(|s| s.last());
    let last = last.map_or("bigram", |(name, _)| name.as_str());
    let map = |title: String, unit: &str, of: &dyn Fn(&Row) -> Option<f64>| {
        let cell = |x: &String, y: &String| {
            let here = rows
                .iter()
                .filter(|row| row.values[0] == *x && row.values[1] == *y);
            let values: Vec<f64> = here.filter_map(of).collect();
            (!values.is_empty()).then(|| induct::probe::median(&values))
        };
        let row = |value: &String| x.values.iter().map(|x| cell(x, value)).collect();
        Map {
            title,
            unit: unit.to_owned(),
            cells: y.values.iter().map(row).collect(),
        }
    };
    let maps = [
        map("Final loss".into(), "KL(truth ‖ model), nats", &|row| {
            row.last("kl_truth")
        }),
        map(format!("Onset of the {last} phase"), "steps", &|row| {
            row.onset(last).map(|step| step as f64)
        }),
    ];
    phase_diagram(&x, &y, &maps)
}
