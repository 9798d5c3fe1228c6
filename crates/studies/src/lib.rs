//! Studies as data: what is trained, what is claimed, what is drawn and what the page says, over one runner,
//! one set of statistics and one report.
//!
//! The first study is the paper behind Induct, with the ledger of its formulas. This crate produces pages and
//! pictures, but writes no files and knows nothing of terminals.

pub mod paper;

mod experiment;
mod html;
mod report;
mod results;
mod run;
mod selection;
mod statistics;
mod strategy_colours;

pub use experiment::{Changes, Experiment, Scale, Unsound};
pub use paper::claims::{Claim, Decided, Limit, Part, Verdict};
pub use paper::figures::{Drawn, PaperFigure, Slider};
pub use report::{Making, report};
pub use results::{Results, Trained};
pub use run::Run;
pub use selection::Selection;
pub use statistics::Measured;
pub use strategy_colours::strategy_colours;
