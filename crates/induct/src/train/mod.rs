//! Training: recipes, losses, optimisers, schedules and one training step. No files and no terminal.

mod difference;
mod event;
mod feed;
mod intervene;
mod many;
mod memory;
mod optimizer;
mod recipe;
mod recipe_mistake;
mod recipe_reader;
mod recipe_text;
mod record;
mod schedule;
mod trainer;

pub use difference::Difference;
pub use event::Event;
pub use feed::{batch_address, dropout_keys, prior_at};
pub use induct_kernels::loss::Loss;
pub use intervene::{
    Ablation, Construction, InterveneSpec, Part, PatchSpec, PatternSpec, Snapshots, WeightsSpec,
    When, no_snapshots,
};
pub use many::many;
pub use memory::MemoryEstimate;
pub(crate) use memory::THOROUGH_SEQUENCES;
pub use optimizer::{
    AdamW, GroupSpec, MAX_MOMENTS, Optimizer, OptimizerSpec, Sgd, Update, Updater,
};
pub use recipe::{FromSpec, Recipe, Seeds, StageSpec, TaskSpec, TrainSpec};
pub use recipe_text::RecipeError;
pub use record::{RecordSpec, Spacing, TestSpec};
pub use schedule::Schedule;
pub use trainer::{Diverged, StepLoss, StepPart, Stepped, TrainError, TrainState, Trainer};
