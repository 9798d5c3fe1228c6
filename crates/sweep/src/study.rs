//! What a sweep is to do, as its user writes it.
//!
//! ```toml
//! base = "main"                  # a preset, or the file of a recipe
//! set = ["train.steps=4000"]     # overrides in every run
//! seeds = 20                     # 0 … 19; or { first = 100, count = 20, own_tests = true }
//! level = "avx2+fma"             # the instructions to compute with, on every machine
//!
//! [vary]
//! "train.batch" = [16, 64, 256]
//! "train.optimizer.lr" = { from = 1e-4, to = 1e-1, count = 20, spacing = "logarithmic" }
//!
//! [results]
//! final = ["kl_truth"]           # columns of metrics.csv to keep at the end; all if not given
//! curves = ["kl_truth"]          # … and at every record; if not given, the loss, up to 1,000 runs
//! runs = "first"                 # runs to keep whole: all, none, or the first seed of each point; if not given, all, up to 1,000 runs
//! ```

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use crate::error::SweepError;
use crate::plan::MAX_RUNS;

/// What a sweep is to do.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// A preset, or the file of a recipe.
    pub base: String,
    /// Overrides in every run, as `key.path=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// What varies, in all combinations.
    #[serde(default, deserialize_with = "read_axes")]
    pub vary: Vec<Axis>,
    /// The seeds at every point.
    #[serde(default, deserialize_with = "read_seeds")]
    pub seeds: Seeds,
    /// What is kept of the runs.
    #[serde(default)]
    pub results: Results,
    /// The instructions to compute with; the best of each machine if unset.
    pub level: Option<String>,
}

/// A key and the values it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The key's path.
    pub key: String,
    /// The values, in TOML.
    pub values: Vec<String>,
}

/// Seeds in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// The first.
    #[serde(default)]
    pub first: u64,
    /// How many.
    pub count: u64,
    /// Whether a run's seed is also that of its test sets; else all runs have the same ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_tests: bool,
}

impl Default for Seeds {
    fn default() -> Self {
        Self::first(5)
    }
}

impl Seeds {
    /// The first few, from 0 on.
    pub fn first(count: u64) -> Self {
        Self {
            first: 0,
            count,
            own_tests: false,
        }
    }

    /// The one after the last, if recipes can have it: they have whole numbers of 63 bits.
    pub(crate) fn end(self) -> Option<u64> {
        let end = self.first.checked_add(self.count);
        end.filter(|&end| i64::try_from(end).is_ok())
    }
}

/// What is kept of a sweep's runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Results {
    /// Columns kept at the end; all if unset.
    #[serde(rename = "final", skip_serializing_if = "Option::is_none")]
    pub last: Option<Vec<String>>,
    /// Columns kept at every record; the loss of a small sweep if unset, else none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<Vec<String>>,
    /// Which runs are kept whole; all of a small sweep if unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<Keep>,
}

/// Which runs are kept whole, as run folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Every run.
    All,
    /// The first seed at each point.
    First,
    /// No run.
    None,
}

impl Keep {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Keep::All => "all",
            Keep::First => "first",
            Keep::None => "none",
        }
    }
}

/// The most keys that can vary: more than a recipe has.
pub const MAX_AXES: usize = 1_000;

impl Study {
    /// A sweep of `base` with nothing varied.
    pub fn new(base: impl Into<String>, seeds: Seeds) -> Self {
        Self {
            base: base.into(),
            set: Vec::new(),
            vary: Vec::new(),
            seeds,
            results: Results::default(),
            level: None,
        }
    }

    /// Whether a text is that of a study and not of a recipe.
    pub fn is_study(text: &str) -> bool {
        let of_study = ["base", "vary", "results"];
        text.parse::<Table>()
            .is_ok_and(|table| of_study.iter().any(|key| table.contains_key(*key)))
    }

    /// Reads a study.
    pub fn from_toml(text: &str) -> Result<Self, SweepError> {
        let read = toml::from_str(text).map_err(|error| error.to_string());
        read.map_err(|error| SweepError::usage(error.trim_end()))
    }
}

