//! Interventions as a recipe writes them, and when each is in force.

mod agenda;
mod check;
mod spec;
mod weights;
mod when;

pub(super) use agenda::Agenda;
pub use spec::{Ablation, InterveneSpec, Part, PatchSpec, PatternSpec};
pub use weights::{Construction, Snapshots, WeightsSpec, no_snapshots};
pub use when::When;
