//! Folders for what the program makes besides runs: a report, a sweep, a chapter.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::lock::Lock;
use crate::regular::read_start;
use crate::storage::Storage;

/// What marks a folder as one of ours: a JSON file that says which command made it.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Name of the file.
    pub file: &'static str,
    /// The value of its `made_by` entry.
    pub made_by: &'static str,
    /// What such a folder holds, for error messages.
    pub holds: &'static str,
}

/// The most bytes of a file in such a folder.
const MOST: u64 = 1 << 28;

/// A folder of ours, locked against other writers.
#[derive(Debug)]
pub struct OutputFolder {
    storage: Storage,
    _lock: Lock,
}

impl Mark {
    /// Whether a folder has this mark. The start of the file is enough, so that a damaged folder of ours is
    /// still recognised.
    fn is_in(self, folder: &Storage) -> Result<bool, StoreError> {
        let start = format!("{{\n  \"made_by\": \"{}\"", self.made_by);
        let path = folder.path().join(self.file);
        match read_start(&path, start.len() as u64) {
            Ok(bytes) => Ok(bytes == start.as_bytes()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("read", &path)(error)),
        }
    }

    /// Refuses a folder that holds something else. Changes nothing.
    pub fn check(self, path: &Path) -> Result<(), StoreError> {
        let folder = Storage::on_disk(path);
        match folder.contents()?.into_iter().next() {
            Some(found) if !self.is_in(&folder)? => Err(StoreError::Foreign {
                path: path.to_owned(),
                expected: self.holds,
                found,
            }),
            _ => Ok(()),
        }
    }
}

impl OutputFolder {
    /// Locks a folder: a new or empty one, or one with the same mark. Any other folder is refused and left
    /// untouched.
    pub fn claim(path: &Path, mark: Mark) -> Result<Self, StoreError> {
        mark.check(path)?;
        let storage = Storage::on_disk(path);
        let lock = storage.lock()?;
        // Another process may have come between the check and the lock.
        mark.check(path)?;
        storage.clean()?;
        let folder = Self {
            storage,
            _lock: lock,
        };
        if !mark.is_in(&folder.storage)? {
            let version = env!("CARGO_PKG_VERSION");
            let about = serde_json::json!({ "made_by": mark.made_by, "version": version });
            folder.write(mark.file, format!("{about:#}\n").as_bytes())?;
        }
        Ok(folder)
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        self.storage.path()
    }

    /// The path of a file or folder inside it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file by its path inside the folder, atomically.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let (folder, _) = name.rsplit_once('/').unwrap_or_default();
        self.storage.create_folder(folder)?;
        self.storage.write(name, bytes)
    }

    /// Reads a file by its path inside the folder; `None` if it does not exist.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.storage.read(name, MOST)
    }

    /// The names in a subfolder, sorted.
    pub fn names(&self, name: &str) -> Result<Vec<String>, StoreError> {
        self.storage.names(name)
    }
}
