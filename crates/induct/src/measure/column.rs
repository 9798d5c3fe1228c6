//! Columns of a run's records: a measure, and what it was taken of.

use std::fmt::{Display, Formatter};

use super::{Measure, Observed, Reading};

/// A measure, and what it was taken of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The measure.
    pub measure: &'static Measure,
    /// What it was taken of.
    pub of: Of,
}

/// What a measure was taken of.
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
    /// A lag or a position.
    Place(usize),
}

impl From<&'static Measure> for Column {
    fn from(measure: &'static Measure) -> Self {
        Self {
            measure,
            of: Of::Run,
        }
    }
}

impl Measure {
    /// The column of one strategy.
    pub fn of_strategy(&'static self, strategy: &str) -> Column {
        Column {
            measure: self,
            of: Of::Strategy(strategy.to_owned()),
        }
    }

    /// The column of one test set.
    pub fn of_test(&'static self, test: &str) -> Column {
        Column {
            measure: self,
            of: Of::Test(test.to_owned()),
        }
    }

    /// The column of one head; both numbers count from 0.
    pub fn of_head(&'static self, layer: usize, head: usize) -> Column {
        Column {
            measure: self,
            of: Of::Head { layer, head },
        }
    }

    /// The column of one lag or position.
    pub fn at(&'static self, place: usize) -> Column {
        Column {
            measure: self,
            of: Of::Place(place),
        }
    }
}

impl Column {
    /// The layer and head that it is about, if it is about one.
    pub fn head(&self) -> Option<(usize, usize)> {
        match self.of {
            Of::Head { layer, head } => Some((layer, head)),
            _ => None,
        }
    }

    /// Its value among what was observed; none where the measure does not apply.
    pub fn value(&self, seen: &Observed) -> Option<f64> {
        let by_name = |entries: &[(String, super::Kl)], name: &str| {
            let found = entries.iter().find(|(other, _)| other == name);
            found.map(|(_, kl)| *kl)
        };
        match (self.measure.reading, &self.of) {
            (Reading::Run(read), Of::Run) => read(seen),
            (Reading::Strategy(read), Of::Strategy(name)) => {
                read(&by_name(&seen.strategies, name)?)
            }
            (Reading::Test(read), Of::Test(name)) => read(&by_name(&seen.tests, name)?),
            (Reading::Head(measure), Of::Head { layer, head }) => {
                seen.heads.get(*layer)?.get(*head)?.value(measure)
            }
            (Reading::Lag(read) | Reading::Position(read), Of::Place(place)) => {
                read(seen).get(*place).copied()
            }
            _ => None,
        }
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name = self.measure.name;
        match &self.of {
            Of::Run => f.write_str(name),
            Of::Strategy(strategy) => f.write_str(&name.replacen("strategy", strategy, 1)),
            Of::Test(test) => f.write_str(&name.replacen("test", test, 1)),
            Of::Head { layer, head } => write!(f, "layers.{layer}.heads.{head}.{name}"),
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
        assert_eq!(POSITIONAL_PROFILE.at(3).to_string(), "positional_profile.3");
    }

    #[test]
    fn a_column_of_the_wrong_thing_has_no_value() {
        let seen = Observed::default();
        assert_eq!(KL_TRUTH.of_head(0, 0).value(&seen), None);
        assert_eq!(Column::from(&INDUCTION).value(&seen), None);
        assert_eq!(Column::from(&STEP).value(&seen), Some(0.0));
    }
}
