//! This crate's measures, as data.

use induct_kernels::model::Layout;

use super::{Column, HeadScore, Kl, Measure, Observation, Of, Scope};

/// One of this crate's measures: its description, and a function that reads it. Statics of this type are the
/// handles by which code refers to measures.
#[derive(Debug)]
pub struct BuiltIn {
    /// Its name in recipes. In column names, `strategy` and a leading `test.`
    /// are replaced by the name of one.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub meaning: &'static str,
    /// Its unit; empty for a bare number.
    pub unit: &'static str,
    /// The smallest and the largest value it can have.
    pub range: [f64; 2],
    /// How it is read from what was observed, and of what it has one value each.
    pub reading: Reading,
}

/// How one of this crate's measures is read from what was observed.
#[derive(Clone, Copy)]
pub enum Reading {
    /// One number.
    Run(fn(&Observation) -> Option<f64>),
    /// One per strategy that the model is compared with.
    Strategy(fn(&Kl) -> Option<f64>),
    /// One per test set other than the task's own.
    Test(fn(&Kl) -> Option<f64>),
    /// One per head of every layer, averaged over its attention patterns.
    Head(&'static dyn HeadScore),
    /// One per head of every layer, read from the weights; given layer and head.
    Circuit(fn(&Observation, usize, usize) -> Option<f64>),
    /// One per layer.
    Layer(fn(&Observation, usize) -> Option<f64>),
    /// One per group of parameters, read from the gradient of the last step; given its name.
    Gradient(fn(&Layout, &[f32], &str) -> f64),
    /// One per lag: 0 is the current position.
    Lag(for<'a> fn(&'a Observation) -> &'a [f64]),
    /// One per position of a sequence.
    Position(for<'a> fn(&'a Observation) -> &'a [f64]),
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.scope().fmt(f)
    }
}

impl Reading {
    fn scope(&self) -> Scope {
        match self {
            Reading::Run(_) => Scope::Run,
            Reading::Strategy(_) => Scope::Strategy,
            Reading::Test(_) => Scope::Test,
            Reading::Head(_) | Reading::Circuit(_) => Scope::Head,
            Reading::Layer(_) => Scope::Layer,
            Reading::Gradient(_) => Scope::Group,
            Reading::Lag(_) => Scope::Lag,
            Reading::Position(_) => Scope::Position,
        }
    }

    /// The value in one column.
    fn value(&self, seen: &Observation, column: &Column) -> Option<f64> {
        let named = |entries: &[(String, Kl)], name: &str| {
            let found = entries.iter().find(|(other, _)| other == name);
            found.map(|(_, kl)| *kl)
        };
        match (self, &column.of) {
            (Reading::Run(read), Of::Run) => read(seen),
            (Reading::Strategy(read), Of::Strategy(name)) => read(&named(&seen.strategies, name)?),
            (Reading::Test(read), Of::Test(name)) => read(&named(&seen.tests, name)?),
            (Reading::Head(_), _) => seen.head_score(column),
            (Reading::Circuit(read), &Of::Head { layer, head }) => read(seen, layer, head),
            (Reading::Layer(read), &Of::Layer(layer)) => read(seen, layer),
            (Reading::Gradient(read), Of::Group(group)) => {
                Some(read(seen.model().layout(), seen.gradient?, group))
            }
            (Reading::Lag(read) | Reading::Position(read), Of::Place(place)) => {
                read(seen).get(*place).copied()
            }
            _ => None,
        }
    }
}

impl Measure for BuiltIn {
    fn name(&self) -> &str {
        self.name
    }

    fn meaning(&self) -> &str {
        self.meaning
    }

    fn unit(&self) -> &str {
        self.unit
    }

    fn range(&self) -> [f64; 2] {
        self.range
    }

    fn scope(&self) -> Scope {
        self.reading.scope()
    }

    fn head_score(&self) -> Option<&dyn HeadScore> {
        match self.reading {
            Reading::Head(score) => Some(score),
            _ => None,
        }
    }

    fn needs_positions(&self) -> bool {
        matches!(self.reading, Reading::Position(_))
    }

    fn needs_gradient(&self) -> bool {
        matches!(self.reading, Reading::Gradient(_))
    }

    fn read(&self, seen: &Observation, columns: &[Column], values: &mut [f64]) {
        for (column, value) in columns.iter().zip(values) {
            *value = self.reading.value(seen, column).unwrap_or(f64::NAN);
        }
    }
}

impl BuiltIn {
    /// The column of one strategy.
    pub fn of_strategy(&self, strategy: &str) -> Column {
        Column::new(self, Of::Strategy(strategy.to_owned()))
    }

    /// The column of one test set.
    pub fn of_test(&self, test: &str) -> Column {
        Column::new(self, Of::Test(test.to_owned()))
    }

    /// The column of one head; both numbers count from 0.
    pub fn of_head(&self, layer: usize, head: usize) -> Column {
        Column::new(self, Of::Head { layer, head })
    }

    /// The column of one layer, which counts from 0.
    pub fn of_layer(&self, layer: usize) -> Column {
        Column::new(self, Of::Layer(layer))
    }

    /// The column of one group of parameters.
    pub fn of_group(&self, group: &str) -> Column {
        Column::new(self, Of::Group(group.to_owned()))
    }

    /// The column of one lag or position.
    pub fn at(&self, place: usize) -> Column {
        Column::new(self, Of::Place(place))
    }
}

impl From<&BuiltIn> for Column {
    fn from(measure: &BuiltIn) -> Self {
        Column::new(measure, Of::Run)
    }
}
