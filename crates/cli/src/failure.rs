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
pub const MISTAKE: u8 = 2;

/// Exit code of work that failed.
const FAILED: u8 = 1;

/// Exit code of an interrupted command: 128 + SIGINT, as in shells.
pub const INTERRUPTED: u8 = 130;

/// A command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The user asked for something impossible: exit code 2.
    Mistake(String),
    /// The work itself failed: exit code 1.
    Failed(String),
    /// The user interrupted it: exit code 130.
    Interrupted(String),
    /// It stopped because its time is nearly up: exit code 75.
    TimeIsUp(String),
}

impl Failure {
    /// A usage error.
    pub fn mistake(message: impl Into<String>) -> Self {
        Failure::Mistake(message.into())
    }

    /// A failure of the work.
    pub fn failed(message: impl Into<String>) -> Self {
        Failure::Failed(message.into())
    }

    /// The same failure in words of the command line's options, where it names keys of a study.
    pub fn for_options(self) -> Self {
        match self {
            Failure::Mistake(message)
                if message.starts_with("vary ") || message.starts_with("set ") =>
            {
                Failure::Mistake(format!("--{message}"))
            }
            other => other,
        }
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Mistake(_) => MISTAKE,
            Failure::Failed(_) => FAILED,
            Failure::Interrupted(_) => INTERRUPTED,
            Failure::TimeIsUp(_) => TIME_IS_UP,
        }
    }

    /// The same failure, prefixed with what was being done.
    pub fn while_at(self, what: &str) -> Self {
        self.reworded(|message| format!("{what}: {message}"))
    }

    /// The same failure, followed by advice on what to do.
    pub fn with_advice(self, advice: &str) -> Self {
        self.reworded(|message| format!("{message}; {advice}"))
    }

    fn reworded(self, reword: impl FnOnce(String) -> String) -> Self {
        match self {
            Failure::Mistake(message) => Failure::Mistake(reword(message)),
            Failure::Failed(message) => Failure::Failed(reword(message)),
            Failure::Interrupted(message) => Failure::Interrupted(reword(message)),
            Failure::TimeIsUp(message) => Failure::TimeIsUp(reword(message)),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (Failure::Mistake(message)
        | Failure::Failed(message)
        | Failure::Interrupted(message)
        | Failure::TimeIsUp(message)) = self;
        f.write_str(message)
    }
}

/// Errors of the library that are usage errors here: a part of another crate cannot be in a recipe that was
/// read.
macro_rules! usage_errors {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::Mistake(error.to_string())
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
        Failure::Mistake(format!("{option}{error}"))
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        let option = match error {
            PlotError::Unknown { .. } => "--measure",
            PlotError::TooMany { .. } => "--measure asks for",
        };
        Failure::Mistake(format!("{option} {error}"))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error.is_failure() {
            true => Failure::Failed(error.to_string()),
            false => Failure::Mistake(error.to_string()),
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Store(error) => error.into(),
            SourceError::Recipe(_) | SourceError::OtherModel { .. } => {
                Failure::Mistake(error.to_string())
            }
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Prior(_) => Failure::Failed(error.to_string()),
            SessionError::Watcher(never) => match never {},
            SessionError::Recipe(_) | SessionError::Probe(_) | SessionError::Unfit { .. } => {
                Failure::Mistake(error.to_string())
            }
        }
    }
}
