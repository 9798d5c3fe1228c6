//! The chapter's figures.

mod from_ledger;
mod over_length;
pub(crate) mod steps;

use induct::chain::{PriorSpec, TaskPrior};
use induct::theory::Coupling;
use induct_figure::{Figure, Panel};
use rayon::prelude::*;

use induct_ledger::Entry;

/// A figure with its place in the chapter.
pub struct ChapterFigure {
    /// The name of its files.
    pub name: &'static str,
    /// The part of the chapter in which it appears.
    pub after: &'static str,
    /// The caption, as HTML.
    pub caption: String,
    /// The figure itself.
    pub drawn: Figure,
}

impl ChapterFigure {
    fn new(
        name: &'static str,
        after: &'static str,
        caption: impl Into<String>,
        description: impl Into<String>,
        panels: Vec<Panel>,
    ) -> Self {
        let drawn = Figure {
            description: description.into(),
            panels,
            ..Figure::default()
        };
        Self {
            name,
            after,
            caption: caption.into(),
            drawn,
        }
    }
}

/// The entry called `id`.
///
/// # Panics
///
/// If there is none.
fn entry<'a>(entries: &'a [Entry], id: &str) -> &'a Entry {
    let found = entries.iter().find(|entry| entry.id == id);
    found.unwrap_or_else(|| panic!("{id} is not in the ledger"))
}

/// The paper's prior for two states: uniform over chains.
pub(crate) fn prior() -> TaskPrior {
    TaskPrior::new(&PriorSpec::default(), 2, 2).expect("two states, Markov chains")
}

/// The exact average over its chains.
pub(crate) fn coupling(prior: &TaskPrior, length: usize) -> Coupling {
    Coupling::of_prior(prior, length).expect("a uniform prior")
}

/// All of them, in the order of the paper.
pub fn all(entries: &[Entry]) -> Vec<ChapterFigure> {
    let prior = prior();
    let lengths = LENGTHS.par_iter();
    let lengths = lengths.map(|&t| (t as f64, coupling(&prior, t)));
    let lengths: Vec<(f64, Coupling)> = lengths.collect();
    let coupling = coupling(&prior, steps::LENGTH);
    vec![
        from_ledger::deviations(entries),
        steps::first_step(&prior, &coupling),
        over_length::ratio(entries, &lengths),
        steps::second_step(&prior, &coupling),
        over_length::threshold(entries, &lengths),
        from_ledger::odd_even(entries),
        from_ledger::decisions(entries),
    ]
}

/// The lengths t at which curves are computed.
const LENGTHS: [usize; 17] = [
    4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512,
];
