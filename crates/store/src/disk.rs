//! The few operations that change a disk. Every change this crate makes goes through a [`Disk`], so that
//! tests can kill the program at any of them, or drop whatever was not synced.

use std::fs::{self, File, OpenOptions};
#[cfg(test)]
use std::io;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[cfg(test)]
use crate::disk::journal::{Change, Journal};
use crate::error::StoreError;

/// The one thing that changes files.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    #[cfg(test)]
    pub(crate) journal: Option<std::sync::Arc<Journal>>,
}

/// A file that grows by appending.
#[derive(Debug)]
pub struct Growing {
    disk: Disk,
    path: PathBuf,
    file: File,
}

/// The temporary name of a file. A folder has one writer at a time, so one name is enough.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.part"))
}

/// Whether a name is that of a file left by an interrupted write.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".part")
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

impl Disk {
    /// Writes a file atomically and durably: even after a power cut, it is there whole or not at all.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_part(path, bytes)?;
        self.sync(&temporary(path))?;
        self.put_in_place(path)?;
        self.sync_folder(parent(path))
    }

    /// The same without surviving a power cut: [`sync`](Self::sync) the file and its folder later.
    pub fn write_unsynced(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_part(path, bytes)?;
        self.put_in_place(path)
    }

    fn write_part(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let part = temporary(path);
        let write = |bytes: &[u8]| fs::write(&part, bytes);
        #[cfg(test)]
        self.note(Change::Write(part.clone(), bytes.to_vec()), || {
            write(&bytes[..bytes.len() / 2])
        })
        .map_err(StoreError::io("write", path))?;
        write(bytes).map_err(StoreError::io("write", path))
    }

    fn put_in_place(&self, path: &Path) -> Result<(), StoreError> {
        let part = temporary(path);
        #[cfg(test)]
        self.note(Change::Rename(part.clone(), path.to_owned()), || Ok(()))
            .map_err(StoreError::io("write", path))?;
        fs::rename(&part, path).map_err(StoreError::io("write", path))
    }

    /// Waits until a file's bytes have reached the disk.
    pub fn sync(&self, path: &Path) -> Result<(), StoreError> {
        #[cfg(test)]
        self.note(Change::Sync(path.to_owned()), || Ok(()))
            .map_err(StoreError::io("sync", path))?;
        // Some systems sync only files that are open for writing.
        OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.sync_all())
            .map_err(StoreError::io("sync", path))
    }

    /// Waits until a folder's names have reached the disk.
    pub fn sync_folder(&self, path: &Path) -> Result<(), StoreError> {
        #[cfg(test)]
        self.note(Change::SyncFolder(path.to_owned()), || Ok(()))
            .map_err(StoreError::io("sync", path))?;
        // Folders can be opened on Unix only; elsewhere the system takes care of names.
        if cfg!(unix) {
            let synced = File::open(path).and_then(|folder| folder.sync_all());
            synced.map_err(StoreError::io("sync", path))?;
        }
        Ok(())
    }

    /// Creates a folder and its parents, where they do not exist yet.
    pub fn create_folder(&self, path: &Path) -> Result<(), StoreError> {
        if path.is_dir() {
            return Ok(());
        }
        let above = parent(path);
        if above != path && !above.is_dir() {
            self.create_folder(above)?;
        }
        #[cfg(test)]
        self.note(Change::CreateFolder(path.to_owned()), || Ok(()))
            .map_err(StoreError::io("create", path))?;
        match fs::create_dir(path) {
            // Another process was faster, which is just as good.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made.map_err(StoreError::io("create", path))?,
        }
        self.sync_folder(above)
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, path: &Path) -> Result<(), StoreError> {
        #[cfg(test)]
        self.note(Change::Remove(path.to_owned()), || Ok(()))
            .map_err(StoreError::io("remove", path))?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(StoreError::io("remove", path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Opens an existing file for appending.
    pub fn grow(&self, path: &Path) -> Result<Growing, StoreError> {
        let file = OpenOptions::new().append(true).open(path);
        Ok(Growing {
            disk: self.clone(),
            path: path.to_owned(),
            file: file.map_err(StoreError::io("write", path))?,
        })
    }

    /// Tells the journal of a change before it is made. If the program is killed here, `half` makes the part
    /// of the change that gets through.
    #[cfg(test)]
    fn note(&self, change: Change, half: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match &self.journal {
            Some(journal) => journal.note(change, half),
            None => Ok(()),
        }
    }
}

impl Growing {
    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Self { disk, path, file } = self;
        let _ = &disk;
        #[cfg(test)]
        disk.note(Change::Append(path.clone(), bytes.to_vec()), || {
            file.write_all(&bytes[..bytes.len() / 2])
        })
        .map_err(StoreError::io("write", path))?;
        file.write_all(bytes).map_err(StoreError::io("write", path))
    }

    /// Waits until its bytes have reached the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.disk.sync(&self.path)
    }
}

/// Reads a whole file; `None` if it does not exist. Anything but a regular file is refused: reading a pipe
/// might never end.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
        Ok(about) if !about.is_file() => {
            return Err(StoreError::NotAFile {
                path: path.to_owned(),
            });
        }
        about => about.map_err(StoreError::io("read", path))?,
    };
    let bytes = fs::read(path).map_err(StoreError::io("read", path))?;
    Ok(Some(bytes))
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
