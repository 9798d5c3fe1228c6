//! One file per command, and what they share.

pub mod ablate;
pub mod attention;
pub mod bench;
pub mod compare;
mod engines;
pub mod eval;
pub mod lab;
pub mod numbers;
pub mod plot;
pub mod predict;
pub mod presets;
pub mod reproduce;
pub mod sample;
pub mod show;
pub mod sweep;
pub mod theory;
pub mod train;

use std::borrow::Cow;
use std::io::{ErrorKind, Write};

use induct::lanes::{instructions, levels};
use serde::Serialize;

use crate::failure::Failure;

pub use crate::options::Threads;

/// The option, after a space, that makes another process compute as this one does; empty if it does so anyway
/// on a machine like this.
pub fn level_option() -> String {
    let level = instructions();
    match levels().next() {
        Some(best) if best == level => String::new(),
        _ => format!(" --level {level}"),
    }
}

/// A text without control characters, by which a name or a forged file could steer a terminal: they are shown
/// as JSON writes them, such as \\u001b.
pub fn plain(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(steers) {
        return text.into();
    }
    let mut shown = String::new();
    for c in text.chars() {
        match steers(c) {
            true => shown += &format!("\\u{:04x}", u32::from(c)),
            false => shown.push(c),
        }
    }
    shown.into()
}

/// Prints to standard output. A reader that has gone away (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(plain(text).as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot print: {error}")))
        }
        _ => Ok(()),
    }
}

/// The error for a snapshot whose outputs are not numbers.
pub fn not_a_number(run: &std::path::Path, step: u64) -> Failure {
    Failure::failed(format!(
        "{}: the model's output is not a number at step {step}, because the run diverged; \
         try an earlier --step",
        run.display()
    ))
}

/// Tells the user something on standard error. If nobody reads it, that is no reason to stop.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain(text));
}

/// A value as JSON, with a line break at the end.
pub fn in_json(value: &impl Serialize) -> String {
    // As a tree first: a key that stands twice has its last value, and numbers all their digits.
    let value = serde_json::to_value(value).expect("plain data");
    format!("{value:#}\n")
}
