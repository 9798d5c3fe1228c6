//! Where two runs differ: recipes, phases, drops, last records, and when their records part.

use serde::Serialize;

use super::summary::Summary;
use crate::probe::{History, LossDrop, Phase};
use crate::recipe::{Difference, Recipe};

/// A run to compare: its recipe, its records, and what they amount to.
#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    /// What was trained.
    pub recipe: &'a Recipe,
    /// What was recorded.
    pub history: &'a History,
    /// The outcome.
    pub summary: &'a Summary,
}

/// A quantity of both runs.
#[derive(Debug, PartialEq, Serialize)]
pub struct Pair {
    /// What it is called.
    pub name: String,
    /// Its value in the first run.
    pub a: Option<f64>,
    /// Its value in the second run.
    pub b: Option<f64>,
    /// The second value minus the first.
    pub difference: Option<f64>,
}

/// A column and the first record at which it differs.
#[derive(Debug, PartialEq, Serialize)]
pub struct Parting {
    /// The column.
    pub column: String,
    /// The step of the record.
    pub step: u64,
}

/// Everything in which two runs may differ, as `induct compare --json` prints it.
#[derive(Debug, Serialize)]
pub struct Differences {
    /// Whether the runs are the same: recipe and records.
    pub identical: bool,
    /// Keys of their recipes.
    pub keys: Vec<Difference>,
    /// The first step of every phase, by strategy.
    #[serde(rename = "phases")]
    pub onsets: Vec<Pair>,
    /// The drops.
    pub drops: DropDifferences,
    /// KL(truth ‖ strategy), by strategy.
    #[serde(rename = "strategies")]
    pub levels: Vec<Pair>,
    /// The last record, by column.
    #[serde(rename = "final")]
    pub last: Vec<Pair>,
    /// The columns whose records differ, in the order in which they part.
    pub parting: Vec<Parting>,
    /// Whether both recorded the same columns at the same steps.
    #[serde(rename = "same_columns_and_steps")]
    pub same_records: bool,
}

/// Where the drops of two runs are, and how wide.
#[derive(Debug, Serialize)]
pub struct DropDifferences {
    /// The midpoint of every drop.
    pub midpoint: Vec<Pair>,
    /// The width of every drop.
    pub width: Vec<Pair>,
}

impl Pair {
    fn new(name: &str, a: Option<f64>, b: Option<f64>) -> Self {
        let [a, b] = [a, b].map(|value| value.filter(|value| value.is_finite()));
        Self {
            name: name.to_owned(),
            a,
            b,
            difference: a.zip(b).map(|(a, b)| b - a),
        }
    }

    /// Whether both runs have the same value, or neither has one.
    pub fn is_equal(&self) -> bool {
        self.a == self.b
    }
}

impl Differences {
    /// Compares two runs.
    pub fn of(a: RunView, b: RunView) -> Self {
        let (parting, same_records) = parting(a.history, b.history);
        let (ended_a, ended_b) = (a.summary, b.summary);
        let phases = [ended_a, ended_b].map(|summary| onsets(&summary.phases));
        let drops = |of: fn(&LossDrop) -> f64| {
            let [a, b] = [ended_a, ended_b].map(|summary| named_drops(&summary.drops, of));
            paired(&a, &b)
        };
        let [level_a, level_b] = [ended_a, ended_b].map(|summary| {
            let levels = summary.strategies.iter();
            let level = levels.map(|(name, level)| (name.clone(), level.kl_truth));
            level.collect::<Vec<_>>()
        });
        let keys = a.recipe.differences(b.recipe);
        Self {
            identical: keys.is_empty() && parting.is_empty() && same_records,
            keys,
            onsets: paired(&phases[0], &phases[1]),
            drops: DropDifferences {
                midpoint: drops(|drop| drop.midpoint),
                width: drops(|drop| drop.width),
            },
            levels: paired(&level_a, &level_b),
            last: paired(&ended_a.last, &ended_b.last),
            parting,
            same_records,
        }
    }
}

