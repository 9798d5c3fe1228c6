//! A run as a page carries it: checked, and with as many snapshots as there is room for.

use induct::recipe::{InterveneSpec, Recipe, WeightsSpec};
use induct_lab_page::{Run, room};
use serde::Serialize;

use crate::commands::note;
use crate::failure::Failure;
use crate::recorded::Recorded;

/// A run in a page.
pub struct Carried {
    /// Its files.
    pub run: Run,
    /// The number of its snapshots.
    pub snapshots: usize,
    /// The number of those that stay behind.
    pub left_out: usize,
}

impl Carried {
    /// Reads and checks a run, with at most `most` snapshots if a number is given.
    pub fn new(run: &Recorded, most: Option<u64>) -> Result<Self, Failure> {
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
        Ok(Self {
            snapshots: excerpt.snapshots,
            left_out: excerpt.left_out,
            run: Run {
                name,
                files: excerpt.files.into_iter().collect(),
            },
        })
    }

    /// What is reported of it.
    pub fn entry(&self) -> RunEntry {
        RunEntry {
            run: self.run.name.clone(),
            snapshots: self.snapshots,
            left_out: self.left_out,
        }
    }
}

/// What is reported of a run in a page.
#[derive(Serialize)]
pub struct RunEntry {
    run: String,
    snapshots: usize,
    left_out: usize,
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
