//! Sweeps: a plan, work that can be done anywhere and twice, compact results.
//!
//! A [`Study`] says what is to be done. A [`Plan`] lists its runs, each with a [`Key`]. [`Work`] does a shard of them, in
//! any number of processes on any number of machines that see the same folder, a [`Sweep`]. Results are rows, in one
//! journal per worker. [`Sweep::gather`] makes one table of them.

mod check;
mod cost;
mod error;
mod folder;
mod gather;
mod growth;
mod journal;
mod plan;
mod row;
mod shard;
pub mod slurm;
mod state;
mod study;
mod table;
mod work;

pub use cost::disk;
pub use error::SweepError;
pub use folder::Sweep;
pub use gather::{RESULTS, SweepResults};
pub use journal::Author;
pub use plan::{Grid, Key, Plan, PlannedRun, Retention};
pub use row::{RunStatus, name as run_name};
pub use shard::Shard;
pub use state::{State, Worker};
pub use study::{Axis, Keep, Results, Seeds, Study};
pub use table::{Column, Table};
pub use work::{Report, Work, WorkSummary};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
