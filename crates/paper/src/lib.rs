//! The paper as data: the recipe of every figure, the check of every claim and formula, and the pages that
//! show them.
//!
//! This crate produces pages and pictures, but writes no files and knows nothing of terminals.

pub mod chapter;
pub mod ledger;

mod claims;
mod experiment;
mod figures;
mod html;
mod report;
mod results;
mod run;
mod selection;
mod statistics;
mod strategy_colours;

pub use claims::{Claim, Decided, Limit, Part, Verdict};
pub use experiment::{Changes, Experiment, Scale, Unsound};
pub use figures::{Drawn, PaperFigure, Slider};
pub use report::{Making, report};
pub use results::{Results, Trained};
pub use run::Run;
pub use selection::Selection;
pub use statistics::Measured;
pub use strategy_colours::strategy_colours;
