//! The paper's formulas, each held against the truth, with a verdict that follows from the numbers.
//!
//! An [`Entry`] says where a formula or claim stands, what it says, and what came out. Nobody writes a verdict: an entry
//! gives the printed form as code, the truth by two routes that share no code, where there is one a corrected form or a
//! condition, and the rules of `judge` decide by the deviations on a grid. They stay in the [`Evidence`], for tables and figures.

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
pub(crate) use v2_threshold::v2_threshold;

use rayon::prelude::*;
use serde::Serialize;

/// Where in the paper something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Section, in words.
    pub section: &'static str,
    /// The equation's label or the place of the sentence, in words.
    pub at: &'static str,
}

/// What a misprint should read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Correction {
    /// The corrected form.
    pub formula: Formula,
    /// Which symbol changes into which.
    pub change: &'static str,
}

/// One formula or claim of the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// A name that never changes, such as `second-step.v1-sum`.
    pub id: &'static str,
    /// Where it stands.
    pub place: Place,
    /// What it says, in our words.
    pub statement: &'static str,
    /// As it is printed.
    pub printed: Formula,
    /// As it should be, where that was tried.
    pub correction: Option<Correction>,
    /// What came out.
    pub verdict: Verdict,
    /// From what it follows.
    pub evidence: Evidence,
}

impl Entry {
    /// The group that it belongs to: what its name starts with.
    pub fn group(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }
}

/// How many entries have each verdict, from best to worst; those that nothing has are left out.
pub fn counts<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> Vec<(&'static str, usize)> {
    let count = |name: &str| entries.clone().filter(|e| e.verdict.name() == name).count();
    let all = Verdict::NAMES.map(|name| (name, count(name)));
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// All entries, in the order of the paper. Takes a second or two.
pub fn ledger() -> Vec<Entry> {
    let rooms = [
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
    let each: Vec<Vec<Entry>> = rooms
        .par_iter()
        .map(|entries| entries(&couplings))
        .collect();
    each.concat()
}
