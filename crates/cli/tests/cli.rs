//! The program as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A task small enough to train in a blink.
const SMALL: [&str; 5] = [
    "task.length=16",
    "model.width=8",
    "train.batch=12",
    "record.test_sequences=20",
    "train.steps=30",
];

fn induct(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn succeed(arguments: &[&str]) -> String {
    let output = induct(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(arguments)).expect("output is JSON")
}

/// Runs a command that must fail with `code`, and returns its one sentence.
fn fail(code: i32, arguments: &[&str]) -> String {
    let output = induct(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

fn train_arguments<'a>(source: &'a str, out: &'a str, sets: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["train", source, "--out", out];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    arguments
}

/// A finished small run.
fn small_run(folder: &TempDir) -> String {
    let out = folder
        .path()
        .join("run")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    succeed(&train_arguments("main", &out, &SMALL));
    out
}

/// All files of a run that must repeat to the byte.
fn results(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths = vec![run.join("recipe.toml"), run.join("metrics.csv")];
    let snapshots = fs::read_dir(run.join("snapshots")).expect("snapshots");
    paths.extend(snapshots.map(|entry| entry.expect("readable").path()));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(run).expect("inside").to_owned();
        (name, fs::read(path).expect("readable"))
    };
    paths.into_iter().map(read).collect()
}

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

#[test]
fn sample_shows_sequences_and_tables() {
    let sample = |step: &str| {
        json(&[
            "sample",
            "trigram",
            "--step",
            step,
            "--json",
            "--set",
            "train.batch=3",
        ])
    };
    let shown = sample("7");
    let tokens = shown["tokens"].as_array().unwrap();
    assert_eq!(tokens.len(), 3);
    assert!(
        tokens
            .iter()
            .all(|row| row.as_array().unwrap().len() == 101)
    );
    let tables = shown["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 3);
    assert_eq!(tables[0].as_array().unwrap().len(), 4);
    for row in tables[0].as_array().unwrap() {
        let sum: f64 = row
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p.as_f64().unwrap())
            .sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
    assert_eq!(sample("7"), shown);
    assert_ne!(sample("8"), shown);
}

#[test]
fn predict_sets_the_model_beside_the_strategies() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let shown = json(&[
        "predict", &run, "--tokens", "0,1,1,0", "--step", "0", "--json",
    ]);
    let row = |value: &Value| -> Vec<f64> {
        let row = value.as_array().expect("a distribution");
        row.iter().map(|p| p.as_f64().unwrap()).collect()
    };
    assert!((row(&shown["model"]).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let strategies = &shown["strategies"];
    assert_eq!(row(&strategies["uniform"]), [0.5, 0.5]);
    assert_eq!(row(&strategies["unigram"]), [0.5, 0.5]);
    // After 0 came a 1, once: (0 + 1) / (1 + 2) and (1 + 1) / (1 + 2).
    assert_eq!(row(&strategies["bigram"]), [1.0 / 3.0, 2.0 / 3.0]);
    for name in ["bayes", "bayes-unigram"] {
        assert!((row(&strategies[name]).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    assert!(succeed(&["predict", &run, "--tokens", "1"]).contains("model @30"));
}

#[test]
fn eval_gives_divergences_with_errors() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let shown = json(&["eval", &run, "--sequences", "300", "--json"]);
    for field in ["kl_truth", "se", "kl_truth_all", "se_all"] {
        assert!(shown["model"][field].as_f64().unwrap() > 0.0, "{field}");
    }
    for strategy in ["uniform", "unigram", "bigram", "bayes", "bayes-unigram"] {
        for field in ["kl_truth", "se", "kl_to_model", "kl_to_model_se"] {
            assert!(
                shown["strategies"][strategy][field].is_f64(),
                "{strategy} {field}"
            );
        }
    }
    // An override changes the task that the model is measured on.
    let other = [
        "eval",
        &run,
        "--sequences",
        "300",
        "--json",
        "--set",
        "task.prior=iid",
    ];
    assert_ne!(json(&other)["model"], shown["model"]);
}

/// The README's main job, as its first command runs it, but for the folder.
#[test]
fn the_main_job_ends_as_the_readme_tells() {
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

/// The README's numbers for the strategies, within four standard errors of a smaller sample.
#[test]
fn strategies_have_the_divergences_that_the_readme_tells() {
    let readme = include_str!("../../../README.md");
    let quoted = |name: &str| -> f64 {
        let line = readme
            .lines()
            .find(|line| line.starts_with(&format!("{name:<14} ")));
        let cell = line
            .expect(name)
            .split_whitespace()
            .nth(1)
            .expect("a number");
        cell.parse().expect("a number")
    };
    let shown = json(&[
        "eval",
        "--strategies",
        "--json",
        "--sequences",
        "8192",
        "--set",
        "seeds.eval=1",
    ]);
    assert_eq!(shown["model"], Value::Null);
    for name in ["uniform", "unigram", "bigram", "bayes-unigram", "bayes"] {
        let measured = &shown["strategies"][name];
        let (kl, se) = (
            measured["kl_truth"].as_f64().unwrap(),
            measured["se"].as_f64().unwrap(),
        );
        assert!((kl - quoted(name)).abs() < 4.0 * se, "{name}: {kl} ± {se}");
    }
}

#[test]
fn the_construction_is_loaded_and_predicts_bigrams() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    succeed(&[
        "train",
        "construction",
        "--out",
        out,
        "--set",
        "record.test_sequences=64",
    ]);
    let shown = json(&["eval", out, "--json", "--sequences", "1000"]);
    let kl = |value: &Value| value["kl_truth"].as_f64().unwrap();
    let (model, strategies) = (kl(&shown["model"]), &shown["strategies"]);
    assert!(model < 0.5 * kl(&strategies["unigram"]), "{shown}");
}

#[test]
fn bench_times_the_settings() {
    let shown = json(&[
        "bench",
        "--only",
        "main",
        "--seconds",
        "0.05",
        "--threads",
        "1",
        "--json",
    ]);
    let main = &shown["settings"][0];
    assert_eq!(
        (main["name"].as_str(), main["threads"].as_u64()),
        (Some("main"), Some(1))
    );
    assert!(main["ms_per_step"].as_f64().unwrap() > 0.0);
    let shares = main["share_of_block"].as_object().unwrap();
    let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert!(fail(2, &["bench", "--only", "mian"]).contains("many-states"));
}

#[test]
fn presets_are_listed_and_can_be_copied() {
    let list = succeed(&["presets"]);
    assert!(list.contains("main ") && list.contains("trigram "));
    let folder = TempDir::new().unwrap();
    let copy = folder.path().join("mine.toml");
    fs::write(&copy, succeed(&["presets", "main"])).unwrap();
    let copy = copy.to_str().unwrap();
    assert_eq!(
        json(&["sample", copy, "--json"]),
        json(&["sample", "main", "--json"])
    );
    assert!(fail(2, &["presets", "mian"]).contains("main"));
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

#[test]
fn mistakes_get_one_sentence_and_code_2() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let not_empty = folder.path().join("other");
    fs::create_dir(&not_empty).unwrap();
    fs::write(not_empty.join("notes.txt"), "mine").unwrap();
    let (other, absent) = (not_empty.to_str().unwrap(), folder.path().join("absent"));
    let absent = absent.to_str().unwrap();
    for (arguments, expected) in [
        (
            &["train", "nonsense"][..],
            &["nonsense", "no such preset", "main"][..],
        ),
        (
            &["train", "main", "--out", &run],
            &["already holds a run", "--resume"],
        ),
        (&["train", "main", "--out", other], &["not empty", "--out"]),
        (
            &["train", "main", "--out", &run, "--resume"],
            &["another recipe"],
        ),
        (
            &["train", "main", "--set", "task.states=1"],
            &["task.states = 1", "from 2"],
        ),
        (&["train", "main", "--threads", "0"], &["--threads", "0"]),
        (&["show", absent], &["not a run", "recipe.toml"]),
        (&["show", other], &["not a run"]),
        (
            &["predict", &run, "--tokens", "0,2"],
            &["--tokens", "\"2\"", "from 0 to 1"],
        ),
        (&["predict", &run, "--tokens", ""], &["--tokens", "\"\""]),
        (&["predict", &run, "--tokens", "0,x"], &["\"x\""]),
        (
            &["predict", &run, "--tokens", &["0"; 17].join(",")],
            &["17 symbols", "at most 16"],
        ),
        (
            &["predict", &run, "--tokens", "0", "--step", "77"],
            &["--step 77", "nearest: 30"],
        ),
        (&["eval"], &["--strategies"]),
        (
            &["eval", &run, "--set", "model.width=4"],
            &["embed.E", "needs"],
        ),
        (
            &["eval", "--strategies", "--set", "task.prior.p=1"],
            &["task.prior", "`p`"],
        ),
        (&["sample", "main", "--step", "-1"], &["--step"]),
    ] {
        let message = fail(2, arguments);
        for part in expected {
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }
    assert_eq!(fs::read_dir(&not_empty).unwrap().count(), 1);
}

#[test]
fn damaged_and_foreign_files_are_named() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let last = format!("{run}/snapshots/step-000030.safetensors");
    let whole = fs::read(&last).unwrap();
    for damaged in [
        &whole[..whole.len() / 2],
        &whole[..3],
        b"",
        b"not tensors at all",
    ] {
        fs::write(&last, damaged).unwrap();
        let message = fail(2, &["predict", &run, "--tokens", "0"]);
        assert!(
            message.contains("step-000030") && message.contains("truncated"),
            "{message}"
        );
    }
    let metrics = format!("{run}/metrics.csv");
    for damaged in [
        "",
        "step,kl_truth\n0,abc\n",
        "step,kl_truth\n0\n",
        "step\n20\n0\n",
        "a,b\n1,2\n",
    ] {
        fs::write(&metrics, damaged).unwrap();
        assert!(
            fail(2, &["show", &run]).contains("metrics.csv"),
            "{damaged}"
        );
    }
    fs::remove_file(&metrics).unwrap();
    assert!(fail(2, &["show", &run]).contains("metrics.csv"));
    fs::write(format!("{run}/recipe.toml"), "[task]\nstatse = 3\n").unwrap();
    assert!(fail(2, &["show", &run]).contains("statse"));
}
