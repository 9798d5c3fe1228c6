//! Training: one step, and many runs at once. No files and no terminal.

mod agenda;
pub(crate) mod feed;
mod many;
mod objective;
pub(crate) mod trainer;
mod weights;

pub use crate::optimizer::*;
pub use feed::{Sample, samples};
pub use induct_kernels::loss::Loss;
pub use many::many;
pub use trainer::{Diverged, StepLoss, StepOutcome, TrainError, TrainState, Trainer};
pub use weights::{Snapshots, no_snapshots};
