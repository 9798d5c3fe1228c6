//! What is measured on a model: divergences from the truth and from strategies, attention, positional
//! profile, phases of a run.
//!
//! Divergences are in nats, at the last position (as the paper measures) and averaged over all positions.

pub(crate) mod estimate;
mod fresh;
mod heads;
mod history;
pub(crate) mod instruments;
pub(crate) mod phases;
mod test_set;
mod worth;

pub use estimate::{Estimate, Moments};
pub use fresh::{Comparison, compare, fresh};
pub use heads::head_scores;
pub use history::{BadRow, History};
pub use instruments::{
    IN_DISTRIBUTION, Instruments, TestLevels, columns, in_distribution, test_sequence,
};
pub(crate) use phases::SHORTEST_PHASE;
pub use phases::{LossDrop, Phase};
pub use test_set::{Divergence, Draw, Positions, ProbeError, Reference, TestSet};
pub use worth::Whole;
