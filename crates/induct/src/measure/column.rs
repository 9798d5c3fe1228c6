//! Columns of a run's records: a measure, and what it was measured on.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

use super::Measure;

/// A measure, and what it was measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The measure's name.
    pub measure: String,
    /// What it was measured on.
    pub of: Of,
}

/// What a measure has one value, and so one column, for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The run: one value.
    Run,
    /// Every strategy that the model is compared with.
    Strategy,
    /// Every test set other than the task's own.
    Test,
    /// Every head of every layer; none in the minimal model.
    Head,
    /// Every layer; the minimal model has two.
    Layer,
    /// Every group of parameters: each part of the model, and each tensor.
    Group,
    /// Every lag, from 0, the current position, to t − 1; none in transformers without relative positions.
    Lag,
    /// Every position of a sequence, from 0 to t − 1.
    Position,
}

/// What a measure was measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// The run.
    Run,
    /// A strategy, by name.
    Strategy(String),
    /// A test set, by name.
    Test(String),
    /// A head; both count from 0.
    Head {
        /// Its layer.
        layer: usize,
        /// Its number within the layer.
        head: usize,
    },
    /// A layer, which counts from 0.
    Layer(usize),
    /// A group of parameters, by name.
    Group(String),
    /// A lag or a position.
    Place(usize),
}

impl Column {
    /// The column of a measure.
    pub fn new(measure: &dyn Measure, of: Of) -> Self {
        Self {
            measure: measure.name().to_owned(),
            of,
        }
    }

    /// Whether it is one of the measure's columns.
    pub fn is_of(&self, measure: &dyn Measure) -> bool {
        self.measure == measure.name()
    }

    /// The strategy of a column about a strategy.
    pub fn strategy(&self) -> Option<&str> {
        match &self.of {
            Of::Strategy(name) => Some(name),
            _ => None,
        }
    }

    /// The layer and head of a column about a head.
    pub fn head(&self) -> Option<(usize, usize)> {
        match self.of {
            Of::Head { layer, head } => Some((layer, head)),
            _ => None,
        }
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name = self.measure.as_str();
        match &self.of {
            Of::Run => f.write_str(name),
            Of::Strategy(strategy) if name.contains("strategy") => {
                f.write_str(&name.replacen("strategy", strategy, 1))
            }
            Of::Strategy(strategy) => write!(f, "{name}.{strategy}"),
            Of::Test(test) => write!(f, "{test}.{}", name.strip_prefix("test.").unwrap_or(name)),
            Of::Head { layer, head } => write!(f, "layers.{layer}.heads.{head}.{name}"),
            Of::Layer(layer) => write!(f, "layers.{layer}.{name}"),
            Of::Group(group) => write!(f, "{group}.{name}"),
            Of::Place(place) => write!(f, "{name}.{place}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn columns_have_the_names_that_files_carry() {
        assert_eq!(Column::from(&KL_TRUTH).to_string(), "kl_truth");
        assert_eq!(
            KL_STRATEGY_ALL.of_strategy("unigram").to_string(),
            "kl_unigram_all"
        );
        assert_eq!(TEST_KL_TRUTH.of_test("iid").to_string(), "iid.kl_truth");
        let head = INDUCTION.of_head(1, 0);
        assert_eq!(head.to_string(), "layers.1.heads.0.induction");
        let layer = CONSTRUCTION_OVERLAP.of_layer(1);
        assert_eq!(layer.to_string(), "layers.1.construction_overlap");
        let group = GRADIENT_NORM.of_group("layers.0.W_K");
        assert_eq!(group.to_string(), "layers.0.W_K.gradient_norm");
        assert_eq!(POSITIONAL_PROFILE.at(3).to_string(), "positional_profile.3");
        // A name without a placeholder for a strategy or test still gets distinct columns.
        assert_eq!(
            ODD_EVEN.of_strategy("unigram").to_string(),
            "odd_even.unigram"
        );
        assert_eq!(ODD_EVEN.of_test("iid").to_string(), "iid.odd_even");
    }
}
