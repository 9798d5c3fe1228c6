//! What a sweep found: one row per run, and a few lines per combination.

use std::path::Path;

use induct::probe::Moments;
use induct::run::{Ended, Summary};
use induct::train::Recipe;
use induct_pictures::groups::by_size;
use induct_store::RunFolder;

use super::plan;
use crate::failure::Failure;
use crate::words::{count, fixed};

/// A run that has ended.
pub struct Row {
    /// Its folder's name.
    pub name: String,
    /// The values of the keys that vary, as TOML.
    pub values: Vec<String>,
    /// Its seed.
    pub seed: u64,
    /// Its summary.
    pub summary: Summary,
}

impl Row {
    /// The first step at which a strategy becomes the nearest.
    pub fn onset(&self, strategy: &str) -> Option<u64> {
        let mut phases = self.summary.phases.iter();
        let first = phases.find(|phase| phase.strategy == strategy);
        first.map(|phase| phase.onset)
    }

    /// A measure at the end.
    pub fn last(&self, column: &str) -> Option<f64> {
        let found = self.summary.last.iter().find(|(name, _)| name == column);
        found.and_then(|(_, value)| *value)
    }

    fn diverged(&self) -> bool {
        self.summary.ended == Ended::Diverged
    }
}

/// The value of a recipe's key, as TOML; empty if it is unset.
fn value_at(recipe: &Recipe, key: &str) -> String {
    let table: toml::Table = recipe.to_toml().parse().unwrap_or_default();
    let mut place = toml::Value::Table(table);
    for part in key.split('.') {
        place = match place.get(part) {
            Some(inner) => inner.clone(),
            None => return String::new(),
        };
    }
    // A table with a kind and nothing else is shown as the kind.
    match &place {
        toml::Value::String(text) => text.clone(),
        toml::Value::Table(inner) if inner.len() == 1 => match inner.get("kind") {
            Some(toml::Value::String(kind)) => kind.clone(),
            _ => place.to_string(),
        },
        _ => place.to_string(),
    }
}

/// All finished runs in a sweep's folder that this program would repeat to the byte, ordered by what varies,
/// then by seed. `leave_out` is told why any other run is not among them.
pub fn rows(runs: &Path, names: &[String], keys: &[String], leave_out: impl Fn(&str)) -> Vec<Row> {
    let row = |name: &String| {
        let path = runs.join(name);
        let read = RunFolder::open(&path).and_then(|folder| Ok((folder.summary()?, folder)));
        let (summary, folder) = match read {
            Ok((Some(summary), folder)) => (summary, folder),
            Ok((None, _)) => {
                leave_out(&format!("{} has not finished", path.display()));
                return None;
            }
            Err(error) => {
                leave_out(&error.to_string());
                return None;
            }
        };
        let recipe = folder.recipe();
        if plan::name(recipe) != *name {
            leave_out(&format!(
                "{} does not hold the run that its name says",
                path.display()
            ));
            return None;
        }
        Some(Row {
            name: name.clone(),
            values: keys.iter().map(|key| value_at(recipe, key)).collect(),
            seed: recipe.seeds.data,
            summary,
        })
    };
    let mut rows: Vec<Row> = names.iter().filter_map(row).collect();
    rows.sort_by(|a, b| {
        let values = a.values.iter().zip(&b.values);
        let by_value = values
            .map(|(a, b)| by_size(a, b))
            .find(|order| order.is_ne());
        by_value
            .unwrap_or(std::cmp::Ordering::Equal)
            .then(a.seed.cmp(&b.seed))
    });
    rows
}

/// The distinct names, in order of first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

fn strategies(rows: &[Row]) -> Vec<&str> {
    let phases = rows.iter().flat_map(|row| &row.summary.phases);
    distinct(phases.map(|phase| phase.strategy.as_str()))
}

/// `sweep.csv`.
pub fn csv(rows: &[Row], keys: &[String]) -> Result<Vec<u8>, Failure> {
    let strategies = strategies(rows);
    let finals = rows.iter().flat_map(|row| &row.summary.last);
    let finals = distinct(finals.map(|(name, _)| name.as_str()));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<String> = vec!["run".into()];
    header.extend(keys.iter().cloned());
    header.extend(["seed", "ended", "steps", "diverged_at", "phases"].map(String::from));
    header.extend(strategies.iter().map(|name| format!("onset.{name}")));
    header.extend(finals.iter().map(|name| format!("final.{name}")));
    let fill = |writer: &mut csv::Writer<Vec<u8>>| -> csv::Result<()> {
        writer.write_record(&header)?;
        for row in rows {
            let summary = &row.summary;
            let text = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
            let step = |value: Option<u64>| value.map_or(String::new(), |v| v.to_string());
            let phases = summary.phases.iter().map(|phase| phase.strategy.as_str());
            let mut cells = vec![row.name.clone()];
            cells.extend(row.values.iter().cloned());
            cells.push(row.seed.to_string());
            let ended = match summary.ended {
                Ended::Complete => "complete",
                Ended::Event => "event",
                Ended::Diverged => "diverged",
            };
            cells.push(ended.to_owned());
            cells.push(summary.steps.to_string());
            cells.push(step(summary.diverged_at));
            cells.push(phases.collect::<Vec<_>>().join(" > "));
            cells.extend(strategies.iter().map(|name| step(row.onset(name))));
            cells.extend(finals.iter().map(|name| text(row.last(name))));
            writer.write_record(&cells)?;
        }
        Ok(())
    };
    fill(&mut writer).expect("writing to memory");
    Ok(writer.into_inner().expect("writing to memory"))
}

/// A few lines per combination: the final divergence and the onsets of phases, averaged over seeds.
pub fn text(rows: &[Row], keys: &[String], out: &Path) -> String {
    let mut text = format!(
        "{} in {}; KL(truth ‖ model) at the last position in nats, onsets in steps, \
         ± one standard error over seeds\n",
        count(rows.len(), "run"),
        out.display()
    );
    for group in rows.chunk_by(|a, b| a.values == b.values) {
        let varied = keys.iter().zip(&group[0].values);
        let title: Vec<String> = varied
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let title = match title.is_empty() {
            true => String::new(),
            false => format!("{}: ", title.join(", ")),
        };
        let sound = || group.iter().filter(|row| !row.diverged());
        text += &format!(
            "\n{title}{}, KL {}",
            count(group.len(), "seed"),
            mean(sound().filter_map(|row| row.last("kl_truth")), 5)
        );
        let diverged = group.iter().filter(|row| row.diverged()).count();
        if diverged > 0 {
            text += &format!(", {diverged} diverged");
        }
        text += "\n";
        for strategy in strategies(group) {
            let onsets: Vec<f64> = sound()
                .filter_map(|row| row.onset(strategy).map(|step| step as f64))
                .collect();
            let reached = onsets.len();
            if reached == 0 {
                continue;
            }
            text += &format!(
                "  {strategy:<10} from step {}, in {reached} of {}\n",
                mean(onsets.into_iter(), 0),
                count(group.len(), "run")
            );
        }
    }
    text
}

/// Mean ± standard error; the mean alone for a single value.
fn mean(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let values: Vec<f64> = values.collect();
    let estimate = values.iter().copied().collect::<Moments>().estimate();
    let (mean, se) = (fixed(estimate.mean, digits), fixed(estimate.se, digits));
    match values.len() {
        0 => "unknown".to_owned(),
        1 => mean,
        _ => format!("{mean} ± {se}"),
    }
}
