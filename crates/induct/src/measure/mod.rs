//! Measures: what a number in a run's records means, and how it is read from what was observed.
//!
//! A measure's name, meaning, unit, range and value stand in one place: [`REGISTRY`]. Recipes choose measures by name, files carry
//! their columns, and code refers to them by handle ([`KL_TRUTH`], `INDUCTION.of_head(1, 0)`), so that a misspelt one does not compile.

mod column;
mod observed;
mod registry;

pub use column::{Column, Of};
pub use observed::{HeadObserved, Kl, Matching, Observed};
pub use registry::*;

/// What a number in a run's records means.
#[derive(Debug)]
pub struct Measure {
    /// Its name in recipes. In columns, `strategy` and `test` stand for the name of one.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    /// What it is counted in; empty for a bare number.
    pub unit: &'static str,
    /// The least and the largest value it can have.
    pub range: [f64; 2],
    /// How it is read from what was observed, and of how many things there is a value.
    pub reading: Reading,
}

/// How a measure is read from what was observed.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// One number.
    Run(fn(&Observed) -> Option<f64>),
    /// One per strategy that the model is compared with.
    Strategy(fn(&Kl) -> Option<f64>),
    /// One per test set beside the task's own.
    Test(fn(&Kl) -> Option<f64>),
    /// One per head of every layer.
    Head(HeadMeasure),
    /// One per lag: 0 is the current position.
    Lag(fn(&Observed) -> &[f64]),
    /// One per position of a sequence.
    Position(fn(&Observed) -> &[f64]),
}

/// What is measured on a head's attention pattern, averaged over positions after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadMeasure {
    /// Attention on the positions of a target pattern, over positions that have any.
    Mass(Target),
    /// Entropy of the attention pattern.
    Entropy,
}

/// A target pattern: which positions j a position i is expected to attend to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// j = i − 1.
    PreviousToken,
    /// Positions that followed an earlier occurrence of the current symbol: x_{j−1} = x_i.
    Induction,
    /// Positions with the current symbol, the current one included: x_j = x_i.
    SameToken,
    /// Positions that followed an earlier occurrence of the last n−1 symbols.
    NgramMatch,
}

impl Measure {
    /// The measure with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        REGISTRY
            .iter()
            .copied()
            .find(|measure| measure.name == name)
    }
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Measure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_meanings_are_sentences() {
        for (index, measure) in REGISTRY.iter().enumerate() {
            let earlier = REGISTRY[..index].iter();
            assert!(
                earlier.clone().all(|other| other.name != measure.name),
                "{}",
                measure.name
            );
            assert!(measure.meaning.len() > 10, "{}", measure.name);
            assert!(measure.range[0] < measure.range[1], "{}", measure.name);
            assert_eq!(Measure::named(measure.name), Some(*measure));
        }
        assert_eq!(Measure::named("kl_truht"), None);
    }

    #[test]
    fn the_default_measures_exist() {
        for name in DEFAULT {
            assert!(Measure::named(name).is_some(), "{name}");
        }
    }
}
