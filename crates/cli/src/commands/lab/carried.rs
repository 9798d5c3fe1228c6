//! A run as a page carries it: checked, and with as many snapshots as there is room for.

use induct::train::{InterveneSpec, Recipe, WeightsSpec};
use induct_lab_page::Run;
use induct_store::{RunFiles, RunFolder};
use serde_json::{Value, json};

use crate::commands::note;
use crate::failure::Failure;
use crate::recorded::Recorded;

/// The most snapshots of a run, unless the user says otherwise: a scrubber has hardly room for more.
const MOST: usize = 200;

/// The most bytes that they take, unless the user says otherwise: such a page can still be sent to somebody.
const MOST_BYTES: usize = 8_000_000;

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
        let mut files = run.folder.files()?;
        let steps = checked(&name, &files)?;
        let most = match most {
            Some(most) => usize::try_from(most).unwrap_or(usize::MAX),
            None => room(steps.len(), bytes(&files)),
        };
        let kept: Vec<u64> = spread(steps.len(), most).map(|at| steps[at]).collect();
        files.keep_snapshots(&kept);
        if let Some(why) = only_records(run.folder.recipe()) {
            note(&format!(
                "{name}: the page shows its records, but cannot compute anew with it: {why}"
            ));
        }
        let files = files
            .iter()
            .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        Ok(Self {
            snapshots: kept.len(),
            left_out: steps.len() - kept.len(),
            run: Run {
                name,
                files: files.collect(),
            },
        })
    }

    /// What `--json` says of it.
    pub fn in_json(&self) -> Value {
        json!({
            "run": self.run.name,
            "snapshots": self.snapshots,
            "left_out": self.left_out,
        })
    }
}

/// The steps of the snapshots among the files of a run, all of which are read. These are the very bytes that go into
/// the page: on disk, a run in training has changed since.
fn checked(name: &str, files: &RunFiles) -> Result<Vec<u64>, Failure> {
    let folder = RunFolder::of_files(name, files.clone())?;
    let steps = folder.snapshot_steps()?;
    // Of a run that has ended, none may be missing.
    if folder.recording()?.is_none() {
        folder.history()?;
        for &step in &steps {
            folder.snapshot(Some(step))?;
        }
    }
    // A page has nothing to show of a run without any.
    folder.snapshot(None)?;
    Ok(steps)
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

/// How many bytes snapshots take.
fn bytes(files: &RunFiles) -> usize {
    let snapshots = files
        .iter()
        .filter(|(name, _)| name.starts_with("snapshots/"));
    snapshots.map(|(_, bytes)| bytes.len()).sum()
}

/// How many of `count` snapshots, which take `bytes` together, a page has room for: the first and the last always.
fn room(count: usize, bytes: usize) -> usize {
    let each = bytes.div_ceil(count.max(1)).max(1);
    (MOST_BYTES / each).clamp(2, MOST)
}

/// At most `most` of the numbers below `count`, evenly spread: the last always, the first from two on.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let last = count.saturating_sub(1);
    let kept = most.min(count);
    (0..kept).map(move |at| match kept {
        1 => last,
        _ => (at * last + (kept - 1) / 2) / (kept - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_spread_from_the_first_to_the_last() {
        let spread = |count, most| spread(count, most).collect::<Vec<_>>();
        assert_eq!(spread(5, 9), [0, 1, 2, 3, 4]);
        assert_eq!(spread(5, 3), [0, 2, 4]);
        assert_eq!(spread(6, 4), [0, 2, 3, 5]);
        assert_eq!(spread(5, 2), [0, 4]);
        assert_eq!(spread(5, 1), [4]);
        assert_eq!(spread(1, 7), [0]);
        assert!(spread(0, 7).is_empty());
        for count in 2..60 {
            for most in 2..=count {
                let kept = spread(count, most);
                assert!(kept.is_sorted_by(|a, b| a < b), "{count}, {most}: {kept:?}");
                assert_eq!((kept[0], kept[kept.len() - 1]), (0, count - 1));
                assert_eq!(kept.len(), most);
            }
        }
    }

    #[test]
    fn there_is_room_for_a_few_megabytes() {
        assert_eq!(room(100, 100_000), MOST);
        assert_eq!(room(400, 4_000_000), MOST);
        assert_eq!(room(200, 16_000_000), 100);
        assert_eq!(room(3, 90_000_000), 2);
        assert_eq!(room(0, 0), MOST);
    }
}
