//! The training loop. There is one: it drives a [`Sink`], and whoever wants something else of a run brings another sink.
//!
//! A [`Run`] trains a recipe, measures the model at every recorded step and tells its sink of records, snapshots and moments at
//! which all could be saved. The sink may ask it to stop. No files, no terminal: those belong to sinks.

mod drive;
mod identity;
mod recording;
mod sink;
mod summary;

pub use drive::{Ending, Run, Unfit, check_records};
pub use identity::{Identity, NUMERICS, arithmetic, level_with};
pub use recording::{Recorder, Recording, RunError, train};
pub use sink::{Checkpoint, Progress, Record, Sink};
pub use summary::{Ended, Level, StrategySummary, Summary, TestSummary};
