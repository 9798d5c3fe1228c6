//! Kills and power cuts at every change to the disk.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::disk::journal::{Journal, Unsynced, after_power_cut};
use crate::disk::{Change, Disk};
use crate::run_folder::RunFolder;

/// Trains a new run to its end, or until its journal kills it.
fn journaled(journal: &Arc<Journal>, path: &Path, recipe: &Recipe) -> Result<(), StoreError> {
    let storage = Storage::with_disk(Disk::with_journal(Arc::clone(journal)), path);
    train_in(&storage, recipe, How::New, None)
}

/// Half the steps of other tests, since these train once per change: it still has several checkpoints and snapshots.
const SHORT: [&str; 2] = ["train.steps=6", "record.every=2"];

/// All changes of an uninterrupted run, and the files it leaves.
fn whole(recipe: &Recipe, path: &Path) -> (Vec<Change>, BTreeMap<String, Vec<u8>>) {
    let journal = Arc::new(Journal::default());
    journaled(&journal, path, recipe).unwrap();
    (journal.changes(), files(path))
}

/// Killed at any change, a run resumes to the bytes of one that was not killed.
#[test]
fn a_kill_at_any_change_leaves_a_run_that_resumes() {
    for recipe in [recipe(&SHORT), recipe(&STOP)] {
        kill_at_any_change(&recipe);
    }
}

fn kill_at_any_change(recipe: &Recipe) {
    let folder = TempDir::new().unwrap();
    let (changes, expected) = whole(recipe, &folder.path().join("whole"));
    assert!(changes.len() > 40, "{}", changes.len());
    for at in 0..changes.len() {
        let path = folder.path().join(format!("killed-{at}/run"));
        let journal = Arc::new(Journal::breaking_at(at));
        let killed = journaled(&journal, &path, recipe);
        assert!(killed.is_err(), "change {at} was not reached");
        // Reading it in this state gives an answer or an error, never a panic.
        if let Ok(run) = RunFolder::open(&path) {
            let _ = (run.history(), run.summary(), run.snapshot(None));
        }
        complete(&path, recipe, How::Resume)
            .unwrap_or_else(|error| panic!("after change {at}, {:?}: {error}", changes[at]));
        assert_eq!(files(&path), expected, "after change {at}");
    }
}

/// A first attempt that was killed before it wrote the recipe is not a run, so a new one may start there.
#[test]
fn after_a_kill_before_the_recipe_a_new_run_may_start() {
    let folder = TempDir::new().unwrap();
    let recipe = recipe(&[]);
    for at in 0..4 {
        let path = folder.path().join(format!("{at}"));
        let journal = Arc::new(Journal::breaking_at(at));
        journaled(&journal, &path, &recipe).unwrap_err();
        if !path.join("recipe.toml").exists() {
            complete(&path, &recipe, How::New).unwrap();
        }
    }
}

/// A power cut at any change loses at most what came after the last checkpoint, whatever unsynced changes the
/// disk kept. Unless it kept some of them only, the cut must not look like damage, which [`How::Resume`] refuses.
#[test]
fn a_power_cut_at_any_change_loses_no_checkpoint_and_is_no_damage() {
    let folder = TempDir::new().unwrap();
    let recipe = recipe(&SHORT);
    let root = folder.path().join("whole");
    std::fs::create_dir(&root).unwrap();
    let (changes, expected) = whole(&recipe, &root.join("run"));
    let is_checkpoint =
        |change: &Change| matches!(change, Change::SyncFolder(path) if path.ends_with("run"));
    let mut checked = 0;
    for cut in 0..=changes.len() {
        let luck = (cut as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for unsynced in [Unsynced::Lost, Unsynced::NamesOnly, Unsynced::Some(luck)] {
            let disk = folder.path().join(format!("cut-{cut}-{unsynced:?}"));
            after_power_cut(&changes[..cut], &root, &disk, unsynced);
            let path = disk.join("run");
            // The last checkpoint whose name was synced is there and intact.
            let synced = changes[..cut].iter().rposition(is_checkpoint);
            let promised = changes[..synced.unwrap_or(0)]
                .iter()
                .filter(|c| matches!(c, Change::Rename(_, to) if to.ends_with("checkpoint.safetensors")))
                .count() as u64;
            if promised > 0 {
                let state = RunFolder::open(&path).and_then(|run| run.checkpoint());
                let step = state.unwrap().unwrap().state.step;
                assert!(step + 1 >= promised, "cut {cut}, {unsynced:?}: step {step}");
                checked += 1;
            }
            let how = match unsynced {
                Unsynced::Some(_) => How::Replace,
                Unsynced::Lost | Unsynced::NamesOnly => How::Resume,
            };
            complete(&path, &recipe, how)
                .unwrap_or_else(|error| panic!("cut {cut}, {unsynced:?}: {error}"));
            assert_eq!(files(&path), expected, "cut {cut}, {unsynced:?}");
            std::fs::remove_dir_all(&disk).unwrap();
        }
    }
    assert!(checked > 100, "{checked}");
}
