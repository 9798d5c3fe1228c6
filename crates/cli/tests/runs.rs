//! Training as a user runs it: what a run leaves, repeating it, breaking it off and going on.

mod program;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use program::{SMALL, fail, json, results, small_run, succeed, text, train_arguments};

#[test]
fn a_run_leaves_its_files_and_tells_its_story() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let mut names: Vec<String> = fs::read_dir(&run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["metrics.csv", "recipe.toml", "snapshots", "summary.json"]
    );
    let metrics = fs::read_to_string(format!("{run}/metrics.csv")).unwrap();
    assert!(metrics.starts_with("step,sequences,train_loss,kl_truth,"));
    assert_eq!(metrics.lines().count(), 1 + 3); // steps 0, 20 and 30
    assert_eq!(
        fs::read_dir(format!("{run}/snapshots")).unwrap().count(),
        31
    );
    assert!(Path::new(&format!("{run}/snapshots/step-000030.safetensors")).exists());
    let story = succeed(&["show", &run]);
    for part in ["Phases", "uniform", "KL(truth || it)", "previous position"] {
        assert!(story.contains(part), "{story}");
    }
    let shown = json(&["show", &run, "--json"]);
    assert_eq!(shown["final"]["step"], 30.0);
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(format!("{run}/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["steps"], 30);
    assert!(summary["strategies"]["bigram"]["kl_truth"].is_f64());
}

#[test]
fn a_run_s_own_recipe_repeats_it_for_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let recipe = format!("{run}/recipe.toml");
    for threads in ["1", "2", "3"] {
        let out = folder.path().join(threads);
        let out = out.to_str().unwrap();
        succeed(&["train", &recipe, "--out", out, "--threads", threads]);
        assert_eq!(results(Path::new(out)), results(Path::new(&run)));
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let whole = folder.path().join("whole");
    let cut = folder.path().join("cut");
    let (whole, cut) = (whole.to_str().unwrap(), cut.to_str().unwrap());
    // Long enough for some checkpoints, which come every half second.
    let mut sets = SMALL.to_vec();
    sets.extend(["task.length=40", "train.batch=64", "train.steps=8000"]);
    sets.extend(["record.every=200", "record.snapshots=20"]);
    succeed(&train_arguments("main", whole, &sets));
    let mut arguments = train_arguments("main", cut, &sets);
    arguments.push("--resume"); // of a run that does not exist yet: starts it
    let checkpoint = Path::new(cut).join("checkpoint.safetensors");
    let mut kills = 0;
    for wait in [0, 130, 370] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_induct"))
            .args(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(wait));
        let _ = child.kill(); // SIGKILL, unless it has ended by itself
        kills += usize::from(!child.wait().unwrap().success());
    }
    assert!(kills > 0, "no run was caught before its end");
    succeed(&arguments);
    assert_eq!(results(Path::new(cut)), results(Path::new(whole)));
    assert!(!checkpoint.exists());
    assert!(succeed(&arguments).contains("is complete"));
}

/// The README's single run, but for the folder.
#[test]
fn the_main_run_ends_as_the_readme_tells() {
    let readme = include_str!("../../../README.md");
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    succeed(&["train", "main", "--out", out]);
    let shown = json(&["show", out, "--json"]);
    let phases = shown["phases"].as_array().unwrap();
    let order: Vec<&str> = phases
        .iter()
        .map(|p| p["strategy"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["uniform", "unigram", "bigram"]);
    let kl = shown["final"]["kl_truth"].as_f64().unwrap();
    let bigram = shown["strategies"]["bigram"]["kl_truth"].as_f64().unwrap();
    assert!(kl < bigram + 0.01, "{kl} against {bigram}");
    // Machines without fused arithmetic round otherwise; the story must be the same.
    let quoted = readme.split("at the last position: ").nth(1).unwrap();
    let quoted: f64 = quoted.split_whitespace().next().unwrap().parse().unwrap();
    assert!((kl - quoted).abs() < 0.002, "{kl}, README {quoted}");
}

#[test]
fn a_loss_that_is_no_number_ends_the_run_and_keeps_what_there_is() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let mut sets = SMALL.to_vec();
    sets.push("train.optimizer={kind=\"sgd\", lr=1e30}");
    let message = fail(1, &train_arguments("main", out, &sets));
    assert!(
        message.contains("at step ") && message.contains(out),
        "{message}"
    );
    let metrics = fs::read_to_string(format!("{out}/metrics.csv")).unwrap();
    assert!(metrics.lines().count() >= 2);
    assert!(succeed(&["show", out]).contains("uniform"));
    let mut again = train_arguments("main", out, &sets);
    again.push("--resume");
    assert!(fail(1, &again).contains("no number at step"));
    assert!(succeed(&["show", out]).contains("Diverged"));
    for command in [
        &["predict", out, "--tokens", "0,1"][..],
        &["eval", out, "--sequences", "9"],
    ] {
        assert!(fail(1, command).contains("try an earlier --step"));
    }
    succeed(&["predict", out, "--tokens", "0,1", "--step", "0"]);
}

