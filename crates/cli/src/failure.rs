//! What can go wrong, as the user is told.

use std::fmt::{Display, Formatter};
use std::process::ExitCode;

use induct::Invalid;
use induct::train::RecipeError;

/// A command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The user asked for something impossible: exit code 2.
    Mistake(String),
    /// The work itself failed: exit code 1.
    Failed(String),
}

impl Failure {
    /// A user's mistake.
    pub fn mistake(message: impl Into<String>) -> Self {
        Failure::Mistake(message.into())
    }

    /// A failure of the work.
    pub fn failed(message: impl Into<String>) -> Self {
        Failure::Failed(message.into())
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Mistake(_) => ExitCode::from(2),
            Failure::Failed(_) => ExitCode::from(1),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (Failure::Mistake(message) | Failure::Failed(message)) = self;
        f.write_str(message)
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Failure::Mistake(invalid.to_string())
    }
}

impl From<RecipeError> for Failure {
    fn from(error: RecipeError) -> Self {
        Failure::Mistake(error.to_string())
    }
}
