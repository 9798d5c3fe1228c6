//! A damaged folder is read correctly, repaired or refused, and no damage goes unnoticed.

use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::run_folder::RunFolder;
use crate::storage::RunFiles;

/// A finished run in a folder; trained once for all cases of a test.
fn finished() -> (TempDir, std::path::PathBuf, Recipe) {
    static RUN: LazyLock<RunFolder> = LazyLock::new(|| {
        let storage = Storage::in_memory("run", RunFiles::new());
        train_in(&storage, &recipe(&[]), How::New, None).unwrap();
        RunFolder::open_in(storage).unwrap()
    });
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run");
    RUN.save(&path).unwrap();
    (folder, path, recipe(&[]))
}

/// Everything that can be read from a run.
type Everything = (Recipe, Vec<Vec<u64>>, Vec<(u64, Vec<f32>)>, String);

fn read_all(run: Result<RunFolder, StoreError>) -> Result<Option<Everything>, StoreError> {
    let run = run?;
    run.checkpoint()?;
    let Some(kept) = run.recording()? else {
        return Ok(None);
    };
    let bits = |row: &[f64]| row.iter().map(|v| v.to_bits()).collect();
    let rows = kept.history.rows().map(bits).collect();
    Ok(Some((
        kept.recipe,
        rows,
        kept.snapshots,
        format!("{:?}", kept.summary),
    )))
}

/// Every file has its checksum everywhere, which its own tests look at byte by byte.
#[test]
fn a_flipped_bit_or_a_missing_file_is_noticed() {
    let (_folder, path, _) = finished();
    let files = RunFolder::open(&path).unwrap().files().unwrap();
    let whole = read_all(RunFolder::of_files("run", files.clone())).unwrap();
    for (name, bytes) in &files {
        let mut others = files.clone();
        others.remove(name);
        match read_all(RunFolder::of_files("run", others)) {
            Err(StoreError::NotARun { .. }) => assert_eq!(name, "recipe.toml"),
            Err(error) => assert!(error.to_string().contains(name), "{error}"),
            // A run goes on without its checkpoint, and has not ended without its summary.
            Ok(read) => match name.as_str() {
                "checkpoint.safetensors" => assert_eq!(read, whole),
                _ => assert_eq!((name.as_str(), read), ("summary.json", None)),
            },
        }
        for at in (0..bytes.len()).step_by(13).chain([bytes.len() - 1]) {
            let mut damaged = files.clone();
            damaged.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            match read_all(RunFolder::of_files("run", damaged)) {
                Err(error) => assert!(error.to_string().contains(name), "{error}"),
                Ok(read) => panic!("{name}, byte {at}: taken as whole ({})", read == whole),
            }
        }
    }
}

#[test]
fn a_summary_without_content_does_not_end_a_run() {
    let (_folder, path, recipe) = finished();
    let expected = files(&path);
    for text in ["null", "", "{}", "{\"ended\": \"complete\"}"] {
        fs::write(path.join("summary.json"), text).unwrap();
        assert!(RunFolder::open(&path).unwrap().summary().is_err(), "{text}");
        assert!(RunFolder::finished(&path, &recipe).is_none());
        // The summary follows from the intact files, so resuming restores it.
        complete(&path, &recipe, How::Resume).unwrap();
        assert!(RunFolder::finished(&path, &recipe).is_some());
        assert_eq!(files(&path), expected);
    }
}

/// Nothing is flipped or torn: a whole row or a whole file is missing.
#[test]
fn what_is_missing_from_a_finished_run_is_noticed_and_restored() {
    let (_folder, path, recipe) = finished();
    let expected = files(&path);
    let metrics = String::from_utf8(expected["metrics.csv"].clone()).unwrap();
    let lines: Vec<&str> = metrics.split_inclusive('\n').collect();
    for gone in 1..lines.len() {
        let rest = [&lines[..gone], &lines[gone + 1..]].concat().concat();
        fs::write(path.join("metrics.csv"), rest).unwrap();
        let read = read_all(RunFolder::open(&path)).unwrap_err().to_string();
        assert!(read.contains("metrics.csv"), "row {gone}: {read}");
        complete(&path, &recipe, How::Replace).unwrap();
        assert_eq!(files(&path), expected);
    }
    for name in expected.keys().filter(|name| name.starts_with("snapshots")) {
        fs::remove_file(path.join(name)).unwrap();
        let run = RunFolder::open(&path).unwrap();
        let is_last = name.ends_with("12.safetensors");
        assert_eq!(run.snapshot(None).is_err(), is_last, "{name}");
        assert!(read_all(Ok(run)).is_err(), "{name}");
        // Resuming restores it too.
        complete(&path, &recipe, How::Resume).unwrap();
        assert_eq!(files(&path), expected);
    }
}

