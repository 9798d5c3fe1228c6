//! What is measured on a model: divergences from the truth and from strategies, attention, positional
//! profile, phases of a run.
//!
//! Divergences are in nats, at the last position (as the paper measures) and averaged over all positions.

mod estimate;
mod heads;
mod history;
mod instruments;
mod phases;
mod test_set;
mod worth;

pub use estimate::{Estimate, Moments, median};
pub use heads::head_scores;
pub use history::{BadRow, History};
pub use instruments::{
    EXAM_SET, IN_DISTRIBUTION, Instruments, TestLevels, columns, columns_named, fresh,
    in_distribution, test_sequence,
};
pub(crate) use phases::SHORTEST_PHASE;
pub use phases::{Course, LossDrop, Phase, drops, phases};
pub use test_set::{Divergence, Draw, Positions, ProbeError, Reference, TestSet};
pub use worth::Whole;
