//! The bits of results: hashes of what short runs of every setting record, column by column, and of their
//! last weights.
//!
//! A hash that changes means that results of this version are not those of the one before. If that is meant,
//! raise `induct::run::NUMERICS` and write the files anew:
//! `INDUCT_WRITE_GOLDEN=1 cargo test -p induct --test numerics --test portable`.

use induct::catalogue::SETTINGS;
use induct::run::arithmetic;
use rayon::prelude::*;

mod short_runs;

/// From runs of the program as it was when the numerics version was last raised, with this arithmetic.
const GOLDEN: (&str, &str) = ("numerics.txt", "x86-64+fma");

#[test]
fn results_have_the_bits_of_their_numerics_version() {
    let (file, recorded) = GOLDEN;
    if arithmetic() != recorded {
        // Other arithmetic rounds differently: the hashes are of another machine. Two runs must still agree.
        let lines = || short_runs::lines(&SETTINGS[0]);
        assert_eq!(lines(), lines());
        return;
    }
    let found: Vec<String> = SETTINGS.par_iter().map(short_runs::lines).collect();
    short_runs::check_against_golden(file, &(short_runs::head() + &found.concat()));
}
