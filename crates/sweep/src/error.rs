//! What can go wrong with a sweep.

use std::path::PathBuf;

use induct_store::StoreError;

/// What went wrong with a sweep.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// Something impossible was asked for.
    #[error("{0}")]
    Usage(String),
    /// A file or folder cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A folder holds no sweep.
    #[error("{} holds no sweep: it has no sweep.json; `induct sweep plan STUDY.toml --out {}` makes one", path.display(), path.display())]
    NoSweep {
        /// The folder.
        path: PathBuf,
    },
    /// Work that could not be done.
    #[error("{0}")]
    Failed(String),
}

impl SweepError {
    /// Something impossible was asked for.
    pub fn usage(what: impl Into<String>) -> Self {
        SweepError::Usage(what.into())
    }

    /// A refusal of the operating system's.
    pub(crate) fn io<'a>(
        what: &'static str,
        path: &'a std::path::Path,
    ) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |error| {
            StoreError::Io {
                what,
                path: path.to_owned(),
                error,
            }
            .into()
        }
    }
}
