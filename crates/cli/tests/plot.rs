//! `induct plot` and `induct compare` as a user runs them.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{SMALL, fail, json, small_run, succeed, train_arguments};

/// A small run with further settings; returns its folder.
fn run_with(folder: &TempDir, name: &str, sets: &[&str]) -> String {
    let out = folder.path().join(name).to_str().unwrap().to_owned();
    succeed(&train_arguments("main", &out, &[&SMALL[..], sets].concat()));
    out
}

fn picture(folder: &TempDir, arguments: &[&str]) -> String {
    let out = folder.path().join("picture.svg");
    let printed = succeed(&[arguments, &["--out", out.to_str().unwrap()]].concat());
    assert!(printed.contains("picture.svg is written"), "{printed}");
    fs::read_to_string(out).unwrap()
}

#[test]
fn a_run_is_plotted_with_the_levels_of_strategies() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let chart = succeed(&["plot", &run]);
    for part in [
        "kl_truth:",
        "kl_strategy:",
        "* uniform",
        "o unigram",
        "bigram 0.",
        "--out",
    ] {
        assert!(chart.contains(part), "{part}: {chart}");
    }
    let svg = picture(&folder, &["plot", &run]);
    for part in [
        "kl_truth",
        "kl_strategy",
        "model",
        "uniform",
        "bigram",
        "training steps",
    ] {
        assert!(svg.contains(&format!(">{part}<")), "{part}");
    }
    let shown = json(&[
        "plot",
        &run,
        "--json",
        "--measure",
        "kl_truth",
        "--measure",
        "induction",
    ]);
    let series = shown["series"].as_array().unwrap();
    let columns: Vec<&str> = series.iter().filter_map(|s| s["column"].as_str()).collect();
    let heads = [0, 1].map(|layer| format!("layers.{layer}.heads.0.induction"));
    assert_eq!(columns, ["kl_truth", &heads[0], &heads[1]]);
    assert_eq!(series[0]["steps"], serde_json::json!([0, 20, 30]));
    assert_eq!(series[0]["values"].as_array().unwrap().len(), 3);
    assert!(shown["strategies"]["bigram"].is_f64());
    let one = json(&["plot", &run, "--json", "--measure", &heads[1]]);
    assert_eq!(one["series"].as_array().unwrap().len(), 1);
}

#[test]
fn seeds_are_one_group_and_recipes_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let sweep = folder.path().join("sweep");
    let sweep = sweep.to_str().unwrap();
    let mut arguments = vec!["sweep", "main", "--seeds", "3", "--out", sweep];
    arguments.extend(SMALL.iter().flat_map(|set| ["--set", set]));
    succeed(&arguments);
    let groups = |arguments: &[&str]| json(&[arguments, &["--json"]].concat())["groups"].clone();
    let seeds = groups(&["plot", sweep]);
    assert_eq!(seeds.as_array().unwrap().len(), 1);
    assert_eq!(seeds[0]["runs"].as_array().unwrap().len(), 3);
    let svg = picture(&folder, &["plot", sweep]);
    assert!(svg.contains("thin: each seed"), "{svg}");
    let other = run_with(&folder, "other", &["train.batch=24"]);
    let both = groups(&["plot", sweep, &other]);
    let labels: Vec<&str> = [0, 1]
        .iter()
        .filter_map(|&at| both[at]["label"].as_str())
        .collect();
    assert_eq!(labels, ["train.batch = 12", "train.batch = 24"]);
    let svg = picture(&folder, &["plot", sweep, &other]);
    assert!(svg.contains(">train.batch = 24<") && svg.contains(">kl_bigram<"));
    // Any folder of runs will do.
    let all = folder.path().to_str().unwrap();
    assert_eq!(groups(&["plot", all]).as_array().unwrap().len(), 2);
}

#[test]
fn a_run_that_has_not_ended_is_plotted() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let known = json(&["plot", &run, "--json"]);
    fs::remove_file(format!("{run}/summary.json")).unwrap();
    assert_eq!(json(&["plot", &run, "--json"]), known);
}

#[test]
fn two_runs_are_compared() {
    let folder = TempDir::new().unwrap();
    let a = small_run(&folder);
    let b = run_with(&folder, "b", &["train.batch=24", "seeds.data=1"]);
    let shown = json(&["compare", &a, &b, "--json"]);
    assert_eq!(shown["identical"], false);
    let keys = shown["keys"].as_array().unwrap();
    let batch = serde_json::json!({ "key": "train.batch", "a": "12", "b": "24" });
    assert!(keys.len() == 2 && keys.contains(&batch), "{keys:?}");
    let named = |list: &Value, name: &str| -> Value {
        let list = list.as_array().unwrap();
        list.iter()
            .find(|entry| entry["name"] == name)
            .expect(name)
            .clone()
    };
    let kl = named(&shown["final"], "kl_truth");
    let number = |key: &str| kl[key].as_f64().unwrap();
    assert_eq!(number("difference"), number("b") - number("a"));
    assert_eq!(named(&shown["phases"], "uniform")["difference"], 0.0);
    // Weights start alike, so nothing but what depends on the batch differs at step 0.
    let first = &shown["parting"][0];
    assert_eq!(first["step"], 20, "{shown}");
    let text = succeed(&["compare", &a, &b]);
    for part in [
        "train.batch: 12 -> 24",
        "Last record",
        "kl_truth",
        "step     20:",
        "b - a",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let svg = picture(&folder, &["compare", &a, &b]);
    assert!(svg.contains(">train.batch = 12<") && svg.contains(">train.batch = 24<"));
}

#[test]
fn identical_runs_say_so_and_seeds_are_told_apart_by_folder() {
    let folder = TempDir::new().unwrap();
    let a = small_run(&folder);
    let again = run_with(&folder, "again", &[]);
    assert!(succeed(&["compare", &a, &again]).contains("identical"));
    assert_eq!(json(&["compare", &a, &again, "--json"])["identical"], true);
    let seed = run_with(&folder, "seed", &["seeds.init=1"]);
    let svg = picture(&folder, &["compare", &a, &seed]);
    for path in [&a, &seed] {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        assert!(svg.contains(&format!("/{name}<")), "{name}");
    }
}

#[test]
fn mistakes_are_named_with_what_is_allowed() {
    let folder = TempDir::new().unwrap();
    let run = small_run(&folder);
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let empty = empty.to_str().unwrap();
    for (arguments, expected) in [
        (
            &["plot", &run, "--measure", "kl_truht"][..],
            &["--measure kl_truht", "kl_truth", "induction", "kl_uniform"][..],
        ),
        (
            &["plot", &run, "--measure", "entropy"],
            &["entropy", "not recorded"],
        ),
        (&["plot", &run, "--out", "a.npz"], &["a.npz", ".svg, .png"]),
        (&["plot", empty], &["holds none", "recipe.toml"]),
        (&["plot", "absent"], &["absent", "not a run"]),
        (&["plot"], &["RUN"]),
        (&["compare", &run], &["<B>"]),
        (&["compare", &run, "absent"], &["absent", "not a run"]),
    ] {
        let message = fail(2, arguments);
        for part in expected {
            assert!(message.contains(part), "{arguments:?}: {message}");
        }
    }
}