fn read_seeds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Seeds, D::Error> {
    seeds(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn read_axes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Axis>, D::Error> {
    let mut all = Vec::new();
    axes(&Table::deserialize(deserializer)?, "", &mut all).map_err(D::Error::custom)?;
    Ok(all)
}

fn seeds(value: &Value) -> Result<Seeds, SweepError> {
    let refuse = || {
        SweepError::usage(format!(
            "seeds = {value}: a number of seeds from 1 on is allowed, or {{ first = 100, count = 20 }}"
        ))
    };
    let seeds = match value {
        Value::Integer(count) => Seeds {
            first: 0,
            count: u64::try_from(*count).map_err(|_| refuse())?,
            own_tests: false,
        },
        table @ Value::Table(_) => table.clone().try_into().map_err(|_| refuse())?,
        _ => return Err(refuse()),
    };
    match seeds.count >= 1 {
        true => Ok(seeds),
        false => Err(refuse()),
    }
}

/// The axes in a table, whose keys may be dotted or nested.
fn axes(table: &Table, prefix: &str, all: &mut Vec<Axis>) -> Result<(), SweepError> {
    for (key, value) in table {
        if all.len() == MAX_AXES {
            return Err(SweepError::usage(format!(
                "at most {MAX_AXES} keys can vary"
            )));
        }
        let key = match prefix {
            "" => key.clone(),
            prefix => format!("{prefix}.{key}"),
        };
        match value {
            Value::Array(values) => all.push(Axis {
                key,
                values: values.iter().map(written).collect(),
            }),
            Value::Table(inner) if inner.contains_key("to") || inner.contains_key("count") => {
                let points = all.iter().fold(1, |points: u64, axis: &Axis| {
                    points.saturating_mul(axis.values.len().max(1) as u64)
                });
                let values = range(&key, inner, MAX_RUNS / points)?;
                all.push(Axis { key, values });
            }
            Value::Table(inner) => axes(inner, &key, all)?,
            other => {
                return Err(SweepError::usage(format!(
                    "vary.{key} = {other}: give a list of values, or a range such as \
                     {{ from = 1e-4, to = 1e-1, count = 20, spacing = \"logarithmic\" }}"
                )));
            }
        }
    }
    Ok(())
}

fn written(value: &Value) -> String {
    match value {
        // A recipe takes words without quotes, and so they name values better.
        Value::String(text) if !text.is_empty() && text.chars().all(is_word) => text.clone(),
        other => other.to_string(),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// The values of a range: `count` of them from `from` to `to`, both included. If both ends are whole, so are all. The
/// other keys leave room for `most`.
fn range(key: &str, table: &Table, most: u64) -> Result<Vec<String>, SweepError> {
    let refuse = |why: String| SweepError::usage(format!("vary.{key}: {why}"));
    for name in table.keys() {
        if !["from", "to", "count", "spacing"].contains(&name.as_str()) {
            return Err(refuse(format!(
                "a range has no {name}; it has from, to, count, and spacing"
            )));
        }
    }
    let number = |name: &str| -> Result<f64, SweepError> {
        let value = table.get(name);
        let number = match value {
            Some(Value::Integer(whole)) => *whole as f64,
            Some(Value::Float(number)) => *number,
            _ => f64::NAN,
        };
        match number.is_finite() {
            true => Ok(number),
            false => Err(refuse(match value {
                Some(value) => format!("{name} = {value}: a number is allowed"),
                None => format!("a range needs {name}"),
            })),
        }
    };
    let (from, to) = (number("from")?, number("to")?);
    let count = match table.get("count") {
        Some(Value::Integer(count)) => u64::try_from(*count).unwrap_or(0),
        _ => 0,
    };
    if count < 2 {
        return Err(refuse("count: a whole number from 2 on is allowed".into()));
    }
    if count > most {
        return Err(refuse(format!(
            "count = {count}: with the other keys that would be more than the {MAX_RUNS} runs that a sweep may have"
        )));
    }
    let logarithmic = match table.get("spacing").map(|value| value.as_str()) {
        None | Some(Some("linear")) => false,
        Some(Some("logarithmic")) => true,
        Some(_) => return Err(refuse("spacing: linear or logarithmic is allowed".into())),
    };
    if logarithmic && !(from > 0.0 && to > 0.0) {
        return Err(refuse(
            "a logarithmic range begins and ends above 0; use spacing = \"linear\"".into(),
        ));
    }
    let is_whole = |name: &str| matches!(table.get(name), Some(Value::Integer(_)));
    let whole = is_whole("from") && is_whole("to");
    let value = |index: u64, digits: usize| -> String {
        let share = index as f64 / (count - 1) as f64;
        let value = match (index, logarithmic) {
            (0, _) => from,
            (index, _) if index == count - 1 => to,
            (_, true) => from * (to / from).powf(share),
            (_, false) => from + (to - from) * share,
        };
        match whole {
            true => format!("{}", value.round() as i64),
            false if index == 0 || index == count - 1 => format!("{value:?}"),
            false => format!("{:?}", rounded(value, digits)),
        }
    };
    // Four digits name a value, unless values are closer together; nobody needs the seventeen of a logarithm.
    for digits in [4, 6, 9, 17] {
        let mut values: Vec<String> = (0..count).map(|index| value(index, digits)).collect();
        values.dedup();
        // Whole numbers may be fewer than asked for.
        if values.len() as u64 == count || whole {
            return Ok(values);
        }
    }
    Err(refuse(
        "there are not so many numbers between from and to".into(),
    ))
}

/// A number with so many significant digits.
fn rounded(value: f64, digits: usize) -> f64 {
    let digits = digits - 1;
    format!("{value:.digits$e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_in_any_spelling() {
        let study = Study::from_toml(
            "base = \"main\"\nseeds = { first = 100, count = 3 }\n[vary]\ntrain.batch = [8, 16]\n\
             \"train.optimizer.lr\" = { from = 1e-4, to = 1e-1, count = 4, spacing = \"logarithmic\" }\n\
             \"task.prior\" = [\"dirichlet\", { kind = \"pool\", size = 4 }]\n\
             [vary.train.steps]\nfrom = 10\nto = 40\ncount = 4\n",
        )
        .unwrap();
        let axis = |key: &str| {
            let found = study.vary.iter().find(|axis| axis.key == key);
            found.unwrap().values.join(" ")
        };
        assert_eq!(axis("train.batch"), "8 16");
        assert_eq!(axis("train.optimizer.lr"), "0.0001 0.001 0.01 0.1");
        assert_eq!(axis("train.steps"), "10 20 30 40");
        assert!(axis("task.prior").starts_with("dirichlet { kind = \"pool\""));
        assert_eq!((study.seeds.first, study.seeds.count), (100, 3));
    }

    #[test]
    fn usage_errors_name_the_key_and_what_is_allowed() {
        for (text, word) in [
            ("seeds = 3", "base"),
            ("base = \"main\"\nseeds = 0", "seeds = 0"),
            ("base = \"main\"\nsedes = 3", "sedes"),
            (
                "base = \"main\"\n[vary]\ntrain.batch = 3",
                "vary.train.batch = 3",
            ),
            (
                "base = \"main\"\n[vary]\nx = { from = 0, to = 1, count = 3, spacing = \"logarithmic\" }",
                "above 0",
            ),
            (
                "base = \"main\"\n[vary]\nx = { from = 0, to = 1, count = 1 }",
                "from 2",
            ),
            (
                "base = \"main\"\n[vary]\nx = { from = 0, to = 1, count = 2_000_000 }",
                "1000000 runs",
            ),
            // Nothing is expanded that could not be planned.
            (
                "base = \"main\"\n[vary]\nx = { from = 0, to = 1, count = 1000000 }\n\
                 y = { from = 0, to = 1, count = 1000000 }",
                "vary.y",
            ),
            (
                "base = \"main\"\n[vary]\nx = { from = 0, to = 1, count = 3, by = 2 }",
                "no by",
            ),
            (
                "base = \"main\"\n[vary]\nx = { from = 0, count = 3 }",
                "needs to",
            ),
            ("base = \"main\"\n[results]\nruns = \"some\"", "some"),
        ] {
            let refused = Study::from_toml(text).unwrap_err().to_string();
            assert!(refused.contains(word), "{text}: {refused}");
        }
    }
}
