//! Training: recipes, losses, optimisers, schedules and the loop. No files and no terminal.

mod loss;
mod many;
mod optimizer;
mod recipe;
mod recipe_text;
mod schedule;
mod trainer;

pub use loss::Loss;
pub use many::many;
pub use optimizer::{FreezeSpec, GroupSpec, Optimizer, OptimizerSpec};
pub use recipe::{Recipe, Seeds, StageSpec, TaskSpec, TrainSpec};
pub use recipe_text::RecipeError;
pub use schedule::{RecordSpec, Schedule, Spacing};
pub use trainer::{Diverged, TrainState, Trainer, batch_address, prior_at};
