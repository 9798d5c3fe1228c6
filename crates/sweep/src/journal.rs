//! The journal of a process that works on a sweep: a line per run, appended as soon as the run has ended.
//!
//! A journal has one writer, which holds its lock; anyone may read it at any time. A line that was not written whole is
//! recognised by its checksum. Once a journal is long enough, or its process done, its rows become a part, and the
//! journal goes away. A journal whose process has died is finished by whoever finds it next.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use induct::digest;
use serde::{Deserialize, Serialize};

use crate::error::SweepError;
use crate::row::Row;

/// How a journal's name ends.
pub const ENDING: &str = ".journal";

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// The process that writes it.
    By(Author),
    /// A run has begun.
    Begin(u64),
    /// A run was stopped on demand, and is to be done again.
    Stopped(u64),
    /// A run has ended.
    Row(Box<Row>),
}

/// The process that writes a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Author {
    /// Its share of the sweep, such as 3/100.
    pub shard: String,
    /// Its machine.
    pub host: String,
    /// Its threads.
    pub threads: usize,
}

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    author: Author,
    /// Everything written so far, in case that someone takes it for a dead process's.
    rows: Vec<Row>,
    begun: Vec<u64>,
    dirty: bool,
}

/// What a journal says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// The process that writes it, if it got that far.
    pub author: Option<Author>,
    /// Runs that have ended.
    pub rows: Vec<Row>,
    /// Runs that have begun and not ended.
    pub begun: Vec<u64>,
}

impl Journal {
    /// Begins a journal in a folder, under a name that no other has.
    pub fn begin(folder: &Path, author: Author) -> Result<Self, SweepError> {
        let (path, file) = create(folder, &author)?;
        let mut journal = Self {
            path,
            file,
            author,
            rows: Vec::new(),
            begun: Vec::new(),
            dirty: false,
        };
        journal.write_all()?;
        Ok(journal)
    }

    /// Notes that a run begins.
    pub fn begin_run(&mut self, number: u64) -> Result<(), SweepError> {
        self.begun.push(number);
        self.append(&Line::Begin(number))
    }

    /// Notes that a run was stopped on demand.
    pub fn stop_run(&mut self, number: u64) -> Result<(), SweepError> {
        self.begun.retain(|&other| other != number);
        self.append(&Line::Stopped(number))
    }

    /// Notes that a run has ended.
    pub fn end_run(&mut self, row: Row) -> Result<(), SweepError> {
        self.begun.retain(|&other| other != row.number);
        self.append(&Line::Row(Box::new(row.clone())))?;
        self.rows.push(row);
        Ok(())
    }

    /// The rows since it began.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Waits until its lines have reached the disk.
    pub fn sync(&mut self) -> Result<(), SweepError> {
        if std::mem::take(&mut self.dirty) {
            self.file
                .sync_data()
                .map_err(SweepError::io("sync", &self.path))?;
        }
        Ok(())
    }

    /// Shows that the process is alive: an empty line changes the file's time and nothing else.
    pub fn beat(&mut self) -> Result<(), SweepError> {
        self.file
            .write_all(b"\n")
            .map_err(SweepError::io("write", &self.path))
    }

    /// Takes its rows, which are safe elsewhere by now, out of the journal: a new one takes its place.
    pub fn renew(&mut self, folder: &Path) -> Result<(), SweepError> {
        let (path, file) = create(folder, &self.author)?;
        let old = std::mem::replace(&mut self.path, path);
        // The lock goes with the old file only after that file is gone.
        let held = std::mem::replace(&mut self.file, file);
        self.rows.clear();
        self.write_all()?;
        remove(&old)?;
        drop(held);
        Ok(())
    }

    /// Removes the journal: its rows are safe elsewhere.
    pub fn remove(self) -> Result<(), SweepError> {
        remove(&self.path)
    }

    fn append(&mut self, line: &Line) -> Result<(), SweepError> {
        // On a file system without working locks, someone may have taken this process for dead.
        if !self.path.exists() {
            let folder = self.path.parent().unwrap_or(Path::new(".")).to_owned();
            (self.path, self.file) = create(&folder, &self.author)?;
            self.write_all()?;
        }
        self.write(line)
    }

    /// Writes everything so far into an empty journal.
    fn write_all(&mut self) -> Result<(), SweepError> {
        self.write(&Line::By(self.author.clone()))?;
        for row in self.rows.clone() {
            self.write(&Line::Row(Box::new(row)))?;
        }
        for number in self.begun.clone() {
            self.write(&Line::Begin(number))?;
        }
        Ok(())
    }

    fn write(&mut self, line: &Line) -> Result<(), SweepError> {
        self.dirty = true;
        let text = serde_json::to_string(line).expect("plain data");
        let line = format!("{text} {}\n", checksum(&text));
        // In one call, so that lines are whole unless the disk is full or the power gone.
        self.file
            .write_all(line.as_bytes())
            .map_err(SweepError::io("write", &self.path))
    }
}

