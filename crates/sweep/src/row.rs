//! What is kept of a run: one row.

use induct::lanes::instructions;
use induct::probe::History;
use induct::recipe::Recipe;
use induct::run::{Ended, Identity, Summary};
use serde::{Deserialize, Serialize};

use crate::plan::{Key, Retention};

/// What is kept of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub key: Key,
    /// The first digits of its identity, which also name its folder if it is kept whole.
    pub run: String,
    /// The instructions it was computed with.
    pub level: String,
    pub ended: RunStatus,
    pub steps: u64,
    /// The step whose loss was not a number.
    pub diverged_at: Option<u64>,
    /// Strategies and the first steps of their phases, in order.
    pub phases: Vec<(String, u64)>,
    /// What is kept at the end, by column.
    pub last: Vec<(String, Option<f64>)>,
    pub recorded: Vec<u64>,
    /// What is kept at every record, by column.
    pub curves: Vec<(String, Vec<Option<f64>>)>,
    pub seconds: f64,
    pub error: Option<String>,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// All steps are done.
    Complete,
    /// The event of `train.stop` came before the last step.
    Event,
    /// The loss was not a number.
    Diverged,
    /// It could not be trained.
    #[default]
    Failed,
}

impl RunStatus {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Complete => "complete",
            RunStatus::Event => "event",
            RunStatus::Diverged => "diverged",
            RunStatus::Failed => "failed",
        }
    }
}

impl From<Ended> for RunStatus {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Complete => RunStatus::Complete,
            Ended::Event => RunStatus::Event,
            Ended::Diverged => RunStatus::Diverged,
        }
    }
}

/// Digits of an identity that name a run: chance gives no two of a million runs the same.
const NAME: usize = 16;

/// The name of a run, which is also that of its folder.
pub fn name(recipe: &Recipe) -> String {
    Identity::of(recipe).run[..NAME].to_owned()
}

impl Row {
    pub fn of(
        key: Key,
        recipe: &Recipe,
        summary: &Summary,
        history: &History,
        kept: &Retention,
    ) -> Self {
        let names: Vec<String> = history.columns().iter().map(ToString::to_string).collect();
        let at = |name: &String| names.iter().position(|own| own == name);
        let finite = |value: f64| value.is_finite().then_some(value);
        // What a diverged run recorded last is not where it ended.
        let diverged = summary.ended == Ended::Diverged;
        let last_row = history.rows().next_back().unwrap_or_default();
        let last = kept.last.iter().filter_map(|name| {
            Some((
                name.clone(),
                finite(last_row[at(name)?]).filter(|_| !diverged),
            ))
        });
        let curve = |name: &String| {
            let index = at(name)?;
            let values = history.rows().map(|row| finite(row[index])).collect();
            Some((name.clone(), values))
        };
        let phases = summary
            .phases
            .iter()
            .map(|phase| (phase.strategy.clone(), phase.onset));
        Self {
            key,
            run: name(recipe),
            level: instructions().to_owned(),
            ended: summary.ended.into(),
            steps: summary.steps,
            diverged_at: summary.diverged_at,
            phases: phases.collect(),
            last: last.collect(),
            recorded: match kept.curves.is_empty() {
                true => Vec::new(),
                false => history.steps(),
            },
            curves: kept.curves.iter().filter_map(curve).collect(),
            seconds: summary.seconds,
            error: None,
        }
    }

    pub fn failed(key: Key, error: String) -> Self {
        Self {
            key,
            level: instructions().to_owned(),
            error: Some(error),
            ..Self::default()
        }
    }
}
