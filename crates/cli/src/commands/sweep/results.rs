//! What a sweep found, on the terminal and in one figure.

use induct::probe::Moments;
use induct_figure::Figure;
use induct_pictures::sweeps::curves;
use induct_store::RunFolder;
use induct_sweep::{Column, RunStatus, Sweep, SweepResults};
use serde_json::{Map, Value, json};

use super::plot;
use crate::failure::Failure;
use crate::figure_files;
use crate::words::{count, fixed};

/// Width of the figure in files, in pixels; PNGs have twice as many.
const WIDTH: u32 = 900;

/// The most points that are shown one by one.
const SHOWN: usize = 40;

/// The rows of each point, in the order of the plan.
fn points(sweep: &Sweep, gathered: &SweepResults) -> Vec<(Vec<String>, Vec<usize>)> {
    let keys = sweep.plan.keys();
    let columns: Vec<&Column> = keys
        .iter()
        .filter_map(|key| gathered.table.column(key))
        .collect();
    let mut points: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for row in 0..gathered.table.len() {
        let values: Vec<String> = columns.iter().map(|column| column.shown(row)).collect();
        let place = *places.entry(values.clone()).or_insert_with(|| {
            points.push((values, Vec::new()));
            points.len() - 1
        });
        points[place].1.push(row);
    }
    points
}

fn diverged(gathered: &SweepResults, row: usize) -> bool {
    let ended = gathered.table.column("ended");
    ended.is_some_and(|column| column.shown(row) == RunStatus::Diverged.name())
}

/// A few lines per point: the final divergence and the onsets of phases, averaged over seeds.
pub fn text(sweep: &Sweep, gathered: &SweepResults) -> String {
    let (table, out) = (&gathered.table, sweep.path().display());
    let mut text = format!(
        "{} in {out}; KL(truth ‖ model) at the last position in nats, onsets in steps, \
         ± one standard error over seeds\n",
        count(gathered.runs.len(), "run"),
    );
    let points = points(sweep, gathered);
    for (values, rows) in points.iter().take(SHOWN) {
        let varied = sweep.plan.keys().iter().zip(values);
        let title: Vec<String> = varied
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let title = match title.is_empty() {
            true => String::new(),
            false => format!("{}: ", title.join(", ")),
        };
        let sound: Vec<usize> = rows
            .iter()
            .copied()
            .filter(|&row| !diverged(gathered, row))
            .collect();
        let numbers = |name: &str| -> Vec<f64> {
            let column = table.column(name);
            sound
                .iter()
                .filter_map(|&row| column?.number(row))
                .collect()
        };
        text += &format!(
            "\n{title}{}, KL {}",
            count(rows.len(), "seed"),
            mean(&numbers("final.kl_truth"), 5)
        );
        if sound.len() < rows.len() {
            text += &format!(", {} diverged", rows.len() - sound.len());
        }
        text += "\n";
        for strategy in &sweep.plan.kept.strategies {
            let onsets = numbers(&format!("onset.{strategy}"));
            if !onsets.is_empty() {
                text += &format!(
                    "  {strategy:<10} from step {}, in {} of {}\n",
                    mean(&onsets, 0),
                    onsets.len(),
                    count(rows.len(), "run")
                );
            }
        }
    }
    if points.len() > SHOWN {
        text += &format!(
            "\n… and {} more points; `induct sweep gather {out} --out FILE.csv` has all, `induct sweep plot {out}` shows them\n",
            points.len() - SHOWN
        );
    }
    text
}

/// Mean ± standard error; the mean alone for a single value.
fn mean(values: &[f64], digits: usize) -> String {
    let estimate = values.iter().copied().collect::<Moments>().estimate();
    let (mean, se) = (fixed(estimate.mean, digits), fixed(estimate.se, digits));
    match values.len() {
        0 => "unknown".to_owned(),
        1 => mean,
        _ => format!("{mean} ± {se}"),
    }
}

/// One object per run, by column; curves are left out.
pub fn json_rows(sweep: &Sweep, gathered: &SweepResults) -> Vec<Value> {
    let row = |(row, &index): (usize, &usize)| {
        let run = &sweep.plan.runs()[index];
        let mut object = Map::new();
        for (name, column) in &gathered.table.columns {
            let value = match column {
                Column::Text(values) => json!(values[row]),
                Column::Whole(values) => json!(values[row]),
                Column::Real(values) => json!(values[row]),
                Column::Curve(_) => continue,
            };
            object.insert(name.clone(), value);
        }
        object.insert("overrides".into(), json!(sweep.plan.overrides(run)));
        Value::Object(object)
    };
    gathered.runs.iter().enumerate().map(row).collect()
}

/// Writes the sweep in one figure into its folder.
pub fn write_figure_of(sweep: &Sweep, gathered: &SweepResults) -> Result<(), Failure> {
    if gathered.runs.is_empty() {
        return Ok(());
    }
    match summary_figure(sweep, gathered) {
        Some(figure) => figure_files::write_figure(&sweep.claim()?, "figure", &figure, WIDTH),
        None => Ok(()),
    }
}

/// The sweep in one figure: curves if at most one key varies, else a phase diagram over the first two. Where no curves
/// were kept, the final loss over the key, if its values are numbers.
pub fn summary_figure(sweep: &Sweep, gathered: &SweepResults) -> Option<Figure> {
    if let [x, y, ..] = sweep.plan.keys() {
        let last = sweep.plan.kept.strategies.iter().rev();
        let mut last = last.filter(|name| {
            let column = gathered.table.column(&format!("onset.{name}"));
            column.is_some_and(|column| (0..column.len()).any(|row| column.number(row).is_some()))
        });
        let onset = last.next().map(|name| format!("onset.{name}"));
        let measures: Vec<String> = ["final.kl_truth".to_owned()]
            .into_iter()
            .chain(onset)
            .collect();
        return Some(plot::diagram(gathered, x, y, &measures));
    }
    if !sweep.plan.kept.curves.iter().any(|name| name == "kl_truth") {
        let key = sweep.plan.keys().first();
        return key.and_then(|key| plot::family_of(gathered, key, "final.kl_truth", None).ok());
    }
    let key = sweep.plan.keys().first().map(String::as_str);
    let groups = plot::groups(gathered, "kl_truth", key);
    // The levels belong to the task, so they are shared by all runs unless the task varies.
    let same_task = !sweep.plan.keys().iter().any(|key| key.starts_with("task."));
    let first = gathered
        .table
        .column("run")
        .map(|column| column.shown(0))
        .unwrap_or_default();
    let summary = RunFolder::open(&sweep.run_folder(&first)).and_then(|run| run.summary());
    let levels = match (summary, same_task) {
        (Ok(Some(summary)), true) => summary.levels(),
        _ => Vec::new(),
    };
    Some(curves(&groups, &levels))
}
