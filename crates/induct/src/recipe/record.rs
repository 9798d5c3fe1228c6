//! What a run records and keeps: which measures, on which test sets, and the weights at which steps.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TaskSpec;

use crate::chain::PriorSpec;
use crate::chain::prior::{DoublyStochastic, Iid};
use crate::measure::{self, CustomMeasure, Measure};
use crate::strategy::{self, Strategy, TRUTH};
use crate::task::Task;
use crate::{Custom, is_name};
use crate::{Invalid, Within, require};

/// What a run records and keeps, as a recipe writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordSpec {
    /// Steps between two rows of metrics; step 0 and the last are always recorded.
    pub every: u64,
    /// Number of snapshots, from step 0 to the end; a single one is taken at the end. Each falls on a
    /// recorded step.
    pub snapshots: u64,
    /// How snapshots are spread over the steps.
    pub spacing: Spacing,
    /// Sequences per test set.
    pub test_sequences: usize,
    /// Measures by name, in addition to those that every run records; see [`measure::all`].
    pub measures: Vec<String>,
    /// Strategies that the model is compared with beside the ladder, by name; see [`strategy::named`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strategies: Vec<String>,
    /// The same of other crates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub custom_strategies: Vec<Custom<dyn Strategy>>,
    /// Test sets beside the task's own.
    pub tests: Vec<TestSpec>,
    /// Measures that another program brings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub custom_measures: Vec<CustomMeasure>,
}

impl Default for RecordSpec {
    fn default() -> Self {
        let test = |name: &str, prior| TestSpec {
            name: name.into(),
            prior,
            length: None,
        };
        Self {
            every: 20,
            snapshots: 200,
            spacing: Spacing::Linear,
            test_sequences: 1024,
            measures: measure::DEFAULT.map(String::from).into(),
            strategies: Vec::new(),
            custom_strategies: Vec::new(),
            tests: vec![
                test("iid", Iid::default().into()),
                test("doubly_stochastic", DoublyStochastic {}.into()),
            ],
            custom_measures: Vec::new(),
        }
    }
}

/// A test set in addition to the task's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestSpec {
    /// Its name, which prefixes its columns.
    pub name: String,
    /// Length of its contexts; the task's if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// The prior that its chains are drawn from.
    pub prior: PriorSpec,
}

/// How snapshots are spread over the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Evenly in the step.
    Linear,
    /// Evenly in the logarithm of the step: dense at the start.
    Logarithmic,
}

/// The largest number of snapshots.
const MAX_SNAPSHOTS: u64 = 100_000;

/// The largest test set.
const MAX_TEST_SEQUENCES: usize = 1 << 20;

/// The most test sets in addition to the task's own.
const MAX_TESTS: usize = 64;

/// Names that mean something else in column names.
const RESERVED: [&str; 3] = ["in_distribution", "layers", "test"];

impl RecordSpec {
    pub(super) fn check(&self, task: &TaskSpec) -> Result<(), Invalid> {
        let ladder = task.ladder();
        require(self.every >= 1, "every", self.every, "at least 1 step")?;
        require(
            (1..=MAX_SNAPSHOTS).contains(&self.snapshots),
            "snapshots",
            self.snapshots,
            &format!("from 1 to {MAX_SNAPSHOTS}"),
        )?;
        require(
            (1..=MAX_TEST_SEQUENCES).contains(&self.test_sequences),
            "test_sequences",
            self.test_sequences,
            &format!("from 1 to {MAX_TEST_SEQUENCES}"),
        )?;
        self.check_measures()?;
        self.check_strategies(&ladder)?;
        self.check_custom_strategies(&ladder, task.states)?;
        self.check_tests(task.length)
    }

    fn check_strategies(&self, ladder: &[String]) -> Result<(), Invalid> {
        for (index, name) in self.strategies.iter().enumerate() {
            let field = format!("strategies[{index}]");
            strategy::entry(name).at(&field)?;
            let reason = if ladder.contains(name) {
                let ladder = ladder.join(", ");
                format!("another one: every model is compared with the task's {ladder}")
            } else if self.strategies[..index].contains(name) {
                "each strategy once".to_owned()
            } else {
                continue;
            };
            return Err(Invalid::new(field, format!("\"{name}\""), reason));
        }
        Ok(())
    }

