//! `induct theory`: the paper's formulas held against the truth, and exact steps of the minimal model.

mod gradient;
mod ledger;
mod numbers;
mod step;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Check the paper's formulas against exact computation, or compute exact gradient steps of the minimal model
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    ledger: ledger::LedgerArguments,
}

#[derive(Subcommand)]
enum Command {
    Step(step::Arguments),
    Gradient(gradient::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        None => ledger::run(&arguments.ledger),
        Some(Command::Step(arguments)) => step::run(arguments),
        Some(Command::Gradient(arguments)) => gradient::run(arguments),
    }
}
