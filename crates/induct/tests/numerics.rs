//! The bits of results: hashes of what short runs of every setting record, column by
//! column, and of their last weights.
//!
//! A changed hash means that this version's results differ from the previous version's. If that is intended,
//! raise `induct::run::NUMERICS` and rewrite the files: `INDUCT_WRITE_GOLDEN=1 cargo test -p induct --test
//! numerics --test portable`.

use induct::catalogue::SETTINGS;
use induct::run::arithmetic;
use rayon::prelude::*;

mod short_runs;

/// From runs of the program at the time the numerics version was last raised, with this arithmetic.
const GOLDEN: (&str, &str) = ("numerics.txt", "x86-64+fma");

#[test]
fn results_have_the_bits_of_their_numerics_version() {
    let (file, recorded) = GOLDEN;
    if arithmetic() != recorded {
        // Other arithmetic rounds differently, and the hashes are from another
        // machine. Two runs must still agree.
        let lines = || short_runs::lines(&SETTINGS[0]);
        assert_eq!(lines(), lines());
        return;
    }
    let found: Vec<String> = SETTINGS.par_iter().map(short_runs::lines).collect();
    short_runs::check_against_golden(file, &(short_runs::head() + &found.concat()));
}
