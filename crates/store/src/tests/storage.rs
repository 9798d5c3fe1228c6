//! Files in memory are those on disk; a folder is replaced as a whole; nothing leads out of it.

use std::fs;

use super::*;
use crate::run_files::files_of;
use crate::run_folder::RunFolder;
use crate::storage::RunFiles;

/// A run that was trained in memory.
fn in_memory(recipe: &Recipe) -> RunFolder {
    let storage = Storage::in_memory("here", RunFiles::new());
    train_in(&storage, recipe, How::New, Some(7)).unwrap();
    train_in(&storage, recipe, How::Resume, None).unwrap();
    RunFolder::open_in(storage).unwrap()
}

/// Trained there, trained in memory, saved from there, or written from what a run recorded.
#[test]
fn all_ways_to_the_files_of_a_run_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (there, saved) = (folder.path().join("there"), folder.path().join("saved"));
    let recipe = recipe(&[]);
    stopped(&there, &recipe, 7);
    complete(&there, &recipe, How::Resume).unwrap();
    let (run, memory) = (RunFolder::open(&there).unwrap(), in_memory(&recipe));
    let files = run.files().unwrap();
    assert_eq!(files.len(), 7);
    assert_eq!(files, memory.files().unwrap());
    let recording = memory.recording().unwrap().unwrap();
    assert_eq!(run.recording().unwrap().as_ref(), Some(&recording));
    let made = files_of(
        &recipe,
        &recording.history,
        &recording.snapshots,
        memory.checkpoint().unwrap().as_ref(),
        Some(&recording.summary),
    );
    assert_eq!(files, made.unwrap());
    memory.save(&saved).unwrap();
    assert_eq!(super::files(&saved), super::files(&there));
    assert_eq!(files, RunFolder::open(&saved).unwrap().files().unwrap());
    let refused = memory.save(&saved).unwrap_err();
    assert!(matches!(refused, StoreError::HoldsARun { .. }), "{refused}");
}

#[test]
fn an_excerpt_leaves_snapshots_out_and_the_rest_is_still_read() {
    let whole = in_memory(&recipe(&[]));
    assert_eq!(whole.snapshot_steps().unwrap(), [0, 8, 12]);
    let excerpt = whole.excerpt(|count, bytes| {
        assert!(count == 3 && bytes > 0, "{bytes}");
        2
    });
    let excerpt = excerpt.unwrap();
    assert_eq!((excerpt.snapshots, excerpt.left_out), (2, 1));
    assert_eq!(excerpt.files.len(), 5);
    let some = RunFolder::of_files("some", excerpt.files).unwrap();
    assert_eq!(some.snapshot_steps().unwrap(), [0, 12]);
    assert_eq!(some.history().unwrap(), whole.history().unwrap());
    assert_eq!(some.snapshot(None).unwrap(), whole.snapshot(None).unwrap());
}

/// A run that was stopped, as that of the recipe in which an intervention begins there.
#[test]
fn a_stopped_run_becomes_that_of_a_recipe_with_more_interventions() {
    let folder = tempfile::tempdir().unwrap();
    let (path, straight) = (folder.path().join("run"), folder.path().join("straight"));
    let other = recipe(&["intervene=[{kind=\"freeze\", group=\"embed\", from=7}]"]);
    complete(&straight, &other, How::New).unwrap();
    let memory = Storage::in_memory("here", RunFiles::new());
    for storage in [Storage::on_disk(&path), memory.clone()] {
        train_in(&storage, &recipe(&[]), How::New, Some(7)).unwrap();
        let run = RunFolder::open_in(storage.clone()).unwrap();
        run.rededicate(&other).unwrap();
        let run = RunFolder::open_in(storage.clone()).unwrap();
        assert_eq!(run.recipe(), &other);
        train_in(&storage, &other, How::Resume, None).unwrap();
    }
    assert_eq!(files(&path), files(&straight));
    let mut in_memory = RunFolder::open_in(memory).unwrap().files().unwrap();
    in_memory.remove("summary.json");
    assert_eq!(in_memory, files(&straight));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// The run was moved aside, and its successor is complete but not in place.
#[test]
fn a_power_cut_while_a_folder_is_replaced_loses_nothing_and_readers_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, straight) = (folder.path().join("run"), folder.path().join("straight"));
    stopped(&path, &recipe(&[]), 7);
    let before = folder.path().join(".run.before");
    fs::rename(&path, &before).unwrap();
    fs::create_dir(folder.path().join(".run.next")).unwrap();
    let run = RunFolder::open(&path).unwrap();
    assert_eq!(run.history().unwrap().steps(), [0, 4]);
    assert!(RunFolder::finished(&path, &recipe(&[])).is_none());
    assert!(before.exists() && !path.exists());
    complete(&path, &recipe(&[]), How::Resume).unwrap();
    complete(&straight, &recipe(&[]), How::New).unwrap();
    assert_eq!(files(&path), files(&straight));
}

#[cfg(unix)]
#[test]
fn links_inside_a_folder_are_neither_read_nor_written_through() {
    for name in [
        ".lock",
        "snapshots",
        "metrics.csv",
        "checkpoint.safetensors",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("run"), folder.path().join("elsewhere"));
        stopped(&path, &recipe(&[]), 7);
        fs::rename(path.join(name), &elsewhere).unwrap();
        let seen = || match elsewhere.is_dir() {
            true => super::files(&elsewhere),
            false => BTreeMap::from([(String::new(), fs::read(&elsewhere).unwrap())]),
        };
        let before = seen();
        std::os::unix::fs::symlink(&elsewhere, path.join(name)).unwrap();
        for how in [How::Resume, How::Extend, How::Replace] {
            let refused = complete(&path, &recipe(&["train.steps=20"]), how).unwrap_err();
            let refused = refused.to_string();
            assert!(
                refused.contains(name) || refused.contains("other recipe"),
                "{refused}"
            );
            let refused = complete(&path, &recipe(&[]), how).unwrap_err().to_string();
            assert!(
                refused.contains(name) && refused.contains("is a link"),
                "{refused}"
            );
        }
        if name == "snapshots" {
            let refused = RunFolder::open(&path).unwrap().snapshot(None).unwrap_err();
            assert!(matches!(refused, StoreError::Link { .. }), "{refused}");
        }
        assert_eq!(seen(), before);
        // What an interrupted write would have left.
        let part = path.join(".recipe.toml.part");
        std::os::unix::fs::symlink(&elsewhere, &part).unwrap();
        Storage::on_disk(&path).write("recipe.toml", b"x").unwrap();
        assert_eq!(seen(), before);
        // The folder itself may be a link.
        let (linked, run) = (folder.path().join("linked"), folder.path().join("other"));
        fs::create_dir(&run).unwrap();
        std::os::unix::fs::symlink(&run, &linked).unwrap();
        complete(&linked, &recipe(&[]), How::New).unwrap();
    }
}
