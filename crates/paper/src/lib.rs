//! The paper as data: the recipe of every figure, the check of every claim, and the pages that show them.
//!
//! This room makes pages and pictures but writes no file and knows no terminal.

pub mod chapter;

mod claims;
mod experiment;
mod figures;
mod results;
mod run;
mod statistics;

pub use claims::{Claim, Decided, Limit, Part, Verdict, claims};
pub use experiment::{Experiment, Scale, experiments};
pub use figures::{Drawn, FIGURES, PaperFigure, Slider};
pub use results::{Results, Trained};
pub use run::{LAGS, Level, Run, watch};
pub use statistics::Measured;
