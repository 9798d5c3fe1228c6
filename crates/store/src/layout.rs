//! The names of a run's files, and how large they may be.

use induct::model::Model;
use induct::recipe::Recipe;

pub const RECIPE: &str = "recipe.toml";
pub const METRICS: &str = "metrics.csv";
pub const SNAPSHOTS: &str = "snapshots";
pub const CHECKPOINT: &str = "checkpoint.safetensors";
pub const SUMMARY: &str = "summary.json";

/// The most bytes of a recipe.
pub const MOST_RECIPE: u64 = 1 << 20;
/// The most bytes of a summary.
pub const MOST_SUMMARY: u64 = 1 << 24;

/// The most bytes of records, whatever a recipe claims.
const MOST_METRICS: u64 = 1 << 30;

/// The most bytes of the records of a run with so many columns: 344 digits tell any two numbers apart.
pub fn most_metrics(recipe: &Recipe, columns: usize) -> u64 {
    let records = recipe.train.steps / recipe.record.every.max(1) + 3;
    let row = 344 * (columns as u64 + 1);
    let bytes = records.saturating_mul(row).saturating_add(MOST_RECIPE);
    bytes.min(MOST_METRICS)
}

/// The most bytes of tensors: their names and shapes, and each parameter as often as any optimiser needs it.
pub fn most_tensors(model: &Model) -> u64 {
    (1 << 24) + 256 * model.layout().len() as u64
}

/// The name of the snapshot at `step` within a run's folder.
pub fn snapshot_name(step: u64) -> String {
    format!("{SNAPSHOTS}/step-{step:06}.safetensors")
}

/// The step of the snapshot with this file name; `None` if it is not a snapshot's.
pub fn snapshot_step(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("step-")?.strip_suffix(".safetensors")?;
    let step = digits.parse().ok()?;
    // One name per step: `step-7` and `step-+00007` are not ours.
    (format!("{step:06}") == digits).then_some(step)
}
