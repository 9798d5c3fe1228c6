//! The names of a run's files.

use std::path::{Path, PathBuf};

pub const RECIPE: &str = "recipe.toml";
pub const METRICS: &str = "metrics.csv";
pub const SNAPSHOTS: &str = "snapshots";
pub const CHECKPOINT: &str = "checkpoint.safetensors";
pub const SUMMARY: &str = "summary.json";

/// The path of the snapshot at `step`.
pub fn snapshot(run: &Path, step: u64) -> PathBuf {
    run.join(snapshot_name(step))
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
