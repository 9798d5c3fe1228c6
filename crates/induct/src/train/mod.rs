//! Training: one step, and many runs at once. No files and no terminal.

mod agenda;
mod feed;
mod many;
mod objective;
mod trainer;
mod weights;

pub use crate::optimizer::*;
pub use feed::{Sample, batch_address, batch_dropout_keys, dropout_keys, samples};
pub use induct_kernels::loss::Loss;
pub use many::many;
pub use trainer::{Diverged, StepLoss, StepOutcome, StepPart, TrainError, TrainState, Trainer};
pub use weights::{Snapshots, no_snapshots};
