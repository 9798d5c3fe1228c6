//! What is kept of a run: one row.

use induct::lanes::instructions;
use induct::probe::History;
use induct::run::{Ended, Identity, Summary};
use induct::train::Recipe;
use serde::{Deserialize, Serialize};

use crate::plan::Kept;
use crate::table::{Column, Table};

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The run's number in the plan.
    pub number: u64,
    /// The first digits of its identity, which also name its folder if it is kept whole.
    pub run: String,
    /// The instructions it was computed with.
    pub level: String,
    /// What became of it.
    pub ended: Became,
    /// Steps done.
    pub steps: u64,
    /// The step whose loss was not a number.
    pub diverged_at: Option<u64>,
    /// Strategies and the first steps of their phases, in order.
    pub phases: Vec<(String, u64)>,
    /// What is kept at the end, by column.
    pub last: Vec<(String, Option<f64>)>,
    /// The recorded steps, if curves are kept.
    pub recorded: Vec<u64>,
    /// What is kept at every record, by column.
    pub curves: Vec<(String, Vec<Option<f64>>)>,
    /// How long it took.
    pub seconds: f64,
    /// Why there is no result.
    pub error: Option<String>,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Became {
    /// All steps are done.
    Complete,
    /// The event of `train.stop` came before the last step.
    Event,
    /// The loss was not a number.
    Diverged,
    /// It could not be trained.
    Failed,
    /// The process that trained it died.
    Lost,
}

impl Became {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Became::Complete => "complete",
            Became::Event => "event",
            Became::Diverged => "diverged",
            Became::Failed => "failed",
            Became::Lost => "lost",
        }
    }

    /// Whether a name is that of a run with a result.
    pub fn is_result(name: &str) -> bool {
        [Became::Complete, Became::Event, Became::Diverged]
            .iter()
            .any(|became| became.name() == name)
    }
}

impl From<Ended> for Became {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Complete => Became::Complete,
            Ended::Event => Became::Event,
            Ended::Diverged => Became::Diverged,
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
    /// What is kept of a run that has ended.
    pub fn of(
        number: u64,
        recipe: &Recipe,
        summary: &Summary,
        history: &History,
        kept: &Kept,
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
            number,
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

    /// A run without a result.
    pub fn without(number: u64, ended: Became, error: String) -> Self {
        Self {
            number,
            run: String::new(),
            level: instructions().to_owned(),
            ended,
            steps: 0,
            diverged_at: None,
            phases: Vec::new(),
            last: Vec::new(),
            recorded: Vec::new(),
            curves: Vec::new(),
            seconds: 0.0,
            error: Some(error),
        }
    }
}

/// Column of a run's number.
pub const NUMBER: &str = "number";
/// Column of a run's name.
pub const RUN: &str = "run";
/// Column of what became of it.
pub const ENDED: &str = "ended";
/// Column of the instructions it was computed with.
pub const LEVEL: &str = "level";
/// Column of how long it took.
pub const SECONDS: &str = "seconds";
/// Column of why there is no result.
pub const ERROR: &str = "error";

/// Rows as a table: all columns that are kept, whether or not a row has a value for them.
pub fn table(rows: &[Row], kept: &Kept) -> Table {
    let text = |of: &dyn Fn(&Row) -> Option<String>| Column::Text(rows.iter().map(of).collect());
    let whole = |of: &dyn Fn(&Row) -> Option<u64>| {
        let value = |row| of(row).and_then(|value| i64::try_from(value).ok());
        Column::Whole(rows.iter().map(value).collect())
    };
    let has_result = |row: &Row| Became::is_result(row.ended.name());
    let mut table = Table::default();
    table.push(NUMBER, whole(&|row| Some(row.number)));
    table.push(RUN, text(&|row| has_result(row).then(|| row.run.clone())));
    table.push(LEVEL, text(&|row| Some(row.level.clone())));
    table.push(ENDED, text(&|row| Some(row.ended.name().to_owned())));
    table.push("steps", whole(&|row| has_result(row).then_some(row.steps)));
    table.push("diverged_at", whole(&|row| row.diverged_at));
    let in_words = |row: &Row| {
        let names = row.phases.iter().map(|(strategy, _)| strategy.as_str());
        names.collect::<Vec<_>>().join(" > ")
    };
    table.push(
        "phases",
        text(&|row| has_result(row).then(|| in_words(row))),
    );
    for strategy in &kept.strategies {
        let onset = |row: &Row| {
            let found = row.phases.iter().find(|(name, _)| name == strategy);
            found.map(|(_, onset)| *onset)
        };
        table.push(format!("onset.{strategy}"), whole(&onset));
    }
    for name in &kept.last {
        let value = |row: &Row| {
            let found = row.last.iter().find(|(own, _)| own == name);
            found.and_then(|(_, value)| *value)
        };
        table.push(
            format!("final.{name}"),
            Column::Real(rows.iter().map(value).collect()),
        );
    }
    if !kept.curves.is_empty() {
        let steps = |row: &Row| {
            has_result(row).then(|| row.recorded.iter().map(|&s| Some(s as f64)).collect())
        };
        table.push(
            "curve.step",
            Column::Curve(rows.iter().map(steps).collect()),
        );
    }
    for name in &kept.curves {
        let curve = |row: &Row| {
            let found = row.curves.iter().find(|(own, _)| own == name);
            found.map(|(_, curve)| curve.clone())
        };
        table.push(
            format!("curve.{name}"),
            Column::Curve(rows.iter().map(curve).collect()),
        );
    }
    table.push(
        SECONDS,
        Column::Real(rows.iter().map(|row| Some(row.seconds)).collect()),
    );
    table.push(ERROR, text(&|row| row.error.clone()));
    table
}
