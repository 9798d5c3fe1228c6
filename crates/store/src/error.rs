//! What can go wrong with a folder.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong with a folder or a file in it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// Something else is where a file should be.
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    /// A link is where a file or folder of a run should be.
    #[error("{} is a link: a run's files must be in its own folder", path.display())]
    Link { path: PathBuf },
    /// There is no run.
    #[error("{} is not a run: it has no recipe.toml", path.display())]
    NotARun { path: PathBuf },
    /// There is a run already, where a new one was to start.
    #[error("{} already holds a run", path.display())]
    HoldsARun { path: PathBuf },
    /// The folder holds something else.
    #[error("{} is not empty and holds no {expected} (it has {found})", path.display())]
    Foreign {
        path: PathBuf,
        expected: &'static str,
        found: String,
    },
    /// Another process holds the lock.
    #[error("another process is working in {}", path.display())]
    InUse { path: PathBuf },
    /// A file is not what was written.
    #[error("{} is damaged, edited or missing: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    /// A part of the run is another program's.
    #[error("{}: {what}", path.display())]
    MissingPart { path: PathBuf, what: String },
    /// The run is not the one asked for.
    #[error("{}: {why}", path.display())]
    Different { path: PathBuf, why: String },
    /// A run was computed with arithmetic that rounds differently, so the results would not match.
    #[error(
        "{}: it was computed with {of_run} arithmetic, and this process computes with {of_process}",
        path.display()
    )]
    OtherArithmetic {
        path: PathBuf,
        of_run: String,
        of_process: String,
    },
    /// There is no record to show yet.
    #[error("{} has recorded nothing yet", path.display())]
    NothingRecorded { path: PathBuf },
    /// There is no snapshot at the step asked for.
    #[error("{} has no snapshot at step {step}; {nearest}", path.display())]
    NoSnapshot {
        path: PathBuf,
        step: u64,
        nearest: String,
    },
    /// There is no snapshot at all.
    #[error("{} has no snapshots yet", path.display())]
    NoSnapshots { path: PathBuf },
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

    /// Whether the files could be read but are not what they should be.
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

    /// Whether the machine is to blame rather than the request: the same call may succeed later.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Io { what, .. } if !["read", "use"].contains(what))
    }
}
