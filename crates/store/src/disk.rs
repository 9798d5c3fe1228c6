//! Where files are: on the system's disk, or in memory for programs without. Every change this crate makes is a
//! [`Change`] that goes through a [`Disk`]. Tests kill the program at any change, or drop whatever was not synced.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
use crate::disk::journal::Journal;
use crate::error::StoreError;
use crate::regular::read_regular;

/// Files by their paths.
pub type Memory = BTreeMap<PathBuf, Vec<u8>>;

/// A disk.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// All files, if they are in memory.
    memory: Option<Arc<Mutex<Memory>>>,
    #[cfg(test)]
    journal: Option<Arc<Journal>>,
}

/// A change to the disk.
#[derive(Clone, Debug)]
pub enum Change {
    CreateFolder(PathBuf),
    /// A new file, in place of anything that has its name.
    Write(PathBuf, Vec<u8>),
    Append(PathBuf, Vec<u8>),
    Rename(PathBuf, PathBuf),
    /// Of a file, if it exists.
    Remove(PathBuf),
    Sync(PathBuf),
    SyncFolder(PathBuf),
}

impl Change {
    fn make(&self) -> io::Result<()> {
        match self {
            Change::CreateFolder(path) => match fs::create_dir(path) {
                // Another process was faster, which is just as good.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
                made => made,
            },
            Change::Write(path, bytes) => {
                // What an interrupted write left; or a link, which is not to be followed.
                remove_if_there(path)?;
                let mut options = OpenOptions::new();
                let mut file = options.write(true).create_new(true).open(path)?;
                file.write_all(bytes)
            }
            Change::Append(path, bytes) => {
                let mut file = OpenOptions::new().append(true).open(path)?;
                file.write_all(bytes)
            }
            Change::Rename(from, to) => fs::rename(from, to),
            Change::Remove(path) => remove_if_there(path),
            // Tests simulate power cuts, and would spend their time on thousands of syncs.
            Change::Sync(_) | Change::SyncFolder(_) if cfg!(test) => Ok(()),
            // Some systems sync only files that are open for writing.
            Change::Sync(path) => OpenOptions::new().write(true).open(path)?.sync_all(),
            // Folders can be opened on Unix only; elsewhere the system takes care of names.
            Change::SyncFolder(path) if cfg!(unix) => File::open(path)?.sync_all(),
            Change::SyncFolder(_) => Ok(()),
        }
    }
}

/// The same in memory, where there are no folders and nothing needs to be synced.
fn make_in(files: &mut Memory, change: Change) {
    match change {
        Change::Write(path, bytes) => drop(files.insert(path, bytes)),
        Change::Append(path, bytes) => files.entry(path).or_default().extend(bytes),
        Change::Rename(from, to) => {
            let bytes = files.remove(&from);
            files.extend(bytes.map(|bytes| (to, bytes)));
        }
        Change::Remove(path) => drop(files.remove(&path)),
        Change::CreateFolder(_) | Change::Sync(_) | Change::SyncFolder(_) => {}
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether a name is that of a file left by an interrupted write.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".part")
}

impl Disk {
    pub fn make(&self, change: Change) -> io::Result<()> {
        #[cfg(test)]
        if let Some(journal) = &self.journal {
            journal.note(&change)?;
        }
        match self.files() {
            Some(mut files) => make_in(&mut files, change),
            None => change.make()?,
        }
        Ok(())
    }

    #[cfg(test)]
    pub fn with_journal(journal: Arc<Journal>) -> Self {
        Self {
            memory: None,
            journal: Some(journal),
        }
    }

    /// A disk with these files, in memory.
    pub fn in_memory(files: Memory) -> Self {
        Self {
            memory: Some(Arc::new(Mutex::new(files))),
            #[cfg(test)]
            journal: None,
        }
    }

    /// Whether it is the system's.
    pub fn is_real(&self) -> bool {
        self.memory.is_none()
    }

    /// The files in memory, if it has any.
    pub fn files(&self) -> Option<MutexGuard<'_, Memory>> {
        let files = self.memory.as_ref()?;
        Some(files.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads a regular file of at most `most` bytes; `None` if it does not exist.
    pub fn read(&self, path: &Path, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(files) = self.files() {
            return Ok(files.get(path).cloned());
        }
        match read_regular(path, most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
                ErrorKind::InvalidInput => Err(StoreError::NotAFile {
                    path: path.to_owned(),
                }),
                ErrorKind::FileTooLarge => Err(StoreError::damaged(path, error.to_string())),
                _ => Err(StoreError::io("read", path)(error)),
            },
        }
    }

    /// The names in a folder, sorted; none if the folder does not exist.
    pub fn names(&self, path: &Path) -> Result<Vec<String>, StoreError> {
        let mut names = Vec::new();
        if let Some(files) = self.files() {
            for file in files.keys().filter_map(|file| file.strip_prefix(path).ok()) {
                names.extend(
                    file.iter()
                        .next()
                        .map(|first| first.to_string_lossy().into_owned()),
                );
            }
        } else {
            let entries = match fs::read_dir(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(names),
                entries => entries.map_err(StoreError::io("use", path))?,
            };
            for entry in entries {
                let entry = entry.map_err(StoreError::io("read", path))?;
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

#[cfg(test)]
pub mod journal;
