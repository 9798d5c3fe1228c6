//! The program `induct`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(induct_cli::main(std::env::args_os()))
}
