//! The command line of Induct: parse, call, print.

mod chapter_folder;
mod chart;
mod commands;
mod failure;
mod figure_files;
mod interrupt;
mod progress;
mod recipes;
mod session;
mod story;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{bench, eval, predict, presets, reproduce, sample, show, sweep, theory, train};

/// A laboratory for watching in-context learning form.
#[derive(Parser)]
#[command(name = "induct", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Presets(presets::Arguments),
    Train(train::Arguments),
    Sweep(sweep::Arguments),
    Show(show::Arguments),
    Predict(predict::Arguments),
    Eval(eval::Arguments),
    Sample(sample::Arguments),
    Theory(theory::Arguments),
    Reproduce(reproduce::Arguments),
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::Presets(arguments) => presets::run(arguments),
        Command::Train(arguments) => train::run(arguments),
        Command::Sweep(arguments) => sweep::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Predict(arguments) => predict::run(arguments),
        Command::Eval(arguments) => eval::run(arguments),
        Command::Sample(arguments) => sample::run(arguments),
        Command::Theory(arguments) => theory::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            commands::note(&format!("induct: {failure}"));
            failure.exit_code()
        }
    }
}
