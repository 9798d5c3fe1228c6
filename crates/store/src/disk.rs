//! The few operations that change files. Every change this crate makes is a [`Change`] that goes through a [`Disk`]: one
//! of the system's, or one in memory for programs without. Tests kill the program at any change, or drop whatever was
//! not synced.

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

/// The one thing that changes files.
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

/// The temporary name of a file. A folder has one writer at a time, so one name is enough.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.part"))
}

/// The most bytes of a file whose reader knows no less.
const MOST: u64 = 1 << 32;

/// Whether a name is that of a file left by an interrupted write.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".part")
}

pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

impl Disk {
    fn make(&self, change: Change) -> io::Result<()> {
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
    pub(crate) fn with_journal(journal: Arc<Journal>) -> Self {
        Self {
            memory: None,
            journal: Some(journal),
        }
    }

    /// A disk with these files, in memory.
    pub(crate) fn in_memory(files: Memory) -> Self {
        let memory = Some(Arc::new(Mutex::new(files)));
        Self {
            memory,
            #[cfg(test)]
            journal: None,
        }
    }

    /// Whether it is the system's.
    pub(crate) fn is_real(&self) -> bool {
        self.memory.is_none()
    }

    /// The files in memory, if it has any.
    pub(crate) fn files(&self) -> Option<MutexGuard<'_, Memory>> {
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
        let Some(files) = self.files() else {
            return Ok(names(path)?.unwrap_or_default());
        };
        let inside = files.keys().filter_map(|file| {
            let first = file.strip_prefix(path).ok()?.iter().next()?;
            Some(first.to_string_lossy().into_owned())
        });
        let mut names: Vec<String> = inside.collect();
        names.dedup();
        Ok(names)
    }

    /// Writes a file atomically and durably: even after a power cut, it is there whole or not at all.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.replace(path, bytes.to_vec(), true)?;
        self.sync_folder(parent(path))
    }

    /// The same without surviving a power cut: [`sync`](Self::sync) the file and its folder later.
    pub fn write_unsynced(&self, path: &Path, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.replace(path, bytes, false)
    }

    fn replace(&self, path: &Path, bytes: Vec<u8>, synced: bool) -> Result<(), StoreError> {
        let part = temporary(path);
        let replaced = || {
            self.make(Change::Write(part.clone(), bytes))?;
            if synced {
                self.make(Change::Sync(part.clone()))?;
            }
            self.make(Change::Rename(part, path.to_owned()))
        };
        replaced().map_err(StoreError::io("write", path))
    }

    /// Appends to an existing file.
    pub fn append(&self, path: &Path, bytes: Vec<u8>) -> Result<(), StoreError> {
        let appended = self.make(Change::Append(path.to_owned(), bytes));
        appended.map_err(StoreError::io("write", path))
    }

    /// Waits until a file's bytes have reached the disk.
    pub fn sync(&self, path: &Path) -> Result<(), StoreError> {
        let synced = self.make(Change::Sync(path.to_owned()));
        synced.map_err(StoreError::io("sync", path))
    }

    /// Waits until a folder's names have reached the disk.
    pub fn sync_folder(&self, path: &Path) -> Result<(), StoreError> {
        let synced = self.make(Change::SyncFolder(path.to_owned()));
        synced.map_err(StoreError::io("sync", path))
    }

    /// Creates a folder and its parents, where they do not exist yet.
    pub fn create_folder(&self, path: &Path) -> Result<(), StoreError> {
        if !self.is_real() || path.is_dir() {
            return Ok(());
        }
        let above = parent(path);
        if above != path && !above.is_dir() {
            self.create_folder(above)?;
        }
        let created = self.make(Change::CreateFolder(path.to_owned()));
        created.map_err(StoreError::io("create", path))?;
        self.sync_folder(above)
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, path: &Path) -> Result<(), StoreError> {
        let removed = self.make(Change::Remove(path.to_owned()));
        removed.map_err(StoreError::io("remove", path))
    }
}

/// Reads a regular file; `None` if it does not exist.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    Disk::default().read(path, MOST)
}

/// The names in a folder, sorted; `None` if the folder does not exist.
pub fn names(path: &Path) -> Result<Option<Vec<String>>, StoreError> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(StoreError::io("use", path))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(StoreError::io("read", path))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(Some(names))
}

#[cfg(test)]
pub mod journal;
