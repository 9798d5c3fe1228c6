//! The bits of results: hashes of what short runs record, and of their last weights.
//!
//! A changed hash means that this version's results differ from the previous version's. If that is intended,
//! raise `induct::run::NUMERICS` and rewrite the files:
//! `INDUCT_WRITE_GOLDEN=1 cargo test -p induct --test tests numerics:: -- --include-ignored`.
//! `crates/lab/tests/bits.mjs` checks WebAssembly against the portable file.

#![allow(
    clippy::disallowed_methods,
    reason = "a test has an environment, files and processes"
)]

use std::env;
use std::fs;
use std::process::Command;
use std::sync::Arc;

use induct::catalogue::{SETTINGS, Setting};
use induct::internal::{RULES, arithmetic};
use induct::lanes::use_level;
use induct::probe::Instruments;
use induct::run::{NUMERICS, Recorder};
use induct::train::no_snapshots;
use rayon::prelude::*;

/// Set in the process that computes at the portable level: a process computes at one level.
const PORTABLE: &str = "INDUCT_TEST_PORTABLE";

/// The arithmetic that golden files were written with. Those of the quick settings are named `quick-…`.
const GOLDEN: [(&str, &str); 2] = [("x86-64+fma", "numerics.txt"), ("portable", "portable.txt")];

/// Settings that use every engine and kernel between them: the quick ones, trained for a few steps on small batches.
const QUICK: [&str; 9] = [
    "main",
    "many-states",
    "trigram",
    "layer-norm",
    "released",
    "released-tables",
    "many-interventions",
    "ten-states-mlp",
    "minimal",
];

/// Every rule by which an engine or kernel is chosen decides about the first step of one of them.
#[test]
fn the_quick_settings_use_every_rule() {
    let mut used = Vec::new();
    for name in QUICK {
        let recipe = Setting::named(name).unwrap().recipe(&[]).unwrap();
        let in_force = recipe.in_force(0, &[]);
        let model = recipe.model_under(&in_force, &no_snapshots).unwrap();
        used.extend(
            model
                .reasons()
                .into_iter()
                .map(|rule| (rule.part, rule.when)),
        );
    }
    for rule in RULES {
        let key = (rule.part, rule.when);
        assert!(used.contains(&key), "{}: {}", rule.name, rule.when);
    }
}

#[test]
fn results_have_the_bits_of_their_numerics_version() {
    check(true);
}

#[test]
fn portable_results_have_the_bits_of_their_numerics_version() {
    repeat_at_the_portable_level("numerics::results_have_the_bits_of_their_numerics_version");
}

#[test]
#[ignore = "slow: every setting"]
fn all_results_have_the_bits_of_their_numerics_version() {
    check(false);
}

#[test]
#[ignore = "slow: every setting"]
fn all_portable_results_have_the_bits_of_their_numerics_version() {
    repeat_at_the_portable_level("numerics::all_results_have_the_bits_of_their_numerics_version");
}

fn repeat_at_the_portable_level(test: &str) {
    let status = Command::new(env::current_exe().unwrap())
        .args(["--include-ignored", "--exact", test])
        .env(PORTABLE, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

/// Checks all settings, or the quick ones, against the golden file of this arithmetic; writes the file if
/// `INDUCT_WRITE_GOLDEN` is set.
fn check(quick: bool) {
    if env::var_os(PORTABLE).is_some() {
        use_level("portable").unwrap();
        assert_eq!(arithmetic(), "portable");
    }
    let golden = GOLDEN
        .iter()
        .find(|(recorded, _)| *recorded == arithmetic());
    let Some((_, file)) = golden else {
        // Other arithmetic rounds differently, and the hashes are from another machine. Two runs must still agree.
        assert_eq!(line(&SETTINGS[0], true), line(&SETTINGS[0], true));
        return;
    };
    let tier = if quick { "quick-" } else { "" };
    let path = format!("{}/tests/golden/{tier}{file}", env!("CARGO_MANIFEST_DIR"));
    let chosen = SETTINGS
        .par_iter()
        .filter(|setting| !quick || QUICK.contains(&setting.name));
    let lines: Vec<String> = chosen.map(|setting| line(setting, quick)).collect();
    let found = format!(
        "numerics {NUMERICS} {}\n{}\n",
        arithmetic(),
        lines.join("\n")
    );
    if env::var_os("INDUCT_WRITE_GOLDEN").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert_eq!(found, golden, "the bits of results have changed: {path}");
}

/// A setting, the steps of its short run, and hashes of all that was recorded and of the last weights.
fn line(setting: &Setting, quick: bool) -> String {
    let whole = setting.recipe(&[]).unwrap();
    // A step of more multiplications than this takes so long that a tenth of the steps must do.
    let long = whole.model().unwrap().multiplications() * whole.train.batch as f64 >= 1e9;
    // Interventions happen at steps up to 70.
    let most = match (quick, long) {
        (true, _) if !whole.intervene.is_empty() => 80,
        (false, false) => 100,
        (false, true) => 10,
        (true, _) => 4,
    };
    let steps = whole.train.steps.min(most);
    // Short, and measured on few sequences: every bit still depends on all of a setting's code.
    let mut overrides = vec![
        format!("train.steps={steps}"),
        format!("record.every={}", (steps / 2).max(1)),
        "record.snapshots=1".to_owned(),
        format!("record.test_sequences={}", if quick { 24 } else { 136 }),
    ];
    if quick {
        overrides.push("train.batch=16".to_owned());
    }
    let recipe = setting.recipe(&overrides).unwrap();
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    let run = Recorder::record(&recipe, instruments).unwrap();
    let records = run.history.rows().flatten();
    let records = hash(records.flat_map(|value| value.to_bits().to_le_bytes()));
    let (_, weights) = run.snapshots.last().unwrap();
    let weights = hash(weights.iter().flat_map(|weight| weight.to_le_bytes()));
    format!("{} {steps} {records:016x} {weights:016x}", setting.name)
}

/// FNV-1a, 64 bits.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
