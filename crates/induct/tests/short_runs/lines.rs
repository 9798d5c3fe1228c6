//! Results of short runs of settings, to the bit: hashes of what they record, column by
//! column, and of their last weights.

use std::fmt::Write;
use std::sync::Arc;

use induct::catalogue::Setting;
use induct::probe::Instruments;
use induct::run::{NUMERICS, Recorder, Recording, arithmetic};

/// Which results these are: the numerics version and the arithmetic.
pub fn head() -> String {
    format!("numerics {NUMERICS} {}\n", arithmetic())
}

/// One line per column and one for the weights.
pub fn lines(setting: &Setting) -> String {
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

/// Multiplications from which on a step takes so long that a run has a tenth of them.
const LONG_STEP: f64 = 1e9;

/// Short, and measured on few sequences: every bit still depends on all of a setting's code.
fn short_run(setting: &Setting) -> Recording {
    let whole = setting.recipe(&[]).unwrap();
    let work = whole.model().unwrap().multiplications() * whole.train.batch as f64;
    let steps = if work < LONG_STEP { 100 } else { 10 };
    let mut overrides = vec![
        format!("record.every={}", steps / 2),
        "record.snapshots=1".to_owned(),
        "record.test_sequences=136".to_owned(),
    ];
    if whole.train.steps > 0 {
        overrides.push(format!("train.steps={steps}"));
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
