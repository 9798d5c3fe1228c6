//! `induct attention` as a user runs it.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{SMALL, fail, json, small_run, succeed, train_arguments};

/// The numbers of a row.
fn numbers(row: &Value) -> Vec<f64> {
    let row = row.as_array().expect("a row");
    row.iter().map(|n| n.as_f64().expect("a number")).collect()
}

#[test]
fn every_head_is_shown_with_its_scores() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let shown = json(&["attention", &run, "--tokens", "0,1,1,0,1", "--json"]);
    assert_eq!(shown["step"], 30);
    assert_eq!(numbers(&shown["tokens"]), [0.0, 1.0, 1.0, 0.0, 1.0]);
    let heads = shown["heads"].as_array().unwrap();
    assert_eq!(heads.len(), 2);
    for (layer, head) in heads.iter().enumerate() {
        assert_eq!((&head["layer"], &head["head"]), (&layer.into(), &0.into()));
        let pattern = head["attn_pattern"].as_array().unwrap();
        let (mut previous, mut sizes) = (0.0, Vec::new());
        for (i, row) in pattern.iter().enumerate() {
            let row = numbers(row);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-5);
            previous += if i > 0 { row[i - 1] } else { 0.0 };
            sizes.push(row.len());
        }
        assert_eq!(sizes, [1, 2, 3, 4, 5]);
        let score = head["previous_token"].as_f64().unwrap();
        assert!((score - previous / 4.0).abs() < 1e-5);
        assert!(head["induction"].is_f64());
        assert_eq!(head["attn_scores"].as_array().unwrap().len(), 5);
    }
    let text = succeed(&["attention", &run, "--tokens", "0,1,1,0,1"]);
    for part in [
        "after step 30",
        "01101",
        "layers.1.heads.0",
        "previous_token",
        "all positions",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let only = json(&[
        "attention",
        &run,
        "--tokens",
        "011",
        "--layer",
        "1",
        "--json",
    ]);
    assert_eq!(only["heads"].as_array().unwrap().len(), 1);
    assert_eq!(only["heads"][0]["layer"], 1);
}

#[test]
fn a_line_of_sample_and_a_test_sequence_can_be_looked_at() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let recipe = format!("{run}/recipe.toml");
    let sample = succeed(&["sample", &recipe]);
    // 17 symbols: those that the model sees, and the one that it is to predict.
    let line = sample.lines().nth(1).unwrap();
    let shown = json(&["attention", &run, "--tokens", line, "--json"]);
    assert_eq!(shown["tokens"].as_array().unwrap().len(), 16);
    let row = &json(&["sample", &recipe, "--json"])["tokens"][0];
    let again = json(&["attention", &run, "--tokens", &format!("{row:#}"), "--json"]);
    assert_eq!(again, shown);
    let test = json(&["attention", &run, "--sequence", "3", "--json"]);
    assert_eq!(test["tokens"].as_array().unwrap().len(), 16);
    let at = format!("{run}@0");
    let start = json(&["attention", &at, "--sequence", "3", "--json"]);
    assert_eq!(start["step"], 0);
    assert_eq!(start["tokens"], test["tokens"]);
    assert_ne!(start["heads"], test["heads"]);
    let by_option = [
        "attention",
        &run,
        "--step",
        "0",
        "--sequence",
        "3",
        "--json",
    ];
    assert_eq!(json(&by_option), start);
}

#[test]
fn pictures_of_any_model_are_written() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let wide: Vec<&str> = [&SMALL[..], &["model.layers=3", "model.heads=2"]].concat();
    let (deep, minimal) = (path("deep"), path("minimal"));
    succeed(&train_arguments("main", &deep, &wide));
    succeed(&train_arguments(
        "minimal",
        &minimal,
        &["task.length=16", "train.steps=30"],
    ));
    let picture = |run: &str, tokens: &str| {
        let out = path("picture.svg");
        let printed = succeed(&["attention", run, "--tokens", tokens, "--out", &out]);
        assert!(printed.contains("picture.svg is written"));
        fs::read_to_string(out).unwrap()
    };
    let svg = picture(&deep, "0110100110");
    for name in ["layers.0.heads.0", "layers.2.heads.1"] {
        assert!(svg.contains(name), "{name}");
    }
    assert!(svg.contains("class=\"arc"));
    // A single symbol has no arcs, and is drawn all the same.
    assert!(!picture(&deep, "0").contains("class=\"arc"));
    let svg = picture(&minimal, "0110100110");
    assert!(svg.contains("layers.1.heads.0") && svg.contains("score"));
    assert!(succeed(&["attention", &minimal, "--tokens", "0110"]).contains("no pattern"));
    let png = path("picture.png");
    succeed(&["attention", &deep, "--sequence", "0", "--out", &png]);
    assert_eq!(&fs::read(png).unwrap()[1..4], b"PNG");
}

#[test]
fn mistakes_are_named_with_what_is_allowed() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let (late, odd) = (format!("{run}@77"), format!("{run}@x"));
    for (arguments, expected) in [
        (&["attention", &run][..], &["--tokens", "--sequence"][..]),
        (
            &["attention", &run, "--tokens", "0,2"],
            &["\"2\"", "from 0 to 1"],
        ),
        (
            &["attention", &run, "--tokens", &"0".repeat(18)],
            &["18 symbols", "at most 16"],
        ),
        (
            &["attention", &run, "--sequence", "20"],
            &["--sequence 20", "0 to 19"],
        ),
        (
            &["attention", &run, "--sequence", "0", "--layer", "2"],
            &["--layer 2", "last is 1"],
        ),
        (
            &["attention", &run, "--sequence", "0", "--head", "1"],
            &["--head 1", "last is 0"],
        ),
        (
            &["attention", &late, "--sequence", "0"],
            &["step 77", "nearest: 30"],
        ),
        (
            &["attention", &odd, "--sequence", "0"],
            &["after @", "whole number"],
        ),
        (
            &["attention", &run, "--tokens", "0", "--out", "a.gif"],
            &["a.gif", ".svg", ".png"],
        ),
        (
            &["attention", "absent", "--tokens", "0"],
            &["absent", "not a run"],
        ),
    ] {
        let message = fail(2, arguments);
        for part in expected {
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }
    let nowhere = folder.path().join("no/such/a.svg");
    let nowhere = nowhere.to_str().unwrap();
    let message = fail(1, &["attention", &run, "--tokens", "0", "--out", nowhere]);
    assert!(message.contains("cannot write"), "{message}");
}
