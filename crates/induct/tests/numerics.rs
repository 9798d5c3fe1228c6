//! The bits of results: hashes of what short runs of every setting record, column by column, and of their last weights.
//!
//! A hash that changes means that results of this version are not those of the one before. If that is meant, raise
//! `induct::run::NUMERICS` and write the file anew: `INDUCT_WRITE_GOLDEN=1 cargo test -p induct --test numerics`.

use std::fmt::Write;
use std::sync::Arc;

use induct::catalogue::{SETTINGS, Setting};
use induct::probe::Instruments;
use induct::run::{NUMERICS, Recorder, Recording, arithmetic};
use rayon::prelude::*;

/// From runs of the program as it was when the numerics version was last raised.
const GOLDEN: &str = include_str!("golden/numerics.txt");

/// Short, and measured on few sequences: every bit still depends on all of a setting's code.
fn short_run(setting: &Setting) -> Recording {
    let mut overrides = vec![
        "record.every=50".to_owned(),
        "record.snapshots=1".to_owned(),
        "record.test_sequences=136".to_owned(),
    ];
    if setting.recipe(&[]).unwrap().train.steps > 0 {
        overrides.push("train.steps=100".into());
    }
    let recipe = setting.recipe(&overrides).unwrap();
    let instruments = Arc::new(Instruments::new(&recipe).unwrap());
    Recorder::record(&recipe, instruments).unwrap()
}

/// FNV-1a, 64 bits.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn lines(setting: &Setting) -> String {
    let run = short_run(setting);
    let mut text = String::new();
    for column in run.history.columns() {
        let values = run.history.column(column.clone()).unwrap();
        let hash = hash(values.iter().flat_map(|v| v.to_bits().to_le_bytes()));
        writeln!(text, "{} {column} {hash:016x}", setting.name).unwrap();
    }
    let (_, weights) = run.snapshots.last().unwrap();
    let hash = hash(weights.iter().flat_map(|w| w.to_le_bytes()));
    writeln!(text, "{} weights {hash:016x}", setting.name).unwrap();
    text
}

#[test]
fn results_have_the_bits_of_their_numerics_version() {
    let found: Vec<String> = SETTINGS.par_iter().map(lines).collect();
    let found = format!("numerics {NUMERICS} {}\n{}", arithmetic(), found.concat());
    if std::env::var_os("INDUCT_WRITE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/numerics.txt");
        std::fs::write(path, &found).unwrap();
        return;
    }
    let (head, _) = GOLDEN.split_once('\n').unwrap();
    let recorded = head.rsplit(' ').next().unwrap();
    if recorded != arithmetic() {
        // Other arithmetic rounds otherwise: the hashes are of another machine. Two runs must agree all the same.
        assert_eq!(lines(&SETTINGS[0]), lines(&SETTINGS[0]));
        return;
    }
    for (found, golden) in found.lines().zip(GOLDEN.lines()) {
        assert_eq!(found, golden, "the bits of results have changed");
    }
    assert_eq!(found.lines().count(), GOLDEN.lines().count());
}
