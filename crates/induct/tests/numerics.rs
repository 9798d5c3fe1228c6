//! The bits of results: hashes of what short runs of every setting record, column by column, and of their last weights.
//!
//! A changed hash means that this version's results differ from the previous version's. If that is intended,
//! raise `induct::run::NUMERICS` and rewrite the files: `INDUCT_WRITE_GOLDEN=1 cargo test -p induct --test tests numerics`.
//! `tests/wasm` checks WebAssembly against the portable file.

#![allow(
    clippy::disallowed_methods,
    reason = "a test has an environment and processes"
)]

use std::env;
use std::process::Command;

use induct::catalogue::SETTINGS;
use induct::lanes::use_level;
use induct::run::arithmetic;
use rayon::prelude::*;

use crate::short_runs;

/// Set in the process that computes at the portable level: a process computes at one level.
const PORTABLE: &str = "INDUCT_TEST_PORTABLE";

/// The arithmetic that each golden file was written with.
const GOLDEN: [(&str, &str); 2] = [("x86-64+fma", "numerics.txt"), ("portable", "portable.txt")];

#[test]
fn results_have_the_bits_of_their_numerics_version() {
    if env::var_os(PORTABLE).is_some() {
        use_level("portable").unwrap();
        assert_eq!(arithmetic(), "portable");
    }
    let golden = GOLDEN
        .iter()
        .find(|(recorded, _)| *recorded == arithmetic());
    let Some((_, file)) = golden else {
        // Other arithmetic rounds differently, and the hashes are from another machine. Two runs must still agree.
        let lines = || short_runs::lines(&SETTINGS[0]);
        assert_eq!(lines(), lines());
        return;
    };
    let found: Vec<String> = SETTINGS.par_iter().map(short_runs::lines).collect();
    short_runs::check_against_golden(file, &(short_runs::head() + &found.concat()));
}

#[test]
fn portable_results_have_the_bits_of_their_numerics_version() {
    let program = env::current_exe().unwrap();
    let status = Command::new(program)
        .args([
            "--exact",
            "numerics::results_have_the_bits_of_their_numerics_version",
        ])
        .env(PORTABLE, "1")
        .status()
        .unwrap();
    assert!(status.success());
}
