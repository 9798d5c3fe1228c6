//! Runs that were trained elsewhere, and runs that become those of another recipe.

use super::*;
use crate::{RunFolder, Saved};

#[test]
fn a_run_from_memory_leaves_the_bytes_of_one_trained_there() {
    let folder = tempfile::tempdir().unwrap();
    let (there, saved) = (folder.path().join("there"), folder.path().join("saved"));
    let recipe = recipe(&[]);
    complete(&there, &recipe, How::New).unwrap();
    let run = RunFolder::open(&there).unwrap();
    let recording = run.recording().unwrap().unwrap();
    let checkpoint = run.checkpoint().unwrap();
    let snapshots = recording.snapshots.iter();
    let from_memory = Saved {
        recipe: &recipe,
        history: &recording.history,
        snapshots: snapshots
            .map(|(step, params)| (*step, params.as_slice()))
            .collect(),
        checkpoint: checkpoint.as_ref(),
        summary: Some(&recording.summary),
    };
    from_memory.write(&saved).unwrap();
    assert_eq!(files(&saved), files(&there));
    let summary = |path: &Path| std::fs::read(path.join("summary.json")).unwrap();
    assert_eq!(summary(&saved), summary(&there));
    let refused = from_memory.write(&saved).unwrap_err();
    assert!(matches!(refused, StoreError::HoldsARun { .. }), "{refused}");
}

/// The recipe in which an intervention begins at step 7.
fn intervened() -> Recipe {
    recipe(&["intervene=[{kind=\"freeze\", group=\"embed\", from=7}]"])
}

#[test]
fn a_stopped_run_becomes_that_of_a_recipe_with_more_interventions() {
    let folder = tempfile::tempdir().unwrap();
    let (path, straight) = (folder.path().join("run"), folder.path().join("straight"));
    train(Disk::default(), &path, &recipe(&[]), How::New, Some(7)).unwrap();
    let run = RunFolder::open(&path).unwrap();
    run.rededicate(&intervened()).unwrap();
    assert_eq!(RunFolder::open(&path).unwrap().recipe(), &intervened());
    complete(&path, &intervened(), How::Resume).unwrap();
    complete(&straight, &intervened(), How::New).unwrap();
    assert_eq!(files(&path), files(&straight));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_power_cut_while_a_folder_is_replaced_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, straight) = (folder.path().join("run"), folder.path().join("straight"));
    train(Disk::default(), &path, &recipe(&[]), How::New, Some(7)).unwrap();
    // The run was moved aside, and its successor is complete but not in place.
    std::fs::rename(&path, folder.path().join(".run.before")).unwrap();
    std::fs::create_dir(folder.path().join(".run.next")).unwrap();
    complete(&path, &recipe(&[]), How::Resume).unwrap();
    complete(&straight, &recipe(&[]), How::New).unwrap();
    assert_eq!(files(&path), files(&straight));
}
