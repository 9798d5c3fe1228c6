//! One writer per folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::sync::Arc;

use crate::error::StoreError;
use crate::storage::Storage;

/// Name of the file that is locked. It stays when the lock is released: removing it could let two writers in.
pub const LOCK: &str = ".lock";

/// The lock on a folder. The system releases it when the process ends, however it ends.
#[derive(Clone, Debug, Default)]
pub struct Lock {
    _file: Option<Arc<File>>,
}

impl Lock {
    /// Creates the folder if it does not exist, and locks it.
    pub fn take(storage: &Storage) -> Result<Self, StoreError> {
        storage.create_folder("")?;
        let path = storage.path();
        let lock = path.join(LOCK);
        if lock.is_symlink() {
            return Err(StoreError::Link { path: lock });
        }
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
                _file: Some(Arc::new(file)),
            }),
        }
    }
}
