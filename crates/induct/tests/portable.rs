//! The bits of results at the portable level, which every machine, and a browser, can compute: hashes as in
//! `numerics.rs`. `tests/wasm` checks WebAssembly against the same file.
//!
//! This is a separate program, because a process computes at one level.

use induct::catalogue::SETTINGS;
use induct::lanes::use_level;
use induct::run::arithmetic;
use rayon::prelude::*;

mod short_runs;

#[test]
fn portable_results_have_the_bits_of_their_numerics_version() {
    use_level("portable").unwrap();
    assert_eq!(arithmetic(), "portable");
    let found: Vec<String> = SETTINGS.par_iter().map(short_runs::lines).collect();
    short_runs::check_against_golden("portable.txt", &(short_runs::head() + &found.concat()));
}
