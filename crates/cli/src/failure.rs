//! Failures, as the user sees them.

use std::fmt::{Display, Formatter};

use induct::Invalid;
use induct::chain::DrawError;
use induct::model::InputError;
use induct::probe::ProbeError;
use induct::train::RecipeError;
use induct_pictures::panels::PlotError;
use induct_store::{SessionError, SourceError, StoreError};
use induct_sweep::slurm::TIME_IS_UP;

/// Exit code of a mistake of the user's.
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
    /// A user's mistake.
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
            Failure::Mistake(message) => {
                let option = ["vary ", "set "]
                    .iter()
                    .find(|name| message.starts_with(**name));
                Failure::Mistake(match option {
                    Some(_) => format!("--{message}"),
                    None => message,
                })
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
        let before = |message: String| format!("{what}: {message}");
        match self {
            Failure::Mistake(message) => Failure::Mistake(before(message)),
            Failure::Failed(message) => Failure::Failed(before(message)),
            Failure::Interrupted(message) => Failure::Interrupted(before(message)),
            Failure::TimeIsUp(message) => Failure::TimeIsUp(before(message)),
        }
    }

    /// The same failure, followed by advice on what to do.
    pub fn with_advice(self, advice: &str) -> Self {
        let behind = |message: String| format!("{message}; {advice}");
        match self {
            Failure::Mistake(message) => Failure::Mistake(behind(message)),
            Failure::Failed(message) => Failure::Failed(behind(message)),
            Failure::Interrupted(message) => Failure::Interrupted(behind(message)),
            Failure::TimeIsUp(message) => Failure::TimeIsUp(behind(message)),
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

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Failure::mistake(error.to_string())
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Failure::Mistake(invalid.to_string())
    }
}

/// A part of another crate cannot be here, so what is left is a mistake of the recipe.
impl From<ProbeError> for Failure {
    fn from(error: ProbeError) -> Self {
        Failure::Mistake(error.to_string())
    }
}

impl From<DrawError> for Failure {
    fn from(error: DrawError) -> Self {
        Failure::Mistake(error.to_string())
    }
}

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
