//! The training loop. There is only one: it drives a [`Sink`], and every front end brings its own sink.
//!
//! A [`Run`] trains a recipe and measures the model at every recorded step. It tells its sink of records,
//! snapshots and checkpoints, and the sink may ask it to stop. Files and terminals belong to sinks, not here.

mod differences;
mod drive;
mod event;
mod identity;
mod recording;
mod sink;
mod summary;

pub use differences::{Differences, DropDifferences, Pair, Parting, RunView};
pub use drive::{Ending, Run, Unfit, check_records};
pub use event::{EventDetector, Onsets, in_force, kept_steps, last_step, model_at};
pub use identity::{Identity, NUMERICS, arithmetic, level_with};
pub use recording::{Recorder, Recording, RunError, train};
pub use sink::{Checkpoint, Progress, Record, Sink, SinkPair, WatchError};
pub use summary::{Ended, Level, StrategySummary, Summary, TestSummary};