    fn check_custom_strategies(&self, ladder: &[String], states: usize) -> Result<(), Invalid> {
        for (index, custom) in self.custom_strategies.iter().enumerate() {
            let check = || {
                custom.check_text("-")?;
                let earlier = self.custom_strategies[..index].iter();
                let earlier = earlier.map(|other| &other.name).chain(ladder);
                check_new(earlier.map(|name| &**name), &custom.name, "strategy")?;
                let name = |holds: bool, allowed: &str| {
                    require(holds, "name", format!("\"{}\"", custom.name), allowed)
                };
                name(
                    strategy::entry(&custom.name).is_err() && !TRUTH.contains(&&*custom.name),
                    "a name that no built-in strategy has, nor the truth: it names columns",
                )?;
                // Text that another program wrote can be read, if not measured.
                let Ok(strategy) = custom.part() else {
                    return Ok(());
                };
                let (own, found) = (strategy.name(), strategy.states());
                let allowed = format!("the strategy's own name, \"{own}\"");
                name(own == custom.name, &allowed)?;
                let allowed =
                    format!("a strategy over task.states = {states} symbols; it has {found}");
                name(found == states, &allowed)
            };
            check().within(&format!("custom_strategies[{index}]"))?;
        }
        Ok(())
    }

    /// Checks that the built-in strategies that it names are defined for a task.
    pub(super) fn check_defined(&self, task: &dyn Task) -> Result<(), Invalid> {
        let mut names = self.strategies.iter().enumerate();
        names.try_for_each(|(index, name)| {
            task.check_strategy(name)
                .at(&format!("strategies[{index}]"))
        })
    }

    /// The names of the strategies that a model is compared with in a task: the ladder, then what the recipe adds
    /// to it.
    pub fn strategy_names(&self, task: &TaskSpec) -> Vec<String> {
        let custom = self.custom_strategies.iter().map(|custom| &custom.name);
        let added = self.strategies.iter().chain(custom).cloned();
        task.ladder().into_iter().chain(added).collect()
    }

    /// The strategies that [`strategy_names`](Self::strategy_names) names, for a task.
    ///
    /// # Errors
    ///
    /// If one is not defined for the task, or belongs to another program.
    pub fn strategies(&self, task: &dyn Task) -> Result<Vec<Arc<dyn Strategy>>, Invalid> {
        let mut strategies = task.ladder();
        for (index, name) in self.strategies.iter().enumerate() {
            let made = task.strategy(name);
            strategies.push(made.at(&format!("strategies[{index}]"))?);
        }
        for (index, custom) in self.custom_strategies.iter().enumerate() {
            let place = format!("custom_strategies[{index}]");
            let part = custom.part().within(&place)?;
            strategies.push(Arc::clone(part));
        }
        Ok(strategies)
    }

    fn check_measures(&self) -> Result<(), Invalid> {
        for (index, name) in self.measures.iter().enumerate() {
            let is_known = measure::named(name).is_some();
            let allowed = match is_known {
                true => "each measure once".to_owned(),
                false => {
                    let known = measure::all().map(|measure| measure.name);
                    format!("one of {}", known.collect::<Vec<_>>().join(", "))
                }
            };
            require(
                is_known && !self.measures[..index].contains(name),
                &format!("measures[{index}]"),
                format!("\"{name}\""),
                &allowed,
            )?;
        }
        for (index, measure) in self.custom_measures.iter().enumerate() {
            let earlier = self.custom_measures[..index].iter();
            let check_name = |()| check_new(earlier.map(|m| m.name()), measure.name(), "measure");
            let checked = measure.check().and_then(check_name);
            checked.within(&format!("custom_measures[{index}]"))?;
        }
        Ok(())
    }

    fn check_tests(&self, length: usize) -> Result<(), Invalid> {
        require(
            self.tests.len() <= MAX_TESTS,
            "tests",
            format!("{} sets", self.tests.len()),
            &format!("at most {MAX_TESTS} sets"),
        )?;
        for (index, test) in self.tests.iter().enumerate() {
            let check = || {
                require(
                    is_name(&test.name, "-_") && !RESERVED.contains(&test.name.as_str()),
                    "name",
                    format!("\"{}\"", test.name),
                    "letters, digits, '-' and '_', a letter first; not \"in_distribution\", \"layers\" or \
                     \"test\": it names columns",
                )?;
                let earlier = self.tests[..index].iter();
                check_new(earlier.map(|other| &*other.name), &test.name, "test set")?;
                let own = test.length.unwrap_or(length);
                let allowed = format!("a context length from 1 to that of the task, {length}");
                require((1..=length).contains(&own), "length", own, &allowed)
            };
            check().within(&format!("tests[{index}]"))?;
        }
        Ok(())
    }

