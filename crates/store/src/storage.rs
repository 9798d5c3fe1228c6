//! A folder: the files of a run or of anything else that the program makes, on disk or in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::{Change, Disk, Memory, is_temporary};
use crate::error::StoreError;
use crate::layout::{CHECKPOINT, RECIPE, SNAPSHOTS, SUMMARY};
use crate::lock::{LOCK, Lock};
use crate::opening::holds_run;
use crate::writer::How;

/// The files of a run by their names within its folder, such as `metrics.csv` or
/// `snapshots/step-000100.safetensors`.
pub type RunFiles = BTreeMap<String, Vec<u8>>;

/// A folder on disk or in memory. Its files are called by their names within it.
#[derive(Clone, Debug)]
pub struct Storage {
    path: PathBuf,
    disk: Disk,
}

/// What stands beside a folder while it is replaced.
const NEXT: &str = "next";
const BEFORE: &str = "before";

/// Number of files synced in parallel.
const SYNCED_AT_ONCE: usize = 16;

impl Storage {
    /// A folder on disk, which need not exist yet. Links inside it are refused: whoever packed a folder decides where
    /// they lead.
    pub fn on_disk(path: &Path) -> Self {
        Self::with_disk(Disk::default(), path)
    }

    pub(crate) fn with_disk(disk: Disk, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            disk,
        }
    }

    /// Files in memory. Errors call their folder `name`.
    pub fn in_memory(name: &str, files: RunFiles) -> Self {
        let path = Path::new(name);
        Self::with_disk(Disk::in_memory(by_path(path, files)), path)
    }

    /// The folder, or what it is called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is on disk.
    pub fn is_on_disk(&self) -> bool {
        self.disk.is_real()
    }

    /// The error that a file is not what was written.
    pub(crate) fn damaged(&self, name: &str, what: impl Into<String>) -> StoreError {
        StoreError::damaged(&self.path.join(name), what)
    }

    /// The error that the run is not the one asked for.
    pub(crate) fn different(&self, why: impl ToString) -> StoreError {
        StoreError::Different {
            path: self.path.clone(),
            why: why.to_string(),
        }
    }

    /// Reads a file of at most `most` bytes; `None` if it does not exist.
    pub(crate) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.disk.read(&self.inside(name)?, most)
    }

    /// The names in one of its folders, sorted; "" is the folder itself.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        self.disk.names(&self.inside(folder)?)
    }

    /// Writes a file atomically and durably: even after a power cut, it is there whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.inside(name)?;
        self.put(&path, bytes.to_vec(), true)?;
        let folder = parent(&path).to_owned();
        self.make(Change::SyncFolder(folder.clone()), "sync", &folder)
    }

    /// The same without surviving a power cut: [`sync`](Self::sync) it later.
    pub(crate) fn write_unsynced(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.put(&self.inside(name)?, bytes, false)
    }

    fn put(&self, path: &Path, bytes: Vec<u8>, synced: bool) -> Result<(), StoreError> {
        // A folder has one writer at a time, so one temporary name is enough.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = path.with_file_name(format!(".{name}.part"));
        let sync = synced.then(|| Change::Sync(part.clone()));
        let write = Change::Write(part.clone(), bytes);
        let rename = Change::Rename(part, path.to_owned());
        let mut changes = [write].into_iter().chain(sync).chain([rename]);
        changes.try_for_each(|change| self.make(change, "write", path))
    }

    fn make(&self, change: Change, what: &'static str, path: &Path) -> Result<(), StoreError> {
        self.disk.make(change).map_err(StoreError::io(what, path))
    }

    /// Writes a file durably, unless it has these bytes already.
    pub(crate) fn update(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match self.read(name, bytes.len() as u64) {
            Ok(Some(found)) if found == bytes => Ok(()),
            _ => self.write(name, bytes),
        }
    }

    /// Appends to an existing file.
    pub(crate) fn append(&self, name: &str, bytes: Vec<u8>) -> Result<(), StoreError> {
        let path = self.inside(name)?;
        self.make(Change::Append(path.clone(), bytes), "write", &path)
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.inside(name)?;
        self.make(Change::Remove(path.clone()), "remove", &path)
    }

    /// Waits until files that were written unsynced have reached the disk; their names may not have.
    pub(crate) fn sync(&self, names: &[String]) -> Result<(), StoreError> {
        let sync = |names: &[String]| {
            let mut paths = names.iter().map(|name| self.path.join(name));
            paths.try_for_each(|path| self.make(Change::Sync(path.clone()), "sync", &path))
        };
        if let [_] = names {
            return sync(names);
        }
        // In parallel: a file system commits many changes at once nearly as fast as one.
        let shards = names.chunks(names.len().div_ceil(SYNCED_AT_ONCE).max(1));
        std::thread::scope(|scope| {
            let threads = shards.map(|names| scope.spawn(move || sync(names)));
            let threads: Vec<_> = threads.collect();
            let mut joined = threads.into_iter();
            joined.try_for_each(|thread| thread.join().expect("syncing does not panic"))
        })
    }

    /// Creates one of its folders and those above it durably, where they do not exist yet; "" is the folder itself.
    pub fn create_folder(&self, name: &str) -> Result<(), StoreError> {
        match self.is_on_disk() {
            true => self.create(&self.inside(name)?),
            false => Ok(()),
        }
    }

    fn create(&self, path: &Path) -> Result<(), StoreError> {
        if path.is_dir() {
            return Ok(());
        }
        let above = parent(path);
        if above != path {
            self.create(above)?;
        }
        self.make(Change::CreateFolder(path.to_owned()), "create", path)?;
        self.make(Change::SyncFolder(above.to_owned()), "sync", above)
    }

    /// Waits until the names in one of its folders have reached the disk; "" is the folder itself.
    pub(crate) fn sync_folder(&self, name: &str) -> Result<(), StoreError> {
        let path = self.inside(name)?;
        self.make(Change::SyncFolder(path.clone()), "sync", &path)
    }

    /// Creates the folder if it does not exist, and locks it. Files in memory have one owner anyway.
    pub(crate) fn lock(&self) -> Result<Lock, StoreError> {
        match self.is_on_disk() {
            true => Lock::take(self),
            false => Ok(Lock::default()),
        }
    }

    /// Removes the leftovers of interrupted writes from a locked folder.
    pub(crate) fn clean(&self) -> Result<(), StoreError> {
        for folder in ["", SNAPSHOTS] {
            for name in self.names(folder)?.iter().filter(|name| is_temporary(name)) {
                self.remove(&Path::new(folder).join(name).to_string_lossy())?;
            }
        }
        Ok(())
    }

    /// What the folder holds, apart from the lock and the leftovers of interrupted writes.
    pub(crate) fn contents(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.names("")?;
        names.retain(|name| name != LOCK && !is_temporary(name));
        Ok(names)
    }

    /// The path of a file. Refuses links.
    fn inside(&self, name: &str) -> Result<PathBuf, StoreError> {
        let mut path = self.path.clone();
        for part in Path::new(name) {
            path.push(part);
            if self.is_on_disk() && path.is_symlink() {
                return Err(StoreError::Link { path });
            }
        }
        Ok(path)
    }

    /// Writes all files of a run into a folder that holds none.
    pub(crate) fn fill(&self, mut files: RunFiles) -> Result<(), StoreError> {
        holds_run(self, How::New)?;
        let _lock = self.lock()?;
        holds_run(self, How::New)?;
        // The recipe says whose the folder is, and a checkpoint and a summary promise that all others are there.
        let [recipe, checkpoint, summary] =
            [RECIPE, CHECKPOINT, SUMMARY].map(|name| (name, files.remove(name)));
        let write = |(name, bytes): (&str, Option<Vec<u8>>)| match bytes {
            Some(bytes) => self.write(name, &bytes),
            None => Ok(()),
        };
        write(recipe)?;
        self.create_folder(SNAPSHOTS)?;
        let names: Vec<String> = files.keys().cloned().collect();
        for (name, bytes) in files {
            self.write_unsynced(&name, bytes)?;
        }
        self.sync(&names)?;
        self.sync_folder(SNAPSHOTS)?;
        self.sync_folder("")?;
        write(checkpoint)?;
        write(summary)
    }

    /// Puts other files in place of all there are. On disk they are written beside the folder, which is replaced when
    /// they are complete.
    pub(crate) fn replace(&self, files: RunFiles) -> Result<(), StoreError> {
        if let Some(mut memory) = self.disk.files() {
            *memory = by_path(&self.path, files);
            return Ok(());
        }
        // Links and dots have nothing beside them.
        let path = fs::canonicalize(&self.path).map_err(StoreError::io("use", &self.path))?;
        let (next, before) = (beside(&path, NEXT), beside(&path, BEFORE));
        remove_folder(&next)?;
        if let Err(error) = Self::on_disk(&next).fill(files) {
            remove_folder(&next)?;
            return Err(error);
        }
        remove_folder(&before)?;
        rename(&path, &before)?;
        rename(&next, &path)?;
        remove_folder(&before)
    }

    /// Brings back a folder that was being replaced when the machine stopped.
    pub(crate) fn bring_back(&self) -> Result<(), StoreError> {
        let there = self.clone().where_it_is();
        match there.path == self.path {
            true => Ok(()),
            false => rename(&there.path, &self.path),
        }
    }

    /// The same for whoever only reads: where the folder is now.
    pub(crate) fn where_it_is(self) -> Self {
        let before = beside(&self.path, BEFORE);
        let moved = self.is_on_disk() && !self.path.exists() && before.exists();
        Self {
            path: if moved { before } else { self.path },
            ..self
        }
    }
}

/// The folder that holds a file.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn by_path(folder: &Path, files: RunFiles) -> Memory {
    let by_path = |(name, bytes)| (folder.join::<String>(name), bytes);
    files.into_iter().map(by_path).collect()
}

/// A hidden folder beside another one.
fn beside(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{what}"))
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(StoreError::io("rename", from))
}

fn remove_folder(path: &Path) -> Result<(), StoreError> {
    match path.exists() {
        true => fs::remove_dir_all(path).map_err(StoreError::io("remove", path)),
        false => Ok(()),
    }
}
