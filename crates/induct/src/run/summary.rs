//! The outcome of a run, as data.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::drive::{Ending, Run};
use super::identity::{Identity, NUMERICS, arithmetic};
use crate::measure::{KL_STRATEGY, STEP};
use crate::probe::{Estimate, History, IN_DISTRIBUTION, LossDrop, Phase, TestLevels};
use crate::recipe::Recipe;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The recipe's name.
    pub name: String,
    /// The run's identity.
    pub identity: String,
    /// The numerics version.
    pub numerics: u32,
    /// The arithmetic it was computed with.
    pub arithmetic: String,
    /// The program's version.
    pub version: String,
    /// Steps done.
    pub steps: u64,
    /// How it ended.
    pub ended: Ended,
    /// The step whose loss was not a number, if it diverged.
    pub diverged_at: Option<u64>,
    /// The step that the last session resumed from, if it did not start the run.
    pub resumed_at: Option<u64>,
    /// Number of threads in the last session.
    pub threads: usize,
    /// Duration of the last session.
    pub seconds: f64,
    /// Phases, in order.
    pub phases: Vec<Phase>,
    /// The drops between them.
    pub drops: Vec<LossDrop>,
    /// The strategies on the task's own test set.
    #[serde(with = "entries")]
    pub strategies: Vec<(String, StrategySummary)>,
    /// The strategies on every other test set.
    #[serde(with = "entries")]
    pub tests: Vec<(String, TestSummary)>,
    /// The last record, by column.
    #[serde(rename = "final", with = "entries")]
    pub last: Vec<(String, Option<f64>)>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All steps are done.
    Complete,
    /// The event of `train.stop` came before the last step.
    Event,
    /// The loss was not a number.
    Diverged,
}

/// A strategy on the task's own test set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrategySummary {
    /// KL(truth ‖ strategy) at the last position.
    pub kl_truth: Option<f64>,
    /// Its standard error.
    pub se: Option<f64>,
    /// KL(strategy ‖ model) at the end.
    pub kl_to_model: Option<f64>,
}

/// The strategies on another test set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestSummary {
    /// KL(truth ‖ strategy) at the last position, by strategy.
    #[serde(with = "entries")]
    pub strategies: Vec<(String, Level)>,
}

/// A level with its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// KL(truth ‖ strategy).
    pub kl_truth: Option<f64>,
    /// Its standard error.
    pub se: Option<f64>,
}

impl From<&Estimate> for Level {
    fn from(estimate: &Estimate) -> Self {
        Self {
            kl_truth: finite(estimate.mean),
            se: finite(estimate.se),
        }
    }
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

impl Summary {
    /// The summary of a run that ended `seconds` after this session began; `None` if it was only stopped.
    pub fn of(run: &Run, ending: &Ending, seconds: f64) -> Option<Self> {
        let (ended, diverged_at) = match ending {
            Ending::Complete => (Ended::Complete, None),
            Ending::Event(_) => (Ended::Event, None),
            Ending::Diverged(diverged) => (Ended::Diverged, Some(diverged.step)),
            Ending::Stopped(_) | Ending::PriorFailed { .. } => return None,
        };
        let mut summary = Self::of_records(run.recipe(), run.history(), run.instruments().levels());
        summary.identity = Identity::of(run.recipe()).run;
        summary.steps = run.step();
        (summary.ended, summary.diverged_at) = (ended, diverged_at);
        summary.resumed_at = run.resumed_at();
        summary.threads = rayon::current_num_threads();
        summary.seconds = seconds;
        Some(summary)
    }

    /// KL(truth ‖ strategy) on the task's own test set, by strategy, where it is known.
    pub fn levels(&self) -> Vec<(String, f64)> {
        let known =
            |(name, level): &(String, StrategySummary)| Some((name.clone(), level.kl_truth?));
        self.strategies.iter().filter_map(known).collect()
    }

    /// What the records alone say about a run, which may not have ended.
    pub fn of_records(recipe: &Recipe, history: &History, levels: &[TestLevels]) -> Self {
        let (phases, drops) = history.phases(&recipe.task.ladder());
        let own = levels.iter().find(|level| level.test == IN_DISTRIBUTION);
        let own = own.map(|levels| levels.strategies.as_slice());
        let own: Vec<(String, Level)> = own
            .unwrap_or_default()
            .iter()
            .map(|(name, estimate)| (name.clone(), estimate.into()))
            .collect();
        // Whoever shows a run may not have the strategies, nor how well they do.
        let mut names: Vec<String> = own.iter().map(|(name, _)| name.clone()).collect();
        let recorded = history.strategies().into_iter();
        names.extend(recorded.filter(|name| find(&own, name).is_none()));
        let strategy = |name: String| {
            let level = find(&own, &name);
            let kl_to_model = history.last(KL_STRATEGY.of_strategy(&name));
            let summary = StrategySummary {
                kl_truth: level.and_then(|level| level.kl_truth),
                se: level.and_then(|level| level.se),
                kl_to_model: kl_to_model.and_then(finite),
            };
            (name, summary)
        };
        let test = |levels: &TestLevels| {
            let level = |(name, estimate): &(String, Estimate)| (name.clone(), estimate.into());
            let strategies = levels.strategies.iter().map(level).collect();
            (levels.test.clone(), TestSummary { strategies })
        };
        let others = levels.iter().filter(|level| level.test != IN_DISTRIBUTION);
        let last = history.last_row();
        let last = last.map(|(column, value)| (column.to_string(), value.and_then(finite)));
        Self {
            name: recipe.name.clone(),
            identity: String::new(),
            numerics: NUMERICS,
            arithmetic: arithmetic().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            steps: history.steps().last().copied().unwrap_or(0),
            ended: Ended::Complete,
            diverged_at: None,
            resumed_at: None,
            threads: 0,
            seconds: 0.0,
            phases,
            drops,
            strategies: names.into_iter().map(strategy).collect(),
            tests: others.map(test).collect(),
            last: last.collect(),
        }
    }

    /// The last recorded step.
    pub fn last_step(&self) -> Option<u64> {
        let step = find(&self.last, STEP.name).copied().flatten();
        step.map(|step| step as u64)
    }

    /// KL(truth ‖ strategy) on a test set; `None` if it was not measured. The task's own test set is
    /// [`IN_DISTRIBUTION`].
    pub fn level(&self, test: &str, strategy: &str) -> Option<f64> {
        if test == IN_DISTRIBUTION {
            return find(&self.strategies, strategy)?.kl_truth;
        }
        find(&find(&self.tests, test)?.strategies, strategy)?.kl_truth
    }
}

fn find<'a, T>(entries: &'a [(String, T)], name: &str) -> Option<&'a T> {
    let found = entries.iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value)
}

/// Named values in order, as a map.
mod entries {
    use super::*;

    pub fn serialize<T: Serialize, S: Serializer>(
        entries: &[(String, T)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(entries.iter().map(|(name, value)| (name, value)))
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, T)>, D::Error> {
        struct Entries<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Vec<(String, T)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}
