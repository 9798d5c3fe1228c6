//! The training loop. There is only one: it drives a [`Sink`], and every front end brings its own sink.
//!
//! A [`Run`] trains a recipe and measures the model at every recorded step. It tells its sink of records,
//! snapshots and checkpoints, and the sink may ask it to stop. Files and terminals belong to sinks, not here.

mod differences;
pub(crate) mod drive;
pub(crate) mod event;
pub(crate) mod identity;
mod recording;
mod sink;
mod summary;

pub use differences::{Differences, DropDifferences, Pair, Parting, RunView};
pub use drive::{Ending, Run, Unfit};
pub use event::{Onsets, in_force, model_at};
pub use identity::{Identity, NUMERICS};
pub use recording::{Recorder, Recording, RunError, train};
pub use sink::{Checkpoint, Progress, Record, Sink, SinkPair, WatchError};
pub use summary::{Ended, Level, StrategySummary, Summary, TestSummary};
