//! `induct plot`: curves of one run, or of several overlaid.

use std::path::PathBuf;

use clap::Args;
use induct_figure::Figure;
use induct_pictures::groups::{RunGroup, grouped};
use induct_pictures::panels::{self, Curves, Runs};
use serde_json::{Value, json};

use crate::chart::{Chart, Line};
use crate::failure::Failure;
use crate::options::{Output, Threads};
use crate::recorded::RecordedRun;

/// Plot curves of one run or of several: losses beside those of the strategies, or any other measure
///
/// In pictures, thin lines are single seeds, bold ones their median; the phases of a single run are shaded.
#[derive(Args)]
pub struct Arguments {
    /// Folders of runs, of sweeps, or of several runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// A measure, for all its columns, or a column of metrics.csv; may be repeated. Without it: kl_truth and
    /// kl_strategy
    #[arg(long, value_name = "M")]
    measure: Vec<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    threads: Threads,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut runs = Vec::new();
    for path in &arguments.runs {
        runs.extend(RecordedRun::find(path)?);
    }
    let groups = grouped(runs);
    let curves: Vec<Runs> = groups.iter().map(RunGroup::curves).collect();
    let chosen = panels::chosen(&curves, &arguments.measure)?;
    let levels = shared_levels(&groups, &arguments.threads)?;
    let panels = panels::panels(&curves, &chosen, &levels)?;
    let mut series = Vec::new();
    for run in groups.iter().flat_map(|group| &group.runs) {
        for column in chosen.iter().flat_map(|chosen| &chosen.columns) {
            let values = run.history.column(column.clone());
            series.extend(values.map(|values| {
                json!({
                    "column": column.to_string(),
                    "run": run.path(),
                    "steps": run.history.steps(),
                    "values": values,
                })
            }));
        }
    }
    let group = |group: &RunGroup<RecordedRun>| {
        let runs: Vec<String> = group.runs.iter().map(RecordedRun::path).collect();
        json!({ "label": group.label, "runs": runs })
    };
    let value = json!({
        "groups": groups.iter().map(group).collect::<Vec<_>>(),
        "strategies": Value::from_iter(levels),
        "series": series,
    });
    let charts: Vec<String> = panels.iter().map(chart).collect();
    let draw = || Ok(sized(panels::figure(&panels)));
    arguments.output.print(&value, &charts.join("\n"), draw)
}

pub fn sized(figure: Figure) -> (Figure, u32) {
    let width = if figure.columns == 1 { 720 } else { 1100 };
    (figure, width)
}

/// The strategies' losses, which belong to the task: none if the runs differ in it.
pub fn shared_levels(
    groups: &[RunGroup<RecordedRun>],
    threads: &Threads,
) -> Result<Vec<(String, f64)>, Failure> {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let task = |run: &RecordedRun| run.folder.recipe().task.clone();
    // Only of a run that has ended are they written down.
    let ended = runs().find(|run| matches!(run.folder.summary(), Ok(Some(_))));
    match ended.or(runs().next()) {
        Some(run) if runs().all(|other| task(other) == task(run)) => {
            Ok(run.summary(threads)?.levels())
        }
        _ => Ok(Vec::new()),
    }
}

/// The letters that draw the lines of a chart.
const MARKS: &str = "*ox+#@%&=abcdefghijklmnpqrstuvwyz";

fn chart(panel: &Curves) -> String {
    let (mut lines, mut legend) = (Vec::new(), String::new());
    for ((line, _), mark) in panel.drawn().zip(MARKS.chars().cycle()) {
        legend += &format!("{:>9}{mark} {}\n", "", line.label);
        lines.push(Line {
            mark,
            points: line.median_curve(),
        });
    }
    let chart = Chart {
        lines: &lines,
        levels: &panel.levels,
    };
    let chart = match chart.draw() {
        chart if chart.is_empty() => "  no value other than zero is recorded\n".to_owned(),
        chart => chart,
    };
    let legend = if lines.len() > 1 {
        legend
    } else {
        String::new()
    };
    format!("{}: {}\n{chart}{legend}", panel.title, panel.meaning)
}
