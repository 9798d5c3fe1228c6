//! `induct plot`: curves of one run, or of several overlaid.

mod text;

use std::path::PathBuf;

use clap::Args;
use induct_figure::Figure;
use induct_pictures::groups::{RunGroup, grouped};
use induct_pictures::panels::{self, Chosen, Runs};
use serde_json::{Map, Value, json};

use super::{Threads, print, print_json};
use crate::failure::Failure;
use crate::out_file::OutFile;
use crate::recorded::Recorded;

/// Plot curves of one run or of several: losses beside those of the strategies, or any other measure
#[derive(Args)]
pub struct Arguments {
    /// Folders of runs, of sweeps, or of several runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// A measure, for all its columns, or a column of metrics.csv; may be repeated. Without it: kl_truth and
    /// kl_strategy
    #[arg(long, value_name = "M")]
    measure: Vec<String>,
    /// Write a picture (.svg, .png) rather than print a chart. Thin lines are single seeds, bold ones their
    /// median; the phases of a single run are shaded
    #[arg(long, value_name = "FILE", value_parser = OutFile::picture)]
    out: Option<OutFile>,
    /// Print {"groups": [{"label", "runs"}, …], "series": [{"column", "run", "steps", "values"}, …], …}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut runs = Vec::new();
    for path in &arguments.runs {
        runs.extend(Recorded::find(path)?);
    }
    let groups = grouped(runs);
    let curves: Vec<Runs> = groups.iter().map(RunGroup::curves).collect();
    let chosen = panels::chosen(&curves, &arguments.measure)?;
    let levels = shared_levels(&groups, &arguments.threads)?;
    let panels = panels::panels(&curves, &chosen, &levels)?;
    if let Some(out) = &arguments.out {
        write(out, &panels::figure(&panels))?;
    }
    if arguments.json {
        return print_json(&in_json(&groups, &chosen, &levels));
    }
    match &arguments.out {
        Some(out) => print(&format!("{} is written\n", out.path().display())),
        None => {
            let charts: Vec<String> = panels.iter().map(text::text).collect();
            let charts = charts.join("\n");
            print(&format!(
                "{charts}\nSave it as a picture with --out FILE.svg or FILE.png\n"
            ))
        }
    }
}

/// Writes a picture of curves.
pub fn write(out: &OutFile, figure: &Figure) -> Result<(), Failure> {
    out.write_figure(figure, if figure.columns == 1 { 720 } else { 1100 })
}

/// The strategies' losses, which belong to the task: none if the runs differ in it.
pub fn shared_levels(
    groups: &[RunGroup<Recorded>],
    threads: &Threads,
) -> Result<Vec<(String, f64)>, Failure> {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let task = |run: &Recorded| run.folder.recipe().task.clone();
    // Only of a run that has ended are they written down.
    let ended = runs().find(|run| matches!(run.folder.summary(), Ok(Some(_))));
    match ended.or(runs().next()) {
        Some(run) if runs().all(|other| task(other) == task(run)) => {
            Ok(run.summary(threads)?.levels())
        }
        _ => Ok(Vec::new()),
    }
}

fn in_json(groups: &[RunGroup<Recorded>], chosen: &[Chosen], levels: &[(String, f64)]) -> Value {
    let group = |group: &RunGroup<Recorded>| {
        let runs: Vec<String> = group.runs.iter().map(Recorded::path).collect();
        json!({ "label": group.label, "runs": runs })
    };
    let mut series = Vec::new();
    for (run, column) in groups.iter().flat_map(|group| &group.runs).flat_map(|run| {
        let columns = chosen.iter().flat_map(|chosen| &chosen.columns);
        columns.map(move |column| (run, column))
    }) {
        if let Some(values) = run.history.column(column.clone()) {
            series.push(json!({
                "column": column.to_string(),
                "run": run.path(),
                "steps": run.history.steps(),
                "values": values,
            }));
        }
    }
    let levels: Map<String, Value> = levels
        .iter()
        .map(|(name, level)| (name.clone(), json!(level)))
        .collect();
    json!({
        "groups": groups.iter().map(group).collect::<Vec<_>>(),
        "strategies": levels,
        "series": series,
    })
}
