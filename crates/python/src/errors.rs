//! Errors of the library as Python's exceptions, with the same sentences.

use induct::Invalid;
use induct::chain::DrawError;
use induct::model::InputError as BadInput;
use induct::probe::ProbeError;
use induct::recipe::RecipeError as BadRecipe;
use induct::run::Unfit;
use induct::strategy::PredictError;
use induct_lab_page::PageError;
use induct_pictures::panels::PlotError;
use induct_store::{SessionError, SourceError, StoreError};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError};
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(induct._errors, RecipeError);
import_exception!(induct._errors, InputError);
import_exception!(induct._errors, RunError);

/// An error of the library, on its way to Python.
pub struct Failure(PyErr);

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure(error)
    }
}

impl Failure {
    /// A request that cannot be met.
    pub fn input(message: impl Into<String>) -> Self {
        Failure(InputError::new_err(message.into()))
    }

    /// A run that cannot be used, or could not be trained.
    pub fn run(message: impl Into<String>) -> Self {
        Failure(RunError::new_err(message.into()))
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        let message = invalid.to_string();
        let Invalid {
            field,
            value,
            allowed,
        } = invalid;
        Failure(RecipeError::new_err((message, field, value, allowed)))
    }
}

impl From<BadRecipe> for Failure {
    fn from(error: BadRecipe) -> Self {
        match error {
            BadRecipe::Invalid(invalid) => invalid.into(),
            BadRecipe::Key { ref path, .. } => {
                Failure(RecipeError::new_err((error.to_string(), path.clone())))
            }
            BadRecipe::AboutWeights { .. } => Self::input(error.to_string()),
            _ => Failure(RecipeError::new_err(error.to_string())),
        }
    }
}

/// Errors that are all requests that cannot be met, or all runs that cannot be used.
macro_rules! all {
    ($kind:ident: $($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$kind(error.to_string())
            }
        })*
    };
}

all!(input: BadInput, PredictError, PlotError);
all!(run: DrawError, PageError);

impl From<ProbeError> for Failure {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::Invalid(invalid) => invalid.into(),
            ProbeError::Prior(_) | ProbeError::Answer { .. } => Self::run(error.to_string()),
        }
    }
}

impl From<Unfit> for Failure {
    fn from(error: Unfit) -> Self {
        match error {
            Unfit::Recipe(invalid) => invalid.into(),
            Unfit::State { .. } | Unfit::Records { .. } => Self::run(error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match &error {
            StoreError::NotARun { path } if !path.exists() => {
                Failure(PyFileNotFoundError::new_err(message))
            }
            StoreError::NoSnapshot { .. } | StoreError::NoSnapshots { .. } => Self::input(message),
            _ if error.is_failure() => Failure(PyOSError::new_err(message)),
            _ => Self::run(message),
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Recipe(invalid) => invalid.into(),
            SourceError::Store(error) => error.into(),
            SourceError::OtherModel { .. } => Self::run(error.to_string()),
        }
    }
}

impl<W: Into<Failure> + std::fmt::Display> From<SessionError<W>> for Failure {
    fn from(error: SessionError<W>) -> Self {
        match error {
            SessionError::Recipe(invalid) => invalid.into(),
            SessionError::Probe(error) => error.into(),
            SessionError::Store(error) => error.into(),
            SessionError::Watcher(error) => error.into(),
            SessionError::Unfit { .. } | SessionError::Prior(_) => Self::run(error.to_string()),
        }
    }
}
