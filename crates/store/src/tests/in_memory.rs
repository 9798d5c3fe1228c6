//! Files in memory are those on disk.

use super::*;
use crate::{RunFiles, RunFolder};

#[test]
fn files_in_memory_are_those_on_disk_and_can_be_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let recipe = recipe(&[]);
    complete(folder.path(), &recipe, How::New).unwrap();
    let on_disk = RunFolder::open(folder.path()).unwrap();
    let recording = on_disk.recording().unwrap().unwrap();
    let files = RunFiles::of(&recording).unwrap();
    assert_eq!(files, on_disk.files().unwrap());
    assert_eq!(files.iter().count(), 6);
    let mut there = super::files(folder.path());
    there.remove("checkpoint.safetensors");
    for (name, bytes) in &there {
        assert_eq!(files.get(name), Some(bytes.as_slice()), "{name}");
    }
    let in_memory = RunFolder::of_files("a page", files).unwrap();
    assert_eq!(in_memory.recording().unwrap(), Some(recording));
}

#[test]
fn damaged_or_missing_files_in_memory_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    complete(folder.path(), &recipe(&[]), How::New).unwrap();
    let files = RunFolder::open(folder.path()).unwrap().files().unwrap();
    let without = |left_out: &str| {
        let mut some = RunFiles::default();
        for (name, bytes) in files.iter().filter(|(name, _)| *name != left_out) {
            some.insert(name, bytes.to_vec());
        }
        some
    };
    let refused = |files: RunFiles| {
        let run = RunFolder::of_files("here", files).and_then(|run| run.recording());
        run.unwrap_err().to_string()
    };
    assert!(refused(without("recipe.toml")).contains("here"));
    let snapshot = "snapshots/step-000000.safetensors";
    for name in ["metrics.csv", snapshot] {
        assert!(refused(without(name)).contains(name), "{name}");
        let mut damaged = files.clone();
        let mut bytes = files.get(name).unwrap().to_vec();
        let last = bytes.len() - 3;
        bytes[last] ^= 1;
        damaged.insert(name, bytes);
        assert!(refused(damaged).contains(name), "{name}");
    }
}

#[test]
fn snapshots_can_be_left_out_and_the_others_are_still_read() {
    let folder = tempfile::tempdir().unwrap();
    complete(folder.path(), &recipe(&[]), How::New).unwrap();
    let whole = RunFolder::open(folder.path()).unwrap();
    assert_eq!(whole.snapshot_steps().unwrap(), [0, 8, 12]);
    let mut files = whole.files().unwrap();
    files.keep_snapshots(&[0, 12]);
    assert_eq!(files.iter().count(), 5);
    let some = RunFolder::of_files("some", files).unwrap();
    assert_eq!(some.snapshot_steps().unwrap(), [0, 12]);
    assert_eq!(some.history().unwrap(), whole.history().unwrap());
    assert_eq!(some.snapshot(None).unwrap(), whole.snapshot(None).unwrap());
}
