//! Runs the program as a user does.

// Each test file uses a different part of this module.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A task small enough to train in an instant.
pub const SMALL: [&str; 5] = [
    "task.length=16",
    "model.width=8",
    "train.batch=12",
    "record.test_sequences=20",
    "train.steps=30",
];

pub fn induct(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_induct"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

pub fn succeed(arguments: &[&str]) -> String {
    let output = induct(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(arguments)).expect("output is JSON")
}

/// Runs a command that must fail with `code`, and returns its error message.
pub fn fail(code: i32, arguments: &[&str]) -> String {
    let output = induct(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(!message.contains("panicked"), "{message}");
    message
}

pub fn train_arguments<'a>(source: &'a str, out: &'a str, sets: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["train", source, "--out", out];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    arguments
}

/// A finished small run.
pub fn small_run(folder: &TempDir) -> String {
    let out = folder
        .path()
        .join("run")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    succeed(&train_arguments("main", &out, &SMALL));
    out
}

/// All files of a run that must be reproduced to the byte.
pub fn results(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let names = ["recipe.toml", "metrics.csv", "checkpoint.safetensors"];
    let mut paths: Vec<PathBuf> = names.iter().map(|name| run.join(name)).collect();
    let snapshots = fs::read_dir(run.join("snapshots")).expect("snapshots");
    paths.extend(snapshots.map(|entry| entry.expect("readable").path()));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(run).expect("inside").to_owned();
        (name, fs::read(path).expect("readable"))
    };
    paths.into_iter().map(read).collect()
}