type Named = Vec<(String, Option<f64>)>;

/// Values of two runs by name, in the order of the first run, then of the second.
fn paired(a: &Named, b: &Named) -> Vec<Pair> {
    let value = |of: &Named, name: &str| {
        let found = of.iter().find(|(other, _)| other == name);
        found.and_then(|(_, value)| *value)
    };
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in a.iter().chain(b) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let pair = |name| Pair::new(name, value(a, name), value(b, name));
    names.into_iter().map(pair).collect()
}

/// The first step of every strategy's first phase.
fn onsets(phases: &[Phase]) -> Named {
    let onset = |phase: &Phase| (phase.strategy.clone(), Some(phase.onset as f64));
    phases.iter().map(onset).collect()
}

fn named_drops(drops: &[LossDrop], of: fn(&LossDrop) -> f64) -> Named {
    let named = |drop: &LossDrop| (format!("{} -> {}", drop.from, drop.to), Some(of(drop)));
    drops.iter().map(named).collect()
}

/// The columns of both runs that differ at some step that both have recorded, and whether there are no other
/// columns and steps.
fn parting(a: &History, b: &History) -> (Vec<Parting>, bool) {
    let (steps_a, steps_b) = (a.steps(), b.steps());
    let mut found = Vec::new();
    for column in a.columns() {
        let (Some(here), Some(there)) = (a.column(column.clone()), b.column(column.clone())) else {
            continue;
        };
        let rows = steps_a.iter().zip(&here);
        let first = rows.filter_map(|(step, x)| {
            let y = there[steps_b.binary_search(step).ok()?];
            let equal = *x == y || (x.is_nan() && y.is_nan());
            (!equal).then_some(*step)
        });
        if let Some(step) = { first }.next() {
            let column = column.to_string();
            found.push(Parting { column, step });
        }
    }
    found.sort_by_key(|parting| parting.step);
    (found, a.columns() == b.columns() && steps_a == steps_b)
}

#[cfg(test)]
mod tests {
    use crate::measure::{KL_TRUTH, ODD_EVEN, STEP};

    use super::*;

    #[test]
    fn records_part_at_the_first_step_that_differs() {
        let history = |rows: &[[f64; 3]]| {
            let columns = vec![(&STEP).into(), (&KL_TRUTH).into(), (&ODD_EVEN).into()];
            let mut history = History::new(columns);
            rows.iter().for_each(|row| history.push(row).unwrap());
            history
        };
        let nan = f64::NAN;
        let a = history(&[[0.0, 0.3, nan], [10.0, 0.2, nan], [20.0, 0.1, 1.0]]);
        assert_eq!(parting(&a, &a), (Vec::new(), true));
        let b = history(&[[0.0, 0.3, nan], [10.0, 0.1, nan], [20.0, 0.1, nan]]);
        let (found, same) = parting(&a, &b);
        assert!(same);
        let found: Vec<(&str, u64)> = found.iter().map(|p| (p.column.as_str(), p.step)).collect();
        assert_eq!(found, [("kl_truth", 10), ("odd_even", 20)]);
        let shorter = history(&[[0.0, 0.3, nan], [20.0, 0.1, 1.0]]);
        assert_eq!(parting(&a, &shorter), (Vec::new(), false));
    }

    #[test]
    fn values_are_paired_by_name() {
        let named = |values: &[(&str, f64)]| -> Named {
            values
                .iter()
                .map(|&(name, x)| (name.into(), Some(x)))
                .collect()
        };
        let pairs = paired(
            &named(&[("x", 1.0), ("y", 2.0)]),
            &named(&[("z", 0.0), ("x", 1.5)]),
        );
        assert_eq!(pairs[0], Pair::new("x", Some(1.0), Some(1.5)));
        assert_eq!(pairs[0].difference, Some(0.5));
        assert_eq!((pairs[1].b, pairs[2].a), (None, None));
        assert_eq!(pairs[2].name, "z");
    }
}
