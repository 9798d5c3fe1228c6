//! Run folders on disk: the one format, read and written in one place.
//!
//! ```text
//! recipe.toml                          complete: enough to repeat the run
//! metrics.csv                          one row per recorded step
//! snapshots/step-000100.safetensors    the parameters after 100 steps
//! checkpoint.safetensors               where training goes on
//! summary.json                         when the run has ended
//! .lock                                held by whoever trains
//! ```
//!
//! [`RunFolder`] reads a run; [`RunWriter`] writes one, as the [`Sink`](induct::run::Sink) of the training loop. [`OwnFolder`] is a
//! folder of anything else that the program makes (a report, a sweep), claimed in the same way.
//!
//! **Nothing half-written.** A file appears under its name only when it is whole; `metrics.csv` grows by whole rows, and a torn last one is
//! known by its checksum. **Nothing lost.** A checkpoint is written only after all that it promises has reached the disk, so a power cut
//! loses at most what is younger than the last checkpoint. **Nothing stale, nothing damaged.** Every file carries a checksum
//! and says which run it belongs to; both are verified whenever it is read. **Nobody else.** Whoever writes holds the lock
//! of the folder from before its first file on.

mod disk;
mod error;
mod layout;
mod lock;
mod metrics;
mod opening;
mod own_folder;
mod run_folder;
mod seal;
mod tensors;
mod writer;

pub use error::StoreError;
pub use own_folder::{Mark, OwnFolder};
pub use run_folder::RunFolder;
pub use writer::{Begun, How, RunWriter, Start};

#[cfg(test)]
mod tests;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
