//! The commands besides training as a user runs them, and the errors for mistakes.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{fail, json, small_run, succeed};

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
            .all(|row| row.as_array().unwrap().len() == 201)
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

/// With dropout, `sample` prints the keys that all masks follow from; without, there are none.
#[test]
fn sample_shows_the_keys_of_masks() {
    let keys = |dropout: &str, step: &str| {
        let dropout = format!("model.dropout={dropout}");
        let set = ["--set", "train.batch=3", "--set", &dropout];
        let command = ["sample", "main", "--json", "--step", step];
        json(&[&command[..], &set].concat())["dropout_keys"].clone()
    };
    let shown = keys("0.1", "7");
    let pairs = shown.as_array().expect("two keys per sequence");
    assert_eq!(pairs.len(), 3);
    for pair in pairs {
        let pair = pair.as_array().unwrap();
        let fits = |key: &Value| key.as_u64().is_some_and(|key| key <= u64::from(u32::MAX));
        assert!(pair.len() == 2 && pair.iter().all(fits), "{pair:?}");
    }
    // They do not depend on the rate, but on the step.
    assert_eq!(keys("{attention=0.5}", "7"), shown);
    assert_ne!(keys("0.1", "8"), shown);
    assert_eq!(keys("0.0", "7"), Value::Null);
}

