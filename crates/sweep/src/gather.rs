//! One table of all results.

use std::collections::BTreeMap;

use crate::error::SweepError;
use crate::folder::Sweep;
use crate::row::{Row, RunStatus};
use crate::table::{Column, Table};

/// The results of a sweep.
#[derive(Clone, Debug, Default)]
pub struct SweepResults {
    /// One row per run that has a result, in the order of the plan.
    pub table: Table,
    /// The indices of these runs in the plan.
    pub runs: Vec<usize>,
    /// Runs without a result.
    pub missing: usize,
    /// Results by the instructions they were computed with.
    pub levels: BTreeMap<String, u64>,
    /// What is wrong with files, in words.
    pub remarks: Vec<String>,
}

/// The name of the gathered table.
pub const RESULTS: &str = "results.parquet";

/// The values of a run in the columns that are kept, without the names that each row repeats.
fn aligned<T>(names: &[String], mut values: Vec<(String, T)>) -> Vec<Option<T>> {
    let take = |name: &String| {
        let found = values.iter().position(|(own, _)| own == name)?;
        Some(values.swap_remove(found).1)
    };
    names.iter().map(take).collect()
}

impl Sweep {
    /// The results so far. Without `timings`, they are the same bytes wherever they were computed at the same level.
    pub fn gather(&self, timings: bool) -> Result<SweepResults, SweepError> {
        let plan = &self.plan;
        let count = plan.runs().len();
        let mut rows: Vec<Option<Row>> = vec![None; count];
        let mut last = vec![Vec::new(); count];
        let mut curves = vec![Vec::new(); count];
        let remarks = self.read_journals(|journaled| {
            for mut row in journaled.rows {
                let index = plan
                    .index(row.key)
                    .filter(|_| row.ended != RunStatus::Failed);
                let Some(index) = index else { continue };
                // Of several results of a run, from different machines, the same one is always taken.
                let there = rows[index].as_ref();
                if there.is_some_and(|there| (&there.level, &there.run) <= (&row.level, &row.run)) {
                    continue;
                }
                last[index] = aligned(&plan.kept.last, std::mem::take(&mut row.last));
                curves[index] = aligned(&plan.kept.curves, std::mem::take(&mut row.curves));
                rows[index] = Some(row);
            }
        })?;
        let runs: Vec<usize> = (0..count).filter(|&index| rows[index].is_some()).collect();
        let rows: Vec<Row> = rows.into_iter().flatten().collect();
        let mut levels = BTreeMap::new();
        for row in &rows {
            *levels.entry(row.level.clone()).or_insert(0) += 1;
        }
        let text = |of: &dyn Fn(&Row) -> String| {
            Column::Text(rows.iter().map(|row| Some(of(row))).collect())
        };
        let whole = |of: &dyn Fn(&Row) -> Option<u64>| {
            let value = |row| of(row).and_then(|value| i64::try_from(value).ok());
            Column::Whole(rows.iter().map(value).collect())
        };
        let mut table = Table::default();
        table.push("run", text(&|row| row.run.clone()));
        self.push_keys(&runs, &mut table);
        table.push("seed", whole(&|row| Some(row.key.seed)));
        table.push("ended", text(&|row| row.ended.name().to_owned()));
        table.push("steps", whole(&|row| Some(row.steps)));
        table.push("diverged_at", whole(&|row| row.diverged_at));
        let phases = |row: &Row| {
            let names = row.phases.iter().map(|(strategy, _)| strategy.as_str());
            names.collect::<Vec<_>>().join(" > ")
        };
        table.push("phases", text(&phases));
        for strategy in &plan.kept.strategies {
            let onset = |row: &Row| {
                let found = row.phases.iter().find(|(name, _)| name == strategy);
                found.map(|(_, onset)| *onset)
            };
            table.push(format!("onset.{strategy}"), whole(&onset));
        }
        for (place, name) in plan.kept.last.iter().enumerate() {
            let column = runs.iter().map(|&run| last[run][place].flatten());
            table.push(format!("final.{name}"), Column::Real(column.collect()));
        }
        if !plan.kept.curves.is_empty() {
            let steps = |row: &Row| Some(row.recorded.iter().map(|&s| Some(s as f64)).collect());
            table.push(
                "curve.step",
                Column::Curve(rows.iter().map(steps).collect()),
            );
        }
        for (place, name) in plan.kept.curves.iter().enumerate() {
            let column = runs.iter().map(|&run| curves[run][place].take());
            table.push(format!("curve.{name}"), Column::Curve(column.collect()));
        }
        table.push("numerics", whole(&|_| Some(plan.numerics.into())));
        table.push("level", text(&|row| row.level.clone()));
        if timings {
            let seconds = rows.iter().map(|row| Some(row.seconds));
            table.push("seconds", Column::Real(seconds.collect()));
        }
        Ok(SweepResults {
            missing: count - runs.len(),
            table,
            runs,
            levels,
            remarks,
        })
    }

    /// Appends a column for each key that varies.
    fn push_keys(&self, runs: &[usize], table: &mut Table) {
        let plan = &self.plan;
        // Seeds of a point follow one another, and share their values.
        let mut values: Vec<Vec<String>> = Vec::with_capacity(runs.len());
        let mut before = None;
        for &index in runs {
            let run = &plan.runs()[index];
            let point = Some((run.grid, run.point));
            values.push(match values.last() {
                Some(same) if before == point => same.clone(),
                _ => plan.values(run),
            });
            before = point;
        }
        for (index, key) in plan.keys().iter().enumerate() {
            // Types follow from the plan, whichever runs are there.
            let axes = plan.grids.iter().flat_map(|grid| &grid.vary);
            let axes = axes.filter(|axis| axis.key == *key);
            let planned = axes.flat_map(|axis| axis.values.iter().map(String::as_str));
            let there = values.iter().map(|values| values[index].as_str());
            table.push(key.clone(), typed(planned, there));
        }
    }
}

/// Values as numbers, if all of them are, and all that were planned.
fn typed<'a>(
    planned: impl Iterator<Item = &'a str> + Clone,
    values: impl Iterator<Item = &'a str> + Clone,
) -> Column {
    let all = planned.chain(values.clone());
    let there = || all.clone().filter(|value| !value.is_empty());
    if there().all(|value| value.parse::<i64>().is_ok()) {
        return Column::Whole(values.map(|value| value.parse().ok()).collect());
    }
    if there().all(|value| value.parse::<f64>().is_ok_and(f64::is_finite)) {
        return Column::Real(values.map(|value| value.parse().ok()).collect());
    }
    let text = |value: &str| (!value.is_empty()).then(|| value.trim_matches('"').to_owned());
    Column::Text(values.map(text).collect())
}