#[test]
fn files_of_another_run_are_not_accepted() {
    let (folder, path, _) = finished();
    let (other, another) = (folder.path().join("other"), recipe(&["seeds.data=1"]));
    complete(&other, &another, How::New).unwrap();
    for name in [
        "metrics.csv",
        "checkpoint.safetensors",
        "snapshots/step-000012.safetensors",
    ] {
        let original = fs::read(path.join(name)).unwrap();
        fs::copy(other.join(name), path.join(name)).unwrap();
        let refused = read_all(RunFolder::open(&path)).unwrap_err();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
        fs::write(path.join(name), original).unwrap();
    }
    // Another run's summary is ignored: this run counts as not ended.
    fs::copy(other.join("summary.json"), path.join("summary.json")).unwrap();
    assert_eq!(RunFolder::open(&path).unwrap().summary().unwrap(), None);
}

#[test]
fn a_checkpoint_from_beyond_the_end_is_refused_at_once() {
    // Intact, and of the same lineage: only its step is wrong.
    let (_folder, path, recipe) = finished();
    fs::remove_file(path.join("summary.json")).unwrap();
    let run = RunFolder::open(&path).unwrap();
    let mut checkpoint = run.checkpoint().unwrap().unwrap();
    checkpoint.state.step = 1_000_000_000_000;
    let lineage = &run.identity().lineage;
    let file = crate::tensors::encode_checkpoint(run.model().unwrap(), lineage, &checkpoint);
    fs::write(path.join("checkpoint.safetensors"), file).unwrap();
    let refused = complete(&path, &recipe, How::Resume);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("step 1000000000000"), "{refused}");
}

#[test]
fn pipes_folders_and_huge_files_in_place_of_files_are_refused_at_once() {
    for name in [
        "recipe.toml",
        "metrics.csv",
        "summary.json",
        "checkpoint.safetensors",
    ] {
        let (_folder, copy, recipe) = finished();
        let path = copy.join(name);
        let refused = |what: &str| {
            let read = read_all(RunFolder::open(&copy)).unwrap_err().to_string();
            assert!(read.contains(name) && read.contains(what), "{read}");
        };
        let file = fs::OpenOptions::new().write(true).open(&path);
        file.unwrap().set_len(4 << 30).unwrap();
        refused("has more than");
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            fs::create_dir(&path).unwrap();
        }
        refused("regular file");
        // Whatever the outcome, the call returns.
        let _ = complete(&copy, &recipe, How::Resume);
        let _ = complete(&copy, &recipe, How::Replace);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(12),
        ..ProptestConfig::default()
    })]

    /// Any damage to any file: a read gives the truth or an error, and resuming ends in the same bytes or is
    /// refused.
    #[test]
    fn any_damage_is_read_repaired_or_refused(
        which in 0_usize..7,
        kind in 0_usize..5,
        at in any::<prop::sample::Index>(),
        noise in any::<Vec<u8>>(),
    ) {
        let (_folder, path, recipe) = finished();
        let (whole, expected) = (read_all(RunFolder::open(&path)).unwrap(), files(&path));
        let mut names: Vec<String> = expected.keys().cloned().collect();
        names.push("summary.json".into());
        let file = path.join(&names[which % names.len()]);
        let mut bytes = fs::read(&file).unwrap();
        let place = at.index(bytes.len());
        match kind {
            0 => bytes.truncate(place),
            1 => { bytes.splice(place..place, noise.iter().copied()); }
            2 => {
                let end = (place + noise.len()).min(bytes.len());
                bytes.splice(place..end, noise.iter().copied());
            }
            3 => bytes = noise,
            _ => bytes.clear(),
        }
        match kind == 4 && place % 2 == 0 {
            true => fs::remove_file(&file).unwrap(),
            false => fs::write(&file, &bytes).unwrap(),
        }
        if let Ok(Some(read)) = read_all(RunFolder::open(&path)) {
            let (recipe, rows, snapshots, _) = whole.as_ref().unwrap();
            prop_assert_eq!((&read.0, &read.1), (recipe, rows));
            // A snapshot may be missing, but none may differ.
            prop_assert!(read.2.iter().all(|one| snapshots.contains(one)));
        }
        if complete(&path, &recipe, How::Resume).is_ok() && let Ok(Some(read)) = read_all(RunFolder::open(&path)) {
            prop_assert_eq!(&read.1, &whole.as_ref().unwrap().1);
        }
        complete(&path, &recipe, How::Replace).unwrap();
    }
}

/// A run of another numerics version can be read, but neither resumed nor extended, and its files are not
/// touched.
#[test]
fn a_run_of_another_numerics_version_is_left_untouched() {
    use crate::run_folder::Stamp;
    let (_folder, path, recipe) = finished();
    let identity = induct::run::Identity::with(&recipe, 0, "abacus");
    for (numerics, arithmetic, word) in [
        (0, "x86-64+fma", "numerics version 0"),
        (induct::run::NUMERICS, "abacus", "abacus"),
    ] {
        let stamp = Stamp {
            identity: identity.clone(),
            numerics,
            arithmetic: arithmetic.to_owned(),
        };
        fs::write(path.join("recipe.toml"), stamp.recipe_file(&recipe)).unwrap();
        let before = files(&path);
        for (steps, how) in [("12", How::Resume), ("20", How::Extend)] {
            let wanted = super::recipe(&[&format!("train.steps={steps}")]);
            let refused = complete(&path, &wanted, how).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
        assert_eq!(files(&path), before);
        assert_eq!(RunFolder::open(&path).unwrap().recipe(), &recipe);
    }
}
