//! Measures: what a number in a run's records means, and how it is read from what was observed.
//!
//! A measure's name, meaning, unit, range and value are in one place. Recipes choose measures by name, files
//! carry their columns, and code refers to them by handle ([`KL_TRUTH`], `INDUCTION.of_head(1, 0)`), so that
//! a misspelt one does not compile.
//!
//! To add one, write it in the file on its subject, or in a new one that is listed in `subjects!` below; a
//! score of attention heads is a [`Pattern`] and a name. One from another crate is a [`Measure`] that
//! enters through [`CustomMeasure`].

/// Declares the measures of a file: handle, name, unit, range, meaning and how each is read. A handle is documented
/// by its meaning.
macro_rules! measures {
    ($($(#[$doc:meta])* $handle:ident: $name:literal in $unit:literal, $range:expr, $meaning:literal,
       $reading:ident($read:expr);)*) => {
    $(
        #[doc = concat!($meaning, ".")]
        ///
        $(#[$doc])*
        pub static $handle: BuiltIn = BuiltIn {
            name: $name,
            meaning: $meaning,
            unit: $unit,
            range: $range,
            reading: Reading::$reading($read),
        };
    )*

    /// All of this file.
    pub(in crate::measure) static ALL: &[&BuiltIn] = &[$( &$handle, )*];
    };
}

mod built_in;
mod column;
mod construction;
mod copying;
mod custom;
mod divergence;
mod heads;
mod matching;
mod observation;
mod profile;
mod progress;

pub use built_in::{BuiltIn, Reading};
pub use column::{Column, Of, Scope};
pub use custom::CustomMeasure;
pub use observation::{HeadObserved, Kl, Observation};

use std::fmt::Debug;

/// Lists the files that declare measures.
macro_rules! subjects {
    ($( $module:ident, )*) => {
        $( pub use $module::*; )*

        /// Every built-in measure.
        ///
        /// ```
        /// use induct::measure::{INDUCTION, Measure, all, named};
        ///
        /// for measure in all() {
        ///     println!("{}: {} {}", measure.name(), measure.meaning(), measure.unit());
        /// }
        /// assert_eq!(named("induction").unwrap().meaning(), INDUCTION.meaning);
        /// assert!(named("inductoin").is_none());
        /// ```
        pub fn all() -> impl Iterator<Item = &'static BuiltIn> {
            [$( $module::ALL, )*].into_iter().flatten().copied()
        }
    };
}

subjects! {
    progress,
    divergence,
    heads,
    profile,
    matching,
    copying,
    construction,
}

/// Measures that every run records, before all others: phases and progress are read from them.
pub static ALWAYS: &[&dyn Measure] = &[&STEP, &SEQUENCES, &KL_TRUTH];

/// Names of the measures that a recipe records by default, in addition to [`ALWAYS`].
pub const DEFAULT: [&str; 11] = [
    "train_loss",
    "kl_truth_se",
    "kl_truth_all",
    "kl_strategy",
    "kl_strategy_all",
    "test.kl_truth",
    "previous_token",
    "induction",
    "odd_even",
    "matching_gap",
    "diagonal_dominance",
];

/// The measure of this crate with that name.
pub fn named(name: &str) -> Option<&'static dyn Measure> {
    let found = all().find(|measure| measure.name == name)?;
    Some(found)
}

/// What a number in a run's records means, and how it is read. `examples/custom_measure.rs` records two from
/// another crate.
pub trait Measure: Debug + Send + Sync {
    /// Its name in recipes and columns. In the columns of strategies and tests, `strategy` and a leading
    /// `test.` are replaced by the name of one.
    fn name(&self) -> &str;

    /// What it is, in one sentence.
    fn meaning(&self) -> &str;

    /// Its unit; empty for a bare number.
    fn unit(&self) -> &str {
        ""
    }

    /// The smallest and the largest value that it should have. Values outside are recorded unchanged.
    fn range(&self) -> [f64; 2] {
        ANY
    }

    /// What it is measured on: it has one column for each.
    fn scope(&self) -> Scope {
        Scope::Run
    }

    /// For measures of attention patterns: the score to average over their rows.
    /// [`Observation::head_score`] returns the result.
    fn head_score(&self) -> Option<&dyn HeadScore> {
        None
    }

    /// Whether it reads [`Observation::kl_by_position`] or [`Observation::loss_by_position`], which are empty
    /// unless a measure needs them.
    fn needs_positions(&self) -> bool {
        false
    }

    /// Whether it reads [`Observation::gradient`], which is empty unless a measure needs it.
    fn needs_gradient(&self) -> bool {
        false
    }

    /// Its values, one per column. They start as NaN, which stands for no value: an empty cell.
    ///
    /// It is called at every recorded step while training continues, on a thread of the current pool. What it
    /// computes must depend only on the observation and its settings: runs are reproducible to the byte.
    fn read(&self, seen: &Observation, columns: &[Column], values: &mut [f64]);
}

const NON_NEGATIVE: [f64; 2] = [0.0, f64::INFINITY];
const ANY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
const SHARE: [f64; 2] = [0.0, 1.0];
/// Rounding in single precision may leave a divergence slightly below zero.
const DIVERGENCE: [f64; 2] = [-1e-3, f64::INFINITY];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for measure in all() {
            let name = measure.name;
            let same = all().filter(|other| other.name == name);
            assert_eq!(same.count(), 1, "{name}");
            assert!(measure.range()[0] < measure.range()[1], "{name}");
            let found = named(name).expect("it is in the registry");
            assert_eq!(found.meaning(), measure.meaning());
            let is_of_heads = measure.scope() == Scope::Head;
            assert!(measure.head_score().is_none() || is_of_heads, "{name}");
        }
        assert!(named("kl_truht").is_none());
    }
}
