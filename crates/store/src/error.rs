//! What can go wrong with folders.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong with a folder or a file in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refuses.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Something else is where a file should be.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// What it is called.
        path: PathBuf,
    },
    /// There is no run.
    #[error("{} is not a run: it has no recipe.toml", path.display())]
    NotARun {
        /// Where one was expected.
        path: PathBuf,
    },
    /// There is a run already, where a new one was to begin.
    #[error("{} already holds a run", path.display())]
    HoldsARun {
        /// Where.
        path: PathBuf,
    },
    /// There is something else.
    #[error("{} is not empty and holds no {expected} (it has {found})", path.display())]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What was expected.
        expected: &'static str,
        /// Something that is there.
        found: String,
    },
    /// Somebody else is at work there.
    #[error("another process is at work in {}", path.display())]
    InUse {
        /// Where.
        path: PathBuf,
    },
    /// A file is not what was written.
    #[error("{} is damaged or was changed: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A run cannot be taken for the one that is asked for.
    #[error("{}: {why}", path.display())]
    Different {
        /// Its folder.
        path: PathBuf,
        /// In which way it differs.
        why: String,
    },
    /// A run was computed with arithmetic that rounds differently, so its rest would not fit.
    #[error("{}: it was computed with {of_run} arithmetic, this process computes with {own}", path.display())]
    OtherArithmetic {
        /// Its folder.
        path: PathBuf,
        /// The run's arithmetic.
        of_run: String,
        /// This process's.
        own: String,
    },
    /// There is nothing to show yet.
    #[error("{} has recorded nothing yet", path.display())]
    NothingRecorded {
        /// The run's folder.
        path: PathBuf,
    },
    /// There is no snapshot at the step asked for.
    #[error("{} has no snapshot at step {step}; {nearest}", path.display())]
    NoSnapshot {
        /// The run's folder.
        path: PathBuf,
        /// The step asked for.
        step: u64,
        /// Which there are, in words.
        nearest: String,
    },
    /// There is no snapshot at all.
    #[error("{} has no snapshots yet", path.display())]
    NoSnapshots {
        /// The run's folder.
        path: PathBuf,
    },
}

impl StoreError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io {
            what,
            path: path.to_owned(),
            error,
        }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    /// Whether what is there is not what it should be, as opposed to what could not be read.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::NotARun { .. }
                | Self::NotAFile { .. }
                | Self::Damaged { .. }
                | Self::Different { .. }
                | Self::OtherArithmetic { .. }
                | Self::NothingRecorded { .. }
                | Self::NoSnapshot { .. }
                | Self::NoSnapshots { .. }
        )
    }

    /// Whether it lies with the machine, not with what was asked for: the same call may succeed later.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Io { what, .. } if !["read", "use"].contains(what))
    }
}
