//! Studies as data: what is trained, what is claimed, what is drawn and what the page says, over one runner,
//! one set of statistics and one report.
//!
//! The first study is the paper behind Induct. This crate produces pages and
//! pictures, but writes no files and knows nothing of terminals.

pub mod paper;
mod plateau;

mod claim;
mod curves;
mod experiment;
mod figure;
mod gumbel;
mod html;
mod protocol;
mod report;
mod reproduction;
mod results;
mod run;
mod statistics;
mod study;

pub use claim::{Claim, Decision, Verdict};
pub use experiment::{Changes, Experiment, InvalidExperiment, Scale, setting};
pub use figure::{Illustration, StudyFigure};
pub use protocol::protocol;
pub use report::{Making, report};
pub use reproduction::{LOOKS, Refusal, Reproduction};
pub use results::Results;
pub use run::Run;
pub use statistics::{ERROR, Measurement, Sample};
pub use study::{STUDIES, Study};
