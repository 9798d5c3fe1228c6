//! The columns that `--measure` asks for, by the name of a measure or of a column.

use induct::measure::{self, Column, Measure, Scope};

use crate::failure::Failure;
use crate::recorded::Recorded;

/// A measure and those of its columns that were asked for.
pub struct Chosen {
    /// What was asked for.
    pub name: String,
    /// What it is and its unit, for axes.
    pub meaning: String,
    /// What it has one column for.
    pub scope: Scope,
    /// The columns, in the order of records.
    pub columns: Vec<Column>,
}

/// The columns that a name stands for: all columns of a measure, or one.
pub fn chosen(name: &str, runs: &[&Recorded]) -> Result<Chosen, Failure> {
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
    let measures = runs
        .iter()
        .flat_map(|run| run.folder.recipe().record.chosen());
    let measure = { measures }.find(|measure| first.is_of(*measure));
    let meaning = |measure: &dyn Measure| match measure.unit() {
        "" => measure.meaning().to_owned(),
        unit => format!("{}, {unit}", measure.meaning()),
    };
    Ok(Chosen {
        name: name.to_owned(),
        meaning: measure.map_or(String::new(), meaning),
        scope: measure.map_or(Scope::Run, |measure| measure.scope()),
        columns: found,
    })
}

/// The columns that any of the runs has recorded, each once.
fn columns(runs: &[&Recorded]) -> Vec<Column> {
    let mut all: Vec<Column> = Vec::new();
    for column in runs.iter().flat_map(|run| run.history.columns()) {
        if !all.contains(column) {
            all.push(column.clone());
        }
    }
    all
}

fn unknown(name: &str, columns: &[Column]) -> Failure {
    let mut measures: Vec<&str> = columns
        .iter()
        .map(|column| column.measure.as_str())
        .collect();
    measures.dedup();
    let example = columns
        .iter()
        .find(|column| column.to_string() != column.measure);
    let example = example.map_or(String::new(), |column| {
        format!(" (or one column, such as {column})")
    });
    let why = match measure::named(name) {
        Some(_) => "not recorded (record.measures)",
        None => "no such measure or column",
    };
    Failure::mistake(format!(
        "--measure {name}: {why}; there are {}{example}",
        measures.join(", ")
    ))
}
