//! Short runs, and the golden files that their results are checked against.

mod lines;

pub use lines::*;

/// Checks results against `tests/golden/NAME`, or writes them there if `INDUCT_WRITE_GOLDEN` is set.
#[allow(
    clippy::disallowed_methods,
    reason = "a test has an environment and files"
)]
pub fn check_against_golden(name: &str, found: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("INDUCT_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, found).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    for (found, golden) in found.lines().zip(golden.lines()) {
        assert_eq!(found, golden, "the bits of results have changed");
    }
    assert_eq!(found.lines().count(), golden.lines().count());
}
