//! Measures supplied by another program.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ANY, Column, HeadScore, Measure, Observation, Scope, named};
use crate::Custom;
use crate::{Invalid, require};

/// A measure that is not built in, as a recipe writes it.
///
/// The recipe's text describes it, so that any program can read its columns; only the program that has its
/// code can train with it. If a measure's definition changes, change its name, settings or meaning too: runs
/// with equal recipes are taken for the same run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Text", into = "Text")]
pub struct CustomMeasure {
    custom: Custom<dyn Measure>,
    scope: Scope,
    meaning: String,
    unit: String,
    range: [f64; 2],
}

/// Its form in a recipe.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    scope: Scope,
    #[serde(default)]
    meaning: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    unit: String,
    #[serde(default = "any", skip_serializing_if = "is_any")]
    range: [f64; 2],
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, f64>,
}

fn any() -> [f64; 2] {
    ANY
}

fn is_any(range: &[f64; 2]) -> bool {
    *range == ANY
}

impl From<Text> for CustomMeasure {
    fn from(text: Text) -> Self {
        Self {
            custom: Custom::named(text.name, text.settings),
            scope: text.scope,
            meaning: text.meaning,
            unit: text.unit,
            range: text.range,
        }
    }
}

impl From<CustomMeasure> for Text {
    fn from(measure: CustomMeasure) -> Self {
        Self {
            name: measure.custom.name,
            scope: measure.scope,
            meaning: measure.meaning,
            unit: measure.unit,
            range: measure.range,
            settings: measure.custom.settings,
        }
    }
}

/// Names that are taken by other columns.
const RESERVED: [&str; 1] = ["checksum"];

impl CustomMeasure {
    /// A measure supplied by the calling program. List all settings that determine its values.
    pub fn new(measure: impl Measure + 'static, settings: &[(&str, f64)]) -> Self {
        Self {
            scope: measure.scope(),
            meaning: measure.meaning().to_owned(),
            unit: measure.unit().to_owned(),
            range: measure.range(),
            custom: {
                let name = measure.name().to_owned();
                let custom = Custom::new(name, Arc::new(measure) as Arc<dyn Measure>);
                let tell =
                    |custom: Custom<_>, (name, value): &(&str, f64)| custom.with(*name, *value);
                settings.iter().fold(custom, tell)
            },
        }
    }

    /// The measure itself.
    ///
    /// # Errors
    ///
    /// If the recipe was read from text.
    pub fn part(&self) -> Result<&Arc<dyn Measure>, Invalid> {
        self.custom.part()
    }

    /// What it was made with.
    pub fn settings(&self) -> &BTreeMap<String, f64> {
        &self.custom.settings
    }

    /// Gives a measure that was read from text its code, which must have the scope that the text says.
    pub fn supply(&mut self, measure: Arc<dyn Measure>) {
        self.custom.supply(measure);
    }

    /// Checks what the recipe's text says about it.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        self.custom.check_text("-_")?;
        let name = self.name();
        require(
            named(name).is_none() && !RESERVED.contains(&name),
            "name",
            format!("\"{name}\""),
            "a name that no built-in measure or other column has",
        )?;
        let [least, largest] = self.range;
        require(
            least <= largest,
            "range",
            format!("[{least}, {largest}]"),
            "the least value, and one that is no smaller",
        )
    }
}

impl Measure for CustomMeasure {
    fn name(&self) -> &str {
        &self.custom.name
    }

    fn meaning(&self) -> &str {
        &self.meaning
    }

    fn unit(&self) -> &str {
        &self.unit
    }

    fn range(&self) -> [f64; 2] {
        self.range
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn head_score(&self) -> Option<&dyn HeadScore> {
        self.part().ok()?.head_score()
    }

    fn needs_positions(&self) -> bool {
        self.part().is_ok_and(|measure| measure.needs_positions())
    }

    fn needs_gradient(&self) -> bool {
        self.part().is_ok_and(|measure| measure.needs_gradient())
    }

    /// Without its code it has no values.
    fn read(&self, seen: &Observation, columns: &[Column], values: &mut [f64]) {
        if let Ok(measure) = self.part() {
            measure.read(seen, columns, values);
        }
    }
}