    /// The measures that are recorded, in the order of their columns.
    pub fn chosen(&self) -> Vec<&dyn Measure> {
        let mut chosen: Vec<&dyn Measure> = measure::ALWAYS.to_vec();
        for name in &self.measures {
            let is_new = chosen.iter().all(|other| other.name() != name);
            chosen.extend(measure::named(name).filter(|_| is_new));
        }
        let custom = self.custom_measures.iter();
        chosen.extend(custom.map(|measure| measure as &dyn Measure));
        chosen
    }

    /// Whether a run of `steps` steps records metrics after `step` steps.
    pub fn records(&self, step: u64, steps: u64) -> bool {
        step.is_multiple_of(self.every) || step == steps
    }

    /// The first recorded step after `step`, in a run of `steps` steps.
    pub fn next_record(&self, step: u64, steps: u64) -> u64 {
        let next = (step / self.every).saturating_add(1);
        next.saturating_mul(self.every).min(steps)
    }

    /// The number of recorded steps in a run of `steps` steps.
    pub fn record_count(&self, steps: u64) -> u64 {
        steps.div_ceil(self.every).saturating_add(1)
    }

    /// The steps whose snapshots are kept, in order: recorded steps, as many as were asked for if there are
    /// enough.
    pub fn snapshot_steps(&self, steps: u64) -> Vec<u64> {
        let records = self.record_count(steps);
        let count = self.snapshots.min(records);
        if count <= 1 {
            return vec![steps];
        }
        let mut kept = Vec::with_capacity(count as usize);
        let mut least = 0;
        for index in 0..count {
            let share = index as f64 / (count - 1) as f64;
            let wanted = match self.spacing {
                Spacing::Linear => steps as f64 * share,
                Spacing::Logarithmic => libm::pow(steps as f64 + 1.0, share) - 1.0,
            };
            // The nearest record that leaves enough records for the snapshots still to come.
            let nearest = (wanted / self.every as f64).round() as u64;
            let record = nearest.min(records - (count - index)).max(least);
            kept.push((record.saturating_mul(self.every)).min(steps));
            least = record + 1;
        }
        kept
    }
}

/// Refuses a name that an earlier one of its kind has.
fn check_new<'a>(
    mut earlier: impl Iterator<Item = &'a str>,
    name: &str,
    kind: &str,
) -> Result<(), Invalid> {
    require(
        earlier.all(|other| other != name),
        "name",
        format!("\"{name}\""),
        &format!("a name that no other {kind} has"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(every: u64, snapshots: u64, spacing: Spacing) -> RecordSpec {
        RecordSpec {
            every,
            snapshots,
            spacing,
            ..RecordSpec::default()
        }
    }

    #[test]
    fn snapshots_reach_from_the_start_to_the_end_on_recorded_steps() {
        for spacing in [Spacing::Linear, Spacing::Logarithmic] {
            for (steps, every, snapshots) in [
                (4000, 20, 200),
                (4000, 20, 20),
                (10, 3, 200),
                (1, 1, 2),
                (1000, 7, 3),
                (1000, 5000, 3),
                (u64::MAX, 1 << 60, 5),
            ] {
                let record = record(every, snapshots, spacing);
                let kept = record.snapshot_steps(steps);
                assert_eq!((kept[0], *kept.last().unwrap()), (0, steps));
                assert!(kept.is_sorted_by(|a, b| a < b), "{kept:?}");
                assert!(kept.iter().all(|&step| record.records(step, steps)));
                let possible = snapshots.min(record.record_count(steps));
                assert_eq!(kept.len() as u64, possible, "{steps} {every} {snapshots}");
            }
        }
        assert_eq!(record(20, 1, Spacing::Linear).snapshot_steps(50), [50]);
        assert_eq!(RecordSpec::default().snapshot_steps(0), [0]);
    }

    #[test]
    fn the_next_record_is_found_without_looking_for_it() {
        let record = record(20, 1, Spacing::Linear);
        assert_eq!(record.next_record(0, 50), 20);
        assert_eq!(record.next_record(39, 50), 40);
        assert_eq!(record.next_record(40, 50), 50);
        assert_eq!(record.next_record(u64::MAX - 1, u64::MAX), u64::MAX);
        assert_eq!(record.record_count(50), 4);
        assert_eq!(record.record_count(40), 3);
    }
}