#[test]
fn predict_shows_the_model_beside_the_strategies() {
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
    // Once, a 1 followed a 0: (0 + 1) / (1 + 2) and (1 + 1) / (1 + 2).
    assert_eq!(row(&strategies["bigram"]), [1.0 / 3.0, 2.0 / 3.0]);
    for name in ["bayes", "bayes-unigram", "unigram-and-current"] {
        assert!((row(&strategies[name]).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    assert!(succeed(&["predict", &run, "--tokens", "1"]).contains("model @30"));
    // As `sample` prints them.
    for tokens in ["0110", "0 1 1 0", " 0, 1, 1, 0 "] {
        let again = json(&["predict", &run, "--tokens", tokens, "--step", "0", "--json"]);
        assert_eq!(again, shown, "{tokens}");
    }
}

#[test]
fn eval_gives_divergences_with_errors() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let shown = json(&["eval", &run, "--sequences", "300", "--json"]);
    for field in ["kl_truth", "se", "kl_truth_all", "se_all"] {
        assert!(shown["model"][field].as_f64().unwrap() > 0.0, "{field}");
    }
    let added = ["bayes", "bayes-unigram", "unigram-and-current"];
    for strategy in ["uniform", "unigram", "bigram"].into_iter().chain(added) {
        for field in ["kl_truth", "se", "kl_to_model", "kl_to_model_se"] {
            assert!(
                shown["strategies"][strategy][field].is_f64(),
                "{strategy} {field}"
            );
        }
    }
    // A shorter context is a different task for the same model.
    let shorter = json(&[
        "eval",
        &run,
        "--sequences",
        "300",
        "--json",
        "--length",
        "5",
    ]);
    assert_eq!(shorter["length"], 5);
    let by_set = [
        "eval",
        &run,
        "--sequences",
        "300",
        "--json",
        "--set",
        "task.length=5",
    ];
    assert_eq!(json(&by_set), shorter);
    // Every snapshot can be measured, since it falls on a recorded step.
    for step in ["0", "20", "30"] {
        json(&["eval", &run, "--sequences", "9", "--json", "--step", step]);
    }
    // An override changes the task on which the model is measured.
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

/// Checks the README's numbers for the strategies against a smaller sample, within four standard errors.
#[test]
fn strategies_have_the_divergences_quoted_in_the_readme() {
    let readme = include_str!("../../../README.md");
    let quoted = |name: &str| -> f64 {
        let line = readme
            .lines()
            .find(|line| line.starts_with(&format!("{name:<19} ")));
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
    for name in [
        "uniform",
        "unigram",
        "bigram",
        "bayes-unigram",
        "unigram-and-current",
        "bayes",
    ] {
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
fn a_model_tells_why_it_is_computed_as_it_is() {
    let reasons = |arguments: &[&str]| {
        let ask = ["bench", "--engines", "--json", "--only"];
        let told = json(&[&ask[..], arguments].concat());
        let rules = told["rules"].as_array().unwrap().clone();
        let told = |rule: &Value| format!("{}: {}", rule["choice"], rule["when"]);
        rules.iter().map(told).collect::<Vec<_>>()
    };
    let released = reasons(&["released"]);
    assert!(released[0].contains("residual") && released[0].contains("dropout"));
    let without = reasons(&["released", "--set", "model.dropout=0.0"]);
    assert!(without[0].starts_with("\"coordinates\""), "{without:?}");
    assert!(without.iter().any(|rule| rule.contains("one-hot")));
    let table = succeed(&["bench", "--engines", "--only", "layer-norm-mlp"]);
    assert!(table.contains("up to the first MLP"), "{table}");
    assert!(fail(2, &["bench", "--engines", "--only", "mian"]).contains("main"));
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
    let shares = main["share_of_step"].as_object().unwrap();
    let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert!(main["share_of_peak"].as_f64().unwrap() > 0.0);
    assert!(fail(2, &["bench", "--only", "mian"]).contains("many-states"));
    let brief = ["bench", "--only", "main", "--seconds", "0.01", "--json"];
    let with = |set| [&brief[..], &["--set", set]].concat();
    let batch = |set| {
        let timed = &json(&with(set))["settings"][0];
        let [sequences, steps] =
            ["sequences_per_second", "steps_per_second"].map(|key| timed[key].as_f64());
        (sequences.unwrap() / steps.unwrap()).round()
    };
    assert_eq!(batch("train.batch=8"), 8.0);
    // A bench has no end, whatever the recipe says.
    assert_eq!(batch("train.steps=1"), 64.0);
    assert!(fail(2, &with("model.widht=8")).contains("widht"));
    assert!(fail(2, &["bench", "--set", "train.batch=8"]).contains("--only"));
    let series = ["bench", "--only", "growth", "--set", "train.batch=8"];
    assert!(fail(2, &series).contains("--only growth"));
    let growth = json(&["bench", "--only", "growth", "--seconds", "0.001", "--json"]);
    let points = growth["growth"].as_array().unwrap();
    assert!(points.iter().any(|p| p["of"] == "t" && p["value"] == 1600));
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
            &["nonsense", "not a preset", "main"][..],
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
        (
            &["bench", "--level", "abacus"],
            &["--level abacus", "this machine has", "portable"],
        ),
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
            &["step 77", "nearest: 30"],
        ),
        (&["eval"], &["--strategies"]),
        (
            &["eval", &run, "--length", "17"],
            &["task.length = 17", "at most 16"],
        ),
        (
            &["eval", &run, "--length", "x"],
            &["--length", "whole number"],
        ),
        (
            &["sweep", "main", "--seeds", "x"],
            &["--seeds", "a whole number from 1"],
        ),
        (&["bench", "--seconds", "x"], &["--seconds", "a number"]),
        (
            &["eval", &run, "--set", "model.width=4"],
            &["--set", "trained model"],
        ),
        (
            &["eval", "--strategies", "--set", "task.prior.p=1"],
            &["task.prior.p: no such key"],
        ),
        (
            &["sample", "main", "--step", "-1"],
            &["--step", "a whole number, 0 or above"],
        ),
        (
            &["sample", "main", "--step", "x"],
            &["'x'", "--step", "a whole number, 0 or above"],
        ),
        (
            &["train", "main", "--threads", "two"],
            &["--threads", "a whole number from 1 to 1024"],
        ),
        (
            &["theory", "gradient", "--a", "half", "--b", "1"],
            &["--a", "a number, such as"],
        ),
        (
            &[
                "theory", "gradient", "--a", "1", "--b", "1", "--length", "x",
            ],
            &["--length", "a whole number, 0 or above"],
        ),
        (
            &[
                "theory", "gradient", "--a", "1", "--b", "1", "--length", "40000",
            ],
            &["--length = 40000", "from 1 to 8192"],
        ),
        (
            &["theory", "step", "--steps", "0"],
            &["--steps", "a whole number from 1 to 100000"],
        ),
        (
            &["theory", "step", "--steps", "100000", "--length", "8192"],
            &["--steps = 100000", "fewer"],
        ),
        (
            &["sample", "main", "--set", "train.stepz=1"],
            &["train.stepz: no such key", "did you mean"],
        ),
        (
            &["sample", "main", "--set", "steps"],
            &["--set steps: expected key.path=value"],
        ),
        (
            &["sample", "main", "--set", &("a.".repeat(32_500) + "a=1")],
            &["--set a.a.", "more than 32 parts"],
        ),
        (
            &[
                "sample",
                "construction",
                "--set",
                "model.layers=9223372036854775807",
            ],
            &["model.layers = 9223372036854775807", "from 1 to 64"],
        ),
        (
            &[
                "sample",
                "main",
                "--set",
                "train.batch=1000000",
                "--set",
                "model.kind=minimal",
            ],
            &["train.batch = 1000000", "smaller"],
        ),
        (
            &["train", "/dev/null"],
            &["/dev/null", "not a regular file"],
        ),
        (&["train", other], &["not a regular file"]),
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
            message.contains("step-000030") && message.contains("damaged"),
            "{message}"
        );
    }
    let metrics = format!("{run}/metrics.csv");
    let whole = fs::read_to_string(&metrics).unwrap();
    let other_number = whole.replacen("0.2", "0.3", 1);
    for damaged in [
        "",
        "step,kl_truth\n0,abc\n",
        "a,b\n1,2\n",
        &other_number,
        &whole[..whole.len() - 9],
    ] {
        fs::write(&metrics, damaged).unwrap();
        assert!(
            fail(2, &["show", &run]).contains("metrics.csv"),
            "{damaged}"
        );
    }
    fs::remove_file(&metrics).unwrap();
    assert!(fail(2, &["show", &run]).contains("metrics.csv"));
    for recipe in ["", "[task]\nstates = 3\n"] {
        fs::write(format!("{run}/recipe.toml"), recipe).unwrap();
        for command in [
            &["show", &run][..],
            &["predict", &run, "--tokens", "0"],
            &["eval", &run],
        ] {
            assert!(fail(2, command).contains("recipe.toml"));
        }
    }
}

/// Neither is waited for, and no memory is taken for what cannot be a recipe or a page.
#[test]
fn pipes_devices_and_huge_files_are_refused_at_once() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (pipe, huge, out) = (path("pipe"), path("huge.toml"), path("out.html"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    fs::File::create(&huge).unwrap().set_len(4 << 30).unwrap();
    for arguments in [
        &["train", &pipe][..],
        &["train", "/dev/zero"],
        &["sample", &huge],
        &["sweep", &huge],
        &["lab", "runs", "--out", &out, "--page", &pipe],
        &["lab", "runs", "--out", &out, "--page", "/dev/zero"],
        &["lab", "runs", "--out", &out, "--page", &huge],
    ] {
        let message = fail(2, arguments);
        let huge = message.contains("huge.toml") && message.contains("it has more than");
        assert!(huge || message.contains("not a regular file"), "{message}");
    }
}
