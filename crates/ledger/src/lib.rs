//! A ledger of the paper's formulas: each is checked against the truth and has a verdict that follows from
//! the numbers.
//!
//! An [`Entry`] gives the place of a formula or claim in the paper, what it says, and its verdict. Verdicts
//! are not written by hand. An entry consists of the printed form as code, the truth by two routes that share
//! no code, and possibly a corrected form or a condition; the rules of `judge` decide from the deviations on
//! a grid. The deviations are kept in the `Evidence`, for tables and figures.

mod construction;
mod corollary;
mod decisions;
mod dominance;
mod evidence;
mod first_terms;
mod first_v;
mod first_w;
mod formula;
mod judge;
mod loss;
mod output_map;
mod predictor;
mod printed;
mod proposition;
mod rates;
mod second_step;
mod strategies;
mod truth;
mod v2_threshold;

pub use evidence::{Evidence, Kind, Line, Point, Verdict};
pub use formula::Formula;
pub use v2_threshold::v2_threshold;

use rayon::prelude::*;
use serde::Serialize;

/// A place in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The section.
    pub section: &'static str,
    /// The label of the equation, or a description of the place.
    pub at: &'static str,
}

/// The correction of a misprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Correction {
    /// The corrected form.
    pub formula: Formula,
    /// What changes into what.
    pub change: &'static str,
}

/// One formula or claim of the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// A stable name, such as `second-step.v1-sum`.
    pub id: &'static str,
    /// Where it is in the paper.
    pub place: Place,
    /// What it says, in our words.
    pub statement: &'static str,
    /// The printed form.
    pub printed: Formula,
    /// A corrected form, if one was tried.
    pub correction: Option<Correction>,
    /// The verdict.
    pub verdict: Verdict,
    /// The numbers from which the verdict follows.
    pub evidence: Evidence,
}

impl Entry {
    /// Its group: the first part of its name.
    pub fn group(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// A number of its evidence by name; NaN if there is none, which a test rules out.
    pub fn number(&self, name: &str) -> f64 {
        let found = self.evidence.numbers.iter().find(|(own, _)| own == name);
        found.map_or(f64::NAN, |(_, value)| *value)
    }
}

/// The number of entries with each verdict, from best to worst, without verdicts that no entry has.
pub fn counts<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> Vec<(&'static str, usize)> {
    let count = |name: &str| entries.clone().filter(|e| e.verdict.name() == name).count();
    let all = Verdict::NAMES.map(|name| (name, count(name)));
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// All entries, in the order of the paper. Takes a second or two.
pub fn ledger() -> Vec<Entry> {
    let sections = [
        strategies::entries,
        construction::entries,
        output_map::entries,
        loss::entries,
        first_terms::entries,
        first_w::entries,
        first_v::entries,
        second_step::entries,
        dominance::entries,
        corollary::entries,
        proposition::entries,
        predictor::entries,
        rates::entries,
    ];
    let couplings = truth::Couplings::new();
    let each: Vec<Vec<Entry>> = sections
        .par_iter()
        .map(|entries| entries(&couplings))
        .collect();
    each.concat()
}
