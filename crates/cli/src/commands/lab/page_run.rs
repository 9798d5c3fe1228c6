//! A run as a page carries it: checked, and with as many snapshots as there is room for.

use induct::recipe::{InterveneSpec, Recipe, WeightsSpec};
use induct_lab_page::{Run, room};
use serde::Serialize;

use crate::commands::note;
use crate::failure::Failure;
use crate::recorded::RecordedRun;

/// What is reported of a run in a page.
#[derive(Serialize)]
pub struct RunEntry {
    pub run: String,
    pub snapshots: usize,
    /// The number of snapshots that stay behind.
    pub left_out: usize,
}

/// Reads and checks a run, with at most `most` snapshots if a number is given.
pub fn read(run: &RecordedRun, most: Option<u64>) -> Result<(RunEntry, Run), Failure> {
    let name = run.path();
    let excerpt = run.folder.excerpt(|count, bytes| match most {
        Some(most) => usize::try_from(most).unwrap_or(usize::MAX),
        None => room(count, bytes),
    })?;
    if let Some(why) = only_records(run.folder.recipe()) {
        note(&format!(
            "{name}: the page shows its records, but cannot compute anew with it: {why}"
        ));
    }
    let entry = RunEntry {
        run: name.clone(),
        snapshots: excerpt.snapshots,
        left_out: excerpt.left_out,
    };
    let files = excerpt.files.into_iter().collect();
    Ok((entry, Run { name, files }))
}

/// Why a browser cannot compute with a run: it needs what only another program or another folder has.
fn only_records(recipe: &Recipe) -> Option<String> {
    if let Err(missing) = recipe.check_parts() {
        return Some(missing.to_string());
    }
    // Weights that were changed in training are in the snapshots.
    let foreign = |spec: &InterveneSpec| {
        !spec.is_about_weights() && matches!(spec.weights(), Some((_, WeightsSpec::Snapshot(_))))
    };
    let index = recipe.intervene.iter().position(foreign)?;
    Some(format!("intervene[{index}] takes weights of another run"))
}
