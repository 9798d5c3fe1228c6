//! Failures, as the user sees them.

use std::fmt::{Display, Formatter};

use induct::Invalid;
use induct::chain::DrawError;
use induct::model::InputError;
use induct::probe::ProbeError;
use induct::recipe::RecipeError;
use induct_pictures::panels::PlotError;
use induct_store::{SessionError, SourceError, StoreError};
use induct_sweep::slurm::TIME_IS_UP;

/// Exit code of a usage error.
pub const USAGE: u8 = 2;

/// Exit code of work that failed.
const FAILED: u8 = 1;

/// Exit code of an interrupted command: 128 + SIGINT, as in shells.
pub const INTERRUPTED: u8 = 130;

/// Why a command did not succeed.
#[derive(Debug)]
pub struct Failure {
    pub exit_code: u8,
    message: String,
}

impl Failure {
    fn new(exit_code: u8, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { exit_code, message }
    }

    /// The user asked for something impossible.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// The work itself failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FAILED, message)
    }

    /// The user interrupted it.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self::new(INTERRUPTED, message)
    }

    /// It stopped because its time is nearly up.
    pub fn time_is_up(message: impl Into<String>) -> Self {
        Self::new(TIME_IS_UP, message)
    }

    /// The same failure in words of the command line's options, where it names keys of a study.
    pub fn for_options(mut self) -> Self {
        if ["vary ", "set "]
            .iter()
            .any(|key| self.message.starts_with(key))
        {
            self.message.insert_str(0, "--");
        }
        self
    }

    pub fn while_at(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    pub fn with_advice(mut self, advice: &str) -> Self {
        self.message = format!("{}; {advice}", self.message);
        self
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Errors of the library that are usage errors here: a part of another crate cannot be in a recipe that was
/// read.
macro_rules! usage_errors {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::usage(error.to_string())
            }
        }
    )*};
}

usage_errors!(InputError, Invalid, ProbeError, DrawError);

impl From<RecipeError> for Failure {
    fn from(error: RecipeError) -> Self {
        let option = match error {
            RecipeError::Override { .. } => "--set ",
            _ => "",
        };
        Failure::usage(format!("{option}{error}"))
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        let option = match error {
            PlotError::Unknown { .. } => "--measure",
            PlotError::TooMany { .. } => "--measure asks for",
        };
        Failure::usage(format!("{option} {error}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error.is_failure() {
            true => Failure::failed(error.to_string()),
            false => Failure::usage(error.to_string()),
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Store(error) => error.into(),
            other => Failure::usage(other.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Prior(_) => Failure::failed(error.to_string()),
            SessionError::Watcher(never) => match never {},
            other => Failure::usage(other.to_string()),
        }
    }
}
