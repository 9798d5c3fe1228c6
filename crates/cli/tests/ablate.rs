//! `induct ablate`, and models under interventions, as a user looks at them.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{SMALL, fail, json, small_run, succeed, train_arguments};

/// A small run with some settings of its own.
fn run_with(folder: &TempDir, name: &str, sets: &[&str]) -> String {
    let out = folder.path().join(name).to_str().unwrap().to_owned();
    succeed(&train_arguments("main", &out, &[&SMALL, sets].concat()));
    out
}

/// Names of parts, in the order of their worth.
fn names(shown: &Value) -> Vec<&str> {
    let parts = shown["parts"].as_array().unwrap();
    parts
        .iter()
        .map(|part| part["part"].as_str().unwrap())
        .collect()
}

#[test]
fn every_part_of_models_with_one_two_and_three_layers_is_measured() {
    let folder = TempDir::new().unwrap();
    // Sources and, where there are several, their readers: those of each layer above, and the logits.
    let parts = [1 + 4 + 1, 1 + 7 + 1 + 4 + 1, 1 + 10 + 1 + 7 + 1 + 4 + 1];
    for (layers, parts) in (1..).zip(parts) {
        let set = format!("model.layers={layers}");
        let run = run_with(&folder, &set, &[&set]);
        let shown = json(&["ablate", &run, "--sequences", "64", "--json"]);
        let names = names(&shown);
        assert_eq!(names.len(), parts, "{names:?}");
        assert!(names.contains(&"embed -> logits"));
        let worth = |part: &Value| part["worth"][0].as_f64().unwrap();
        let all: Vec<f64> = shown["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(worth)
            .collect();
        assert!(all.is_sorted_by(|a, b| a >= b), "{all:?}");
        let text = succeed(&["ablate", &run, "--sequences", "64", "--with", "mean"]);
        for part in ["after step 30", "its mean", "layers.0.heads.0", "±"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn parts_that_are_not_there_or_read_nothing_else_are_not_listed() {
    let folder = TempDir::new().unwrap();
    let run = run_with(&folder, "mlp", &["model.mlp=true", "model.heads=[2, 1]"]);
    let shown = json(&[
        "ablate",
        &run,
        "--sequences",
        "64",
        "--with",
        "resample",
        "--json",
    ]);
    let names = names(&shown);
    assert!(
        names.contains(&"layers.0.heads.1 -> layers.0.mlp"),
        "{names:?}"
    );
    assert!(names.contains(&"layers.0.mlp -> layers.1.keys"));
    assert!(!names.contains(&"layers.0.mlp -> layers.0.mlp"));
    assert!(!names.contains(&"layers.1.mlp -> logits"));
}

#[test]
fn the_worth_is_the_difference_that_eval_measures() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let eval = |more: &[&str]| {
        let shown = json(&[&["eval", &run, "--sequences", "200", "--json"], more].concat());
        shown["model"]["kl_truth"].as_f64().unwrap()
    };
    let shown = json(&["ablate", &run, "--sequences", "200", "--json"]);
    assert!((shown["kl_truth"][0].as_f64().unwrap() - eval(&[])).abs() < 1e-9);
    let without = eval(&[
        "--intervene",
        "kind='ablate', at='layers.0.heads.0', to='logits'",
    ]);
    let parts = shown["parts"].as_array().unwrap();
    let part = parts
        .iter()
        .find(|part| part["part"] == "layers.0.heads.0 -> logits")
        .unwrap();
    assert!((part["worth"][0].as_f64().unwrap() - (without - eval(&[]))).abs() < 1e-6);
    assert_eq!(
        (&part["source"], &part["reader"]),
        (&"layers.0.heads.0".into(), &"logits".into())
    );
}

#[test]
fn all_steps_show_when_parts_start_to_matter() {
    let folder = TempDir::new().unwrap();
    let run = run_with(
        &folder,
        "run",
        &["record.every=10", "train.optimizer.lr=1e-2"],
    );
    let arguments = ["ablate", &run, "--all-steps", "--sequences", "64"];
    let shown = json(&[&arguments[..], &["--json"]].concat());
    assert_eq!(shown["steps"], serde_json::json!([0, 10, 20, 30]));
    for part in shown["parts"].as_array().unwrap() {
        assert_eq!(part["worth"].as_array().unwrap().len(), 4);
        assert_eq!(part["se"].as_array().unwrap().len(), 4);
    }
    for ending in ["svg", "png"] {
        let out = folder.path().join(format!("a.{ending}"));
        let out = out.to_str().unwrap();
        let text = succeed(&[&arguments[..], &["--out", out]].concat());
        assert!(
            text.contains("matters from") && text.contains("is written"),
            "{text}"
        );
        assert!(fs::metadata(out).unwrap().len() > 1000);
        succeed(&["ablate", &run, "--sequences", "64", "--out", out]);
    }
}

#[test]
fn a_model_is_looked_at_under_the_interventions_in_force() {
    let folder = TempDir::new().unwrap();
    let clamp = "kind='clamp', at='layers.0', pattern='previous-token'";
    let clamped = run_with(
        &folder,
        "clamped",
        &[
            &format!("intervene=[{{{clamp}, until=20}}]"),
            "record.every=10",
        ],
    );
    let tokens = ["--tokens", "0,1,1,0", "--json"];
    let predict = |more: &[&str]| json(&[&["predict", &clamped], &tokens[..], more].concat());
    // In force at step 10 and over at step 30.
    let [own, other] = [
        predict(&["--step", "10"]),
        predict(&["--step", "10", "--intervene", clamp]),
    ];
    assert_eq!(own, other);
    assert_ne!(
        predict(&[])["model"],
        predict(&["--intervene", clamp])["model"]
    );
    let shown = json(&[
        "attention",
        &clamped,
        "--step",
        "10",
        "--tokens",
        "0,1,1,0",
        "--json",
    ]);
    assert_eq!(
        shown["heads"][0]["attn_pattern"][3],
        serde_json::json!([0.0, 0.0, 1.0, 0.0])
    );
    // eval finds what the run recorded, on other sequences.
    let eval = json(&[
        "eval",
        &clamped,
        "--step",
        "10",
        "--sequences",
        "64",
        "--json",
    ]);
    let same = json(&[
        "eval",
        &clamped,
        "--step",
        "10",
        "--sequences",
        "64",
        "--intervene",
        clamp,
        "--json",
    ]);
    assert_eq!(eval["model"], same["model"]);
}

#[test]
fn a_part_under_an_intervention_is_not_ablated_again() {
    let folder = TempDir::new().unwrap();
    let run = run_with(
        &folder,
        "run",
        &["intervene=[{kind='ablate', at='layers.0.heads.0'}]"],
    );
    let text = succeed(&["ablate", &run, "--sequences", "64"]);
    let own = text
        .lines()
        .find(|line| line.starts_with("layers.0.heads.0 "))
        .unwrap();
    assert!(own.contains("under an intervention"), "{own}");
    let svg = folder.path().join("a.svg");
    succeed(&[
        "ablate",
        &run,
        "--sequences",
        "64",
        "--all-steps",
        "--out",
        svg.to_str().unwrap(),
    ]);
}

#[test]
fn weights_of_the_run_itself_are_trained_where_they_are_needed_only() {
    let folder = TempDir::new().unwrap();
    let own = "intervene=[{kind='clamp', at='layers.1', pattern={own=4}, from=20}]";
    let run = run_with(&folder, "run", &[own, "record.every=10"]);
    let noted = |step: &str| {
        let arguments = ["predict", &run, "--tokens", "01", "--step", step];
        let output = crate::program::induct(&arguments);
        assert!(output.status.success());
        crate::program::text(&output.stderr)
    };
    assert_eq!(noted("10"), "");
    assert!(
        noted("20").contains("training it for 4 steps"),
        "{}",
        noted("20")
    );
}

#[test]
fn mistakes_are_refused_with_what_there_is() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let other = run_with(&folder, "wide", &["model.width=12"]);
    let wide = format!("kind='patch', at='embed', with={{run='{other}', step=30}}");
    for (entry, parts) in [
        (
            "kind='ablate', at='layers.2.heads.0'",
            &["intervene[0].at", "layers.1.heads.0"][..],
        ),
        (
            "kind='ablate', at='layers.0.heads.1'",
            &["intervene[0].at", "layers.0.heads.0"],
        ),
        (
            "kind='ablate', at='layers.0.heads.0', to='layers.0.keys'",
            &["intervene[0].to", "layers.1.keys"],
        ),
        (
            "kind='ablate', at='embed', to='output'",
            &["intervene[0].to", "layers.0.queries", "logits"],
        ),
        (
            "kind='clamp', at='layers.0', pattern='uniform', from=30",
            &["intervene[0].from = 30", "below train.steps = 30"],
        ),
        (
            "kind='clamp', at='layers.0', pattern={own=31}",
            &["intervene[0].pattern.own = 31", "at most train.steps = 30"],
        ),
        (
            &wide,
            &["intervene[0]", "its model differs", "embed.E [2, 12]"],
        ),
    ] {
        let out = folder.path().join("never");
        let small: Vec<&str> = SMALL.iter().flat_map(|set| ["--set", set]).collect();
        let train = [
            "train",
            "main",
            "--out",
            out.to_str().unwrap(),
            "--intervene",
            entry,
        ];
        let eval = ["eval", &run, "--sequences", "64", "--intervene", entry];
        for message in [fail(2, &[&train, &small[..]].concat()), fail(2, &eval)] {
            for part in parts {
                assert!(message.contains(part), "{entry}: no {part} in {message}");
            }
        }
        assert!(!out.exists(), "{entry}");
    }
    let twice = [
        "kind='clamp', at='layers.0', pattern='uniform'",
        "kind='clamp', at='layers.0', pattern='lag:2'",
    ];
    let message = fail(
        2,
        &[
            "predict",
            &run,
            "--tokens",
            "01",
            "--intervene",
            twice[0],
            "--intervene",
            twice[1],
        ],
    );
    assert!(
        message.contains("intervene[1]") && message.contains("already uniform"),
        "{message}"
    );
    // A lag beyond the context is one that no position has: they attend to the first.
    let far = "kind='clamp', at='layers.0', pattern='lag:1000'";
    succeed(&["predict", &run, "--tokens", "01", "--intervene", far]);

    let said = |arguments: &[&str], part: &str| {
        let message = fail(2, arguments);
        assert!(message.contains(part), "{arguments:?}: {message}");
    };
    let frozen = [
        "predict",
        &run,
        "--tokens",
        "01",
        "--intervene",
        "kind='freeze', group='embed'",
    ];
    said(
        &frozen,
        "here it can be ablate, clamp, patch or stop-gradient",
    );
    let later = "kind='clamp', at='layers.0', pattern='uniform', until=20";
    said(
        &["predict", &run, "--tokens", "01", "--intervene", later],
        "not in force at step 30",
    );
    let mean = "kind='ablate', at='embed', with='mean'";
    said(
        &["predict", &run, "--tokens", "01", "--intervene", mean],
        "a sequence alone",
    );
    said(
        &["eval", &run, "--sequences", "63", "--intervene", mean],
        "multiple of 8",
    );
    said(
        &["ablate", &run, "--sequences", "63", "--with", "mean"],
        "multiple of 8",
    );
    said(&["ablate", &run, "--step", "31"], "nearest");
    said(
        &["ablate", &format!("{run}@20"), "--all-steps"],
        "leave out the step",
    );
    said(&["ablate", &run, "--with", "noise"], "resample");
    let minimal = format!("{run}-minimal");
    let sets = [
        "task.length=16",
        "train.steps=5",
        "record.test_sequences=20",
    ];
    succeed(&train_arguments("minimal", &minimal, &sets));
    said(&["ablate", &minimal], "the minimal model has no parts");
}
