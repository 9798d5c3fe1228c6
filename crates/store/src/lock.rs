//! One writer per folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::sync::Arc;

use crate::disk::{self, Disk, is_temporary};
use crate::error::StoreError;

/// Name of the file that is locked. It stays when the lock is released: removing it could let two writers in.
pub const LOCK: &str = ".lock";

/// The lock on a folder. The system releases it when the process ends, however it ends.
#[derive(Clone, Debug)]
pub struct Lock {
    _file: Arc<File>,
}

/// What a folder holds, apart from the lock and the leftovers of interrupted writes.
pub fn contents(path: &Path) -> Result<Vec<String>, StoreError> {
    let mut names = disk::names(path)?.unwrap_or_default();
    names.retain(|name| name != LOCK && !is_temporary(name));
    Ok(names)
}

impl Lock {
    /// Creates the folder if it does not exist, and locks it.
    pub fn take(disk: &Disk, path: &Path) -> Result<Self, StoreError> {
        disk.create_folder(path)?;
        let lock = path.join(LOCK);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock)
            .map_err(StoreError::io("write", &lock))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
                path: path.to_owned(),
            }),
            // A file system without locks is no reason to refuse.
            Err(TryLockError::Error(_)) | Ok(()) => Ok(Self {
                _file: Arc::new(file),
            }),
        }
    }
}

/// Removes the leftovers of interrupted writes from a locked folder.
pub fn clean(disk: &Disk, path: &Path) -> Result<(), StoreError> {
    for name in disk::names(path)?.unwrap_or_default() {
        if is_temporary(&name) {
            disk.remove(&path.join(name))?;
        }
    }
    Ok(())
}