fn remove(path: &Path) -> Result<(), SweepError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(SweepError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Creates and locks a file with a name of its own.
fn create(folder: &Path, author: &Author) -> Result<(PathBuf, File), SweepError> {
    let shard = author.shard.replace('/', "-of-");
    let fit = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let host: String = author.host.chars().filter(|&c| fit(c)).take(32).collect();
    for attempt in 0.. {
        let name = format!("{shard}-{host}-{}-{attempt}{ENDING}", std::process::id());
        let path = folder.join(name);
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempt < 100_000 => {}
            made => {
                let file = made.map_err(SweepError::io("create", &path))?;
                lock(&file);
                return Ok((path, file));
            }
        }
    }
    unreachable!("the last attempt returns")
}

/// Locks a journal. Whoever looks whether its process is alive holds it for a moment. A file system without locks is no
/// reason to refuse.
fn lock(file: &File) {
    for _ in 0..100 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}

fn checksum(text: &str) -> String {
    digest::hex(&[text.as_bytes()])[..8].to_owned()
}

/// Reads a journal; `None` if it has gone. Lines that are not whole are left out.
pub fn read(path: &Path) -> Result<Option<Told>, SweepError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(SweepError::io("read", path))?,
    };
    let mut told = Told::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.rsplit_once(' '));
        let Some((text, _)) = line.filter(|(text, sum)| *sum == checksum(text)) else {
            continue;
        };
        match serde_json::from_str(text) {
            Ok(Line::By(author)) => told.author = Some(author),
            Ok(Line::Begin(number)) => told.begun.push(number),
            Ok(Line::Stopped(number)) => told.begun.retain(|&other| other != number),
            Ok(Line::Row(row)) => {
                told.begun.retain(|&other| other != row.number);
                told.rows.push(*row);
            }
            // A line of a later version of the program.
            Err(_) => {}
        }
    }
    // A line that could not be written whole: the disk was full, and no run is to blame.
    if bytes.last().is_some_and(|&byte| byte != b'\n') {
        told.begun.clear();
    }
    Ok(Some(told))
}

/// Locks the journal of a process that has died; `None` if the process is alive, or if the file system cannot tell.
pub fn take_over(path: &Path) -> Option<File> {
    let file = OpenOptions::new().append(true).open(path).ok()?;
    // Whoever looks whether the process is alive holds it for a moment.
    for _ in 0..5 {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// Whether the process of a journal is alive, as far as its lock tells; `None` if the file system has no locks.
pub fn is_alive(path: &Path) -> Option<bool> {
    let file = OpenOptions::new().read(true).open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Became;

    fn author() -> Author {
        Author {
            shard: "0/1".into(),
            host: "here".into(),
            threads: 1,
        }
    }

    fn row(number: u64) -> Row {
        let mut row = Row::without(number, Became::Complete, String::new());
        row.last = vec![("kl_truth".into(), Some(0.1 + number as f64 / 3.0))];
        row
    }

    #[test]
    fn a_journal_cut_anywhere_tells_all_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), author()).unwrap();
        for number in 0..3 {
            journal.begin_run(number).unwrap();
            journal.end_run(row(number)).unwrap();
        }
        journal.begin_run(3).unwrap();
        let whole = fs::read(&journal.path).unwrap();
        let told = read(&journal.path).unwrap().unwrap();
        assert_eq!(told.rows, [0, 1, 2].map(row));
        assert_eq!(told.begun, [3]);
        let cut = folder.path().join("cut");
        for length in 0..whole.len() {
            fs::write(&cut, &whole[..length]).unwrap();
            let part = read(&cut).unwrap().unwrap();
            assert!(told.rows.starts_with(&part.rows));
            let lines = whole[..length]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count();
            assert!(part.rows.len() >= lines.saturating_sub(1) / 2);
            let torn = length > 0 && whole[length - 1] != b'\n';
            assert!(!torn || part.begun.is_empty());
        }
    }

    #[test]
    fn the_dead_are_told_from_the_living() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::begin(folder.path(), author()).unwrap();
        let path = journal.path.clone();
        assert_eq!(is_alive(&path), Some(true));
        assert!(take_over(&path).is_none());
        drop(journal);
        assert_eq!(is_alive(&path), Some(false));
        assert!(take_over(&path).is_some());
    }

    #[test]
    fn a_journal_that_was_taken_away_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), author()).unwrap();
        journal.end_run(row(0)).unwrap();
        fs::remove_file(&journal.path).unwrap();
        journal.end_run(row(1)).unwrap();
        let told = read(&journal.path).unwrap().unwrap();
        assert_eq!(told.rows, [0, 1].map(row));
        journal.begin_run(7).unwrap();
        journal.renew(folder.path()).unwrap();
        let told = read(&journal.path).unwrap().unwrap();
        assert_eq!((told.rows.len(), told.begun), (0, vec![7]));
    }
}
