//! The command line of Induct: parse, call, print.
//!
//! [`main`] is all of it. The program `induct` calls it, and so does the Python package, whose command is the
//! same.

mod browser;
mod chapter_folder;
mod chart;
mod commands;
mod failure;
mod figure_files;
mod interrupt;
mod options;
mod out_file;
mod progress;
mod recipes;
mod recorded;
mod report;
mod run_at;
mod session;
mod stored_model;
mod story;
mod table;
mod tokens;
mod words;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};

use commands::{
    ablate, attention, bench, compare, eval, lab, plot, predict, presets, reproduce, sample, show,
    sweep, theory, train,
};
use failure::Failure;
use induct::lanes::{instructions, use_level};

/// A laboratory for watching in-context learning emerge.
#[derive(Parser)]
#[command(name = "induct", version, arg_required_else_help = true)]
struct Arguments {
    /// Instructions to compute with, such as avx2+fma; the best of this machine if not given. With
    /// `portable`, results are the same bytes on every machine
    #[arg(long, global = true, value_name = "NAME")]
    level: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Presets(presets::Arguments),
    Train(train::Arguments),
    Sweep(sweep::Arguments),
    Show(show::Arguments),
    Plot(plot::Arguments),
    Compare(compare::Arguments),
    Lab(lab::Arguments),
    Predict(predict::Arguments),
    Attention(attention::Arguments),
    Ablate(ablate::Arguments),
    Eval(eval::Arguments),
    Sample(sample::Arguments),
    Theory(theory::Arguments),
    Reproduce(reproduce::Arguments),
    Bench(bench::Arguments),
}

/// Does what the arguments say, the program's name first. Returns the exit code: 0, 2 for a usage
/// error, 1 for work that failed, 130 for an interrupted command.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let _ = CALLED.set(arguments.first().cloned().unwrap_or_default());
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(answer) => {
            match answer.use_stderr() {
                true => commands::note(answer.to_string().trim_end()),
                // Help or the version; nobody may be there to read it.
                false => drop(answer.print()),
            }
            let _ = std::io::stdout().flush();
            return u8::try_from(answer.exit_code()).unwrap_or(failure::USAGE);
        }
    };
    match run(&arguments) {
        Ok(()) => 0,
        Err(failure) => {
            commands::note(&format!("induct: {failure}"));
            failure.exit_code
        }
    }
}

/// The name that this program was called by.
static CALLED: OnceLock<OsString> = OnceLock::new();

/// How other processes call this program. In the Python package, the process is an interpreter's, and the
/// program the script that it was called by.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    if own.file_stem().is_some_and(|name| name == "induct") {
        return own;
    }
    let called = PathBuf::from(CALLED.get().cloned().unwrap_or_default());
    std::fs::canonicalize(&called).unwrap_or(called)
}

static PINNED: AtomicBool = AtomicBool::new(false);

/// The level that `--level` names, if it was given.
fn pinned_level() -> Option<String> {
    let pinned = PINNED.load(Ordering::Relaxed);
    pinned.then(|| instructions().to_owned())
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(level) = &arguments.level {
        use_level(level)
            .inspect(|()| PINNED.store(true, Ordering::Relaxed))
            .map_err(|invalid| Failure::usage(format!("--level {level}: {}", invalid.allowed)))?;
    }
    match &arguments.command {
        Command::Presets(arguments) => presets::run(arguments),
        Command::Train(arguments) => train::run(arguments),
        Command::Sweep(arguments) => sweep::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Plot(arguments) => plot::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Lab(arguments) => lab::run(arguments),
        Command::Predict(arguments) => predict::run(arguments),
        Command::Attention(arguments) => attention::run(arguments),
        Command::Ablate(arguments) => ablate::run(arguments),
        Command::Eval(arguments) => eval::run(arguments),
        Command::Sample(arguments) => sample::run(arguments),
        Command::Theory(arguments) => theory::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    }
}