#[test]
fn a_run_survives_a_terminal_that_goes_away() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(train_arguments("main", out, &SMALL))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert!(child.wait().unwrap().success());
    assert!(Path::new(&format!("{out}/summary.json")).exists());
}

#[test]
fn two_trainers_do_not_share_a_folder() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    let mut sets = SMALL.to_vec();
    sets.push("train.steps=1000000");
    let mut arguments = train_arguments("main", out, &sets);
    arguments.push("--resume");
    let mut first = Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let snapshots = Path::new(out).join("snapshots");
    while !snapshots.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let message = fail(2, &arguments);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(message.contains("another process"), "{message}");
}

#[test]
fn a_run_goes_on_by_its_own_recipe() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    fs::remove_file(format!("{run}/summary.json")).unwrap();
    let before = results(Path::new(&run));
    succeed(&["train", &format!("{run}/recipe.toml"), "--resume"]);
    assert_eq!(results(Path::new(&run)), before);
    // From inside the folder, too.
    let inside = Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(["train", "recipe.toml", "--resume"])
        .current_dir(&run)
        .output()
        .unwrap();
    assert!(
        text(&inside.stdout).contains("is complete"),
        "{}",
        text(&inside.stderr)
    );
}

/// Arguments of a small sweep.
fn sweep_arguments(out: &str) -> Vec<&str> {
    let mut arguments = vec!["sweep", "main", "--seeds", "2", "--out", out];
    for set in &SMALL {
        arguments.extend(["--set", set]);
    }
    arguments
}

#[test]
fn a_sweep_trains_every_variation_as_a_run_of_its_own() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("sweep");
    let out = out.to_str().unwrap();
    let mut arguments = sweep_arguments(out);
    arguments.extend(["--vary", "train.optimizer.lr=1e-3;1e30", "--json"]);
    let first = json(&arguments);
    let runs = first["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs[0]["kl_truth"].is_f64() && runs[0]["diverged_at"].is_null());
    assert!(runs[3]["diverged_at"].is_u64(), "{}", runs[3]);
    // The same run alone.
    let alone = folder.path().join("alone");
    let mut sets = SMALL.to_vec();
    sets.extend(["seeds.init=1", "seeds.data=1"]);
    succeed(&train_arguments("main", alone.to_str().unwrap(), &sets));
    let in_sweep = Path::new(out).join("run-001");
    assert_eq!(
        fs::read(in_sweep.join("metrics.csv")).unwrap(),
        fs::read(alone.join("metrics.csv")).unwrap()
    );
    // What is there is not trained again.
    let before = fs::metadata(in_sweep.join("summary.json"))
        .unwrap()
        .modified();
    let second = json(&arguments);
    assert_eq!(first, second);
    let after = fs::metadata(in_sweep.join("summary.json"))
        .unwrap()
        .modified();
    assert_eq!(before.unwrap(), after.unwrap());
    let table = succeed(&sweep_arguments(&format!("{out}-2")));
    assert!(table.contains("2 seeds, KL"), "{table}");
}

#[test]
fn a_sweep_over_nothing_or_into_another_one_is_refused() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("sweep");
    let out = out.to_str().unwrap();
    assert!(fail(2, &["sweep", "main", "--vary", "lr"]).contains("KEY.PATH=VALUE"));
    assert!(fail(2, &["sweep", "main", "--vary", "train.rate=1;2"]).contains("train.rate"));
    succeed(&sweep_arguments(out));
    let mut other = sweep_arguments(out);
    other.extend(["--set", "train.batch=8"]);
    assert!(fail(2, &other).contains("another recipe"));
}
