//! The command line of Induct.
fn main() {}
