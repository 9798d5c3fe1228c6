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
use induct::lanes::use_level;
use induct::model::RULES;
use induct::probe::Instruments;
use induct::run::{NUMERICS, Recorder, arithmetic};
use induct::train::no_snapshots;
use rayon::prelude::*;

/// Set in the process that computes at the portable level: a process computes at one level.
const PORTABLE: &str = "INDUCT_TEST_PORTABLE";

/// The arithmetic that each golden file was written with.
const GOLDEN: [(&str, &str); 2] = [("x86-64+fma", "numerics.txt"), ("portable", "portable.txt")];

/// Settings that use every engine and kernel between them.
const COVER: [&str; 8] = [
    "main",
    "many-states",
    "trigram",
    "layer-norm",
    "released",
    "many-interventions",
    "ten-states-mlp",
    "minimal",
];

/// Every rule by which an engine or kernel is chosen decides about the first step of one of them.
#[test]
fn the_quick_settings_use_every_rule() {
    let mut used = Vec::new();
    for name in COVER {
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
    check(&|setting| COVER.contains(&setting.name));
}

#[test]
fn portable_results_have_the_bits_of_their_numerics_version() {
    repeat_at_the_portable_level("numerics::results_have_the_bits_of_their_numerics_version");
}

#[test]
#[ignore = "slow: every setting"]
fn all_results_have_the_bits_of_their_numerics_version() {
    check(&|_| true);
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

/// Checks some settings against the golden file of this arithmetic, or writes it if `INDUCT_WRITE_GOLDEN` is set.
fn check(which: &(dyn Fn(&Setting) -> bool + Sync)) {
    if env::var_os(PORTABLE).is_some() {
        use_level("portable").unwrap();
        assert_eq!(arithmetic(), "portable");
    }
    let golden = GOLDEN
        .iter()
        .find(|(recorded, _)| *recorded == arithmetic());
    let Some((_, file)) = golden else {
        // Other arithmetic rounds differently, and the hashes are from another machine. Two runs must still agree.
        assert_eq!(line(&SETTINGS[0]), line(&SETTINGS[0]));
        return;
    };
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let chosen: Vec<&Setting> = SETTINGS.iter().filter(|setting| which(setting)).collect();
    let lines: Vec<String> = chosen.par_iter().map(|setting| line(setting)).collect();
    let head = format!("numerics {NUMERICS} {}", arithmetic());
    if env::var_os("INDUCT_WRITE_GOLDEN").is_some() {
        if chosen.len() == SETTINGS.len() {
            fs::write(&path, format!("{head}\n{}\n", lines.join("\n"))).unwrap();
        }
        return;
    }
    let golden = fs::read_to_string(&path).unwrap();
    let golden: Vec<&str> = golden.lines().collect();
    for found in lines.iter().chain([&head]) {
        assert!(
            golden.contains(&found.as_str()),
            "the bits of results have changed: {found} is not in {file}"
        );
    }
    assert_eq!(golden.len(), SETTINGS.len() + 1, "{file}");
}

/// A setting, the steps of its short run, and hashes of all that was recorded and of the last weights.
fn line(setting: &Setting) -> String {
    let whole = setting.recipe(&[]).unwrap();
    // A step of more multiplications than this takes so long that a tenth of the steps must do.
    let long = whole.model().unwrap().multiplications() * whole.train.batch as f64 >= 1e9;
    let steps = whole.train.steps.min(if long { 10 } else { 100 });
    // Short, and measured on few sequences: every bit still depends on all of a setting's code.
    let recipe = setting.recipe(&[
        format!("train.steps={steps}"),
        format!("record.every={}", (steps / 2).max(1)),
        "record.snapshots=1".to_owned(),
        "record.test_sequences=136".to_owned(),
    ]);
    let recipe = recipe.unwrap();
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
