//! Why a request cannot be answered.

use std::fmt::Display;

use induct::Invalid;
use induct::chain::DrawError;
use induct::model::InputError;
use induct::probe::ProbeError;
use induct::recipe::RecipeError;
use induct::run::Unfit;
use induct_store::StoreError;
use serde::Serialize;

/// Why a request cannot be answered, for people to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Path of the setting that is at fault, such as `task.prior.alpha`, if it is one.
    pub field: Option<String>,
    /// What is wrong, and what is allowed.
    pub sentence: String,
}

impl Problem {
    /// A problem that no single setting is at fault for.
    pub fn new(sentence: impl Display) -> Self {
        Self {
            field: None,
            sentence: sentence.to_string(),
        }
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Self {
            sentence: invalid.to_string(),
            field: Some(invalid.field),
        }
    }
}

impl From<RecipeError> for Problem {
    fn from(error: RecipeError) -> Self {
        let field = match &error {
            RecipeError::Invalid(invalid) => Some(invalid.field.clone()),
            RecipeError::Key { path, .. } => Some(path.clone()),
            RecipeError::Override { text, .. } => {
                text.split_once('=').map(|(key, _)| key.trim().to_owned())
            }
            RecipeError::Syntax(_) | RecipeError::TooDeep | RecipeError::AboutWeights { .. } => {
                None
            }
        };
        Self {
            field,
            sentence: error.to_string(),
        }
    }
}

impl From<ProbeError> for Problem {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::Invalid(invalid) => invalid.into(),
            other => Self::new(other),
        }
    }
}

/// Errors that are about no setting.
macro_rules! plain {
    ($($error:ty),*) => {
        $(impl From<$error> for Problem {
            fn from(error: $error) -> Self {
                Self::new(error)
            }
        })*
    };
}

plain!(InputError, DrawError, Unfit, StoreError);
