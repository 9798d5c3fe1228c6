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

use std::io::{ErrorKind, Write};

use clap::Args;
use induct::lanes::{instructions, levels};

use crate::failure::Failure;

/// The option of commands that compute in parallel.
#[derive(Args)]
pub struct Threads {
    /// Number of threads; all cores if not given. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = numbers::whole_within(1..=1024))]
    threads: Option<u64>,
}

impl Threads {
    /// Does `work` in a thread pool of this size.
    pub fn run<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads.map_or(0, |threads| threads as usize))
            .build()
            .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))?
            .install(work)
    }
}

/// The option, after a space, that makes another process compute as this one does; empty if it does so anyway
/// on a machine like this.
pub fn level_option() -> String {
    let level = instructions();
    match levels().next() {
        Some(best) if best == level => String::new(),
        _ => format!(" --level {level}"),
    }
}

/// Prints to standard output. A reader that has gone away (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
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
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a value as JSON.
pub fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("plain data");
    print(&(text + "\n"))
}
