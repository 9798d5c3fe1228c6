//! One table of all results.

use std::collections::BTreeMap;

use crate::error::SweepError;
use crate::folder::{Sweep, remarks};
use crate::row::{Became, ENDED, ERROR, LEVEL, NUMBER, RUN, SECONDS};
use crate::table::{Column, Table};

/// The results of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// One row per run that has a result, in the order of the plan.
    pub table: Table,
    /// The runs' numbers in the plan.
    pub numbers: Vec<u64>,
    /// Runs without a result.
    pub missing: u64,
    /// Results by the instructions they were computed with.
    pub levels: BTreeMap<String, u64>,
    /// What is wrong with files, in words.
    pub remarks: Vec<String>,
}

/// The name of the gathered table.
pub const RESULTS: &str = "results.parquet";

/// Columns that depend on machines and not on runs alone.
const OF_MACHINES: [&str; 2] = [SECONDS, ERROR];

impl Sweep {
    /// The results so far, in those columns that `wants` names. Without `timings`, they are the same bytes wherever they
    /// were computed at the same level.
    pub fn gather(
        &self,
        timings: bool,
        wants: impl Fn(&str) -> bool,
    ) -> Result<Gathered, SweepError> {
        let basic = [NUMBER, RUN, ENDED, LEVEL];
        let contents = self.contents(|name| basic.contains(&name) || wants(name))?;
        let (tables, runs) = (&contents.tables, self.plan.runs());
        // Of several results of a run, from different machines, the same one is always taken.
        let mut best: Vec<Option<(usize, usize)>> = vec![None; runs as usize];
        let text = |(table, row): (usize, usize), name: &str| {
            tables[table].column(name).map(|c| c.shown(row))
        };
        for (index, table) in tables.iter().enumerate() {
            for row in 0..table.len() {
                let number = table.column(NUMBER).and_then(|column| column.number(row));
                let number = number
                    .map(|number| number as u64)
                    .filter(|&number| number < runs);
                let is_result =
                    text((index, row), ENDED).is_some_and(|ended| Became::is_result(&ended));
                let (Some(number), true) = (number, is_result) else {
                    continue;
                };
                let rank = |pick| (text(pick, LEVEL), text(pick, RUN));
                let place = &mut best[number as usize];
                if place.is_none_or(|other| rank((index, row)) < rank(other)) {
                    *place = Some((index, row));
                }
            }
        }
        let found = best
            .iter()
            .enumerate()
            .filter_map(|(number, pick)| Some((number as u64, (*pick)?)));
        let (numbers, picks): (Vec<u64>, Vec<(usize, usize)>) = found.unzip();
        let mut levels = BTreeMap::new();
        for &pick in &picks {
            *levels
                .entry(text(pick, LEVEL).unwrap_or_default())
                .or_insert(0) += 1;
        }
        let mut table = Table::default();
        let pick = |name: &str| Table::picked(tables, &picks, name);
        table.push(RUN, pick(RUN).unwrap_or(Column::Text(Vec::new())));
        let plan = &self.plan;
        let planned: Vec<_> = numbers.iter().map(|&number| plan.run(number)).collect();
        // Seeds of a point follow one another, and share their values.
        let mut values: Vec<Vec<String>> = Vec::with_capacity(planned.len());
        for (index, run) in planned.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &planned[before]);
            let same = before.is_some_and(|other| (other.grid, &other.at) == (run.grid, &run.at));
            values.push(match same {
                true => values[index - 1].clone(),
                false => plan.values(run),
            });
        }
        for (index, key) in plan.keys().iter().enumerate() {
            // Types follow from the plan, whichever runs are there.
            let axes = plan.grids.iter().flat_map(|grid| &grid.vary);
            let axes = axes.filter(|axis| axis.key == *key);
            let planned = axes.flat_map(|axis| axis.values.iter().map(String::as_str));
            let there = values.iter().map(|values| values[index].as_str());
            table.push(key.clone(), typed(planned, there));
        }
        let seeds = planned.iter().map(|run| i64::try_from(run.seed).ok());
        table.push("seed", Column::Whole(seeds.collect()));
        let mut names: Vec<&String> = Vec::new();
        // The plan's order, whichever part came first.
        let whole = crate::row::table(&[], &plan.kept);
        for (name, _) in whole
            .columns
            .iter()
            .chain(tables.iter().flat_map(|table| &table.columns))
        {
            let dropped = [NUMBER, RUN, LEVEL].contains(&name.as_str())
                || OF_MACHINES.contains(&name.as_str())
                || !(wants(name) || name == ENDED);
            if !dropped && !names.contains(&name) {
                names.push(name);
            }
        }
        for name in names {
            let empty = || whole.column(name).filter(|_| picks.is_empty()).cloned();
            if let Some(column) = pick(name).or_else(empty) {
                table.push(name.clone(), column);
            }
        }
        table.push(
            "numerics",
            Column::Whole(vec![Some(plan.numerics.into()); picks.len()]),
        );
        table.push(LEVEL, pick(LEVEL).unwrap_or(Column::Text(Vec::new())));
        if timings && let Some(seconds) = pick(SECONDS) {
            table.push(SECONDS, seconds);
        }
        Ok(Gathered {
            missing: runs - numbers.len() as u64,
            table,
            numbers,
            levels,
            remarks: remarks(&contents.damaged, &contents.foreign),
        })
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
