//! The columns to draw, by the name of a measure or of a column.

use induct::measure::{self, Column, KL_STRATEGY, KL_TRUTH, Measure, Scope};

use super::{PlotError, RunCurves, Runs};

/// A measure and those of its columns that were asked for.
#[derive(Clone, Debug)]
pub struct Selection {
    /// What was asked for.
    pub name: String,
    /// What it is and its unit, for axes.
    pub meaning: String,
    /// What it has one column for.
    pub scope: Scope,
    /// The columns, in the order of records; at least one.
    pub columns: Vec<Column>,
}

/// The columns to draw of runs; the loss and the distance to strategies if no measure is named.
///
/// # Errors
///
/// [`PlotError::Unknown`] if no run has recorded a measure or column of that name.
pub fn chosen(groups: &[Runs], names: &[String]) -> Result<Vec<Selection>, PlotError> {
    let runs: Vec<&RunCurves> = groups.iter().flat_map(|group| &group.runs).collect();
    let default = [&KL_TRUTH, &KL_STRATEGY].map(|measure| measure.name);
    match names.is_empty() {
        // A run that is not compared with strategies still has a loss.
        true => {
            let [loss, distances] = default.map(|name| named(name, &runs));
            Ok(std::iter::once(loss?).chain(distances.ok()).collect())
        }
        false => names.iter().map(|name| named(name, &runs)).collect(),
    }
}

/// The columns that a name stands for: all columns of a measure, or one.
fn named(name: &str, runs: &[&RunCurves]) -> Result<Selection, PlotError> {
    let columns = columns(runs);
    let of_measure = |column: &&Column| column.measure == name;
    let mut found: Vec<Column> = columns.iter().filter(of_measure).cloned().collect();
    if found.is_empty() {
        let named = |column: &&Column| column.to_string() == name;
        found = columns.iter().filter(named).cloned().collect();
    }
    let Some(first) = found.first() else {
        return Err(unknown(name, &columns));
    };
    let measures = runs.iter().flat_map(|run| run.recipe.record.chosen());
    let measure = { measures }.find(|measure| first.is_of(*measure));
    let meaning = |measure: &dyn Measure| match measure.unit() {
        "" => measure.meaning().to_owned(),
        unit => format!("{}, {unit}", measure.meaning()),
    };
    Ok(Selection {
        name: name.to_owned(),
        meaning: measure.map_or(String::new(), meaning),
        scope: measure.map_or(Scope::Run, |measure| measure.scope()),
        columns: found,
    })
}

/// The columns that any of the runs has recorded, each once.
fn columns(runs: &[&RunCurves]) -> Vec<Column> {
    let mut all: Vec<Column> = Vec::new();
    for column in runs.iter().flat_map(|run| run.history.columns()) {
        if !all.contains(column) {
            all.push(column.clone());
        }
    }
    all
}

fn unknown(name: &str, columns: &[Column]) -> PlotError {
    let mut measures: Vec<&str> = columns.iter().map(|c| c.measure.as_str()).collect();
    measures.dedup();
    let mut there = measures.join(", ");
    if let Some(column) = columns.iter().find(|c| c.to_string() != c.measure) {
        there += &format!(" (or one column, such as {column})");
    }
    PlotError::Unknown {
        name: name.to_owned(),
        why: match measure::named(name) {
            Some(_) => "not recorded (record.measures)",
            None => "no such measure or column",
        },
        there,
    }
}
