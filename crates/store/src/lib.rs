//! Run folders on disk: the one format, read and written in one place.
//!
//! ```text
//! recipe.toml                          complete: enough to repeat the run
//! metrics.csv                          one row per recorded step
//! snapshots/step-000100.safetensors    the parameters after 100 steps
//! checkpoint.safetensors               the state that training resumes from
//! summary.json                         the outcome, once the run has ended
//! .lock                                locked by the process that trains
//! ```
//!
//! [`train`] trains a recipe into a folder. [`Session`] does so with a watcher, and into any [`Storage`]: a folder, or the same files in memory. [`RunFolder`] reads a run from
//! there, one file at a time. [`files_of`] makes the same files of a run that was trained elsewhere. [`OutputFolder`] is
//! the folder of anything else that the program makes (a report, a sweep), claimed in the same way.
//!
//! **Nothing half-written.** A file appears under its name only when it is whole. `metrics.csv` grows by
//! whole rows, and a torn last row is recognised by its checksum.
//!
//! **Nothing lost.** A checkpoint is written only after everything it relies on has reached the disk, so a
//! power cut loses at most what came after the last checkpoint.
//!
//! **Nothing stale, nothing damaged.** Every file carries a checksum and says which run it belongs to; both
//! are verified on every read.
//!
//! **One writer.** A writer locks the folder before it writes the first file. Whoever reads changes nothing.
//!
//! **Nothing from elsewhere.** Links in a run's folder are refused, and so is anything that is not a regular file or is
//! larger than such a file can be.

mod disk;
mod error;
mod layout;
mod lock;
mod metrics;
mod opening;
mod output_folder;
mod regular;
mod run_files;
mod run_folder;
mod seal;
mod session;
mod sources;
mod storage;
mod tensors;
mod writer;

pub use error::StoreError;
pub use output_folder::{Mark, OutputFolder};
pub use regular::read_regular;
pub use run_files::{Excerpt, files_of};
pub use run_folder::RunFolder;
pub use session::{Outcome, Session, SessionError, train};
pub use sources::{SourceError, complete, snapshot_weights, start_from};
pub use storage::{RunFiles, Storage};
pub use writer::How;

#[cfg(test)]
mod tests;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
