//! The journal of a worker: a line per run, appended as soon as the run has ended.
//!
//! A journal has one writer, which holds its lock; anyone may read it at any time. A line that is damaged, or was not
//! written whole, is recognised by its checksum. Nobody changes the journal of another worker, dead or alive.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use induct::internal::digest;
use induct_store::read_regular;
use serde::{Deserialize, Serialize};

use crate::error::SweepError;
use crate::plan::Key;
use crate::row::Row;

/// How a journal's name ends.
pub const ENDING: &str = ".journal";

/// A journal with so many bytes is followed by another one.
const FULL: u64 = 1 << 26;

/// The most bytes of a journal that is read: a full one, and a long last line.
const LIMIT: u64 = 1 << 30;

/// A line of a journal.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line<R> {
    /// The worker that writes it.
    By(Author),
    Begin(Key),
    /// A run was stopped on demand, or goes on in the next journal.
    Stopped(Key),
    Row(R),
}

/// The worker that writes a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Author {
    /// Its shard of the sweep, such as 3/100.
    pub shard: String,
    /// Its machine.
    pub host: String,
    /// Its threads.
    pub threads: usize,
}

/// The journal of this worker.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    author: Author,
    begun: Vec<Key>,
    rows: u64,
    bytes: u64,
    dirty: bool,
}

/// What a journal says.
#[derive(Debug, Default, PartialEq)]
pub struct JournalContent {
    /// The worker that writes it, if it got that far.
    pub author: Author,
    pub alive: bool,
    pub rows: Vec<Row>,
    /// Runs that have begun and not ended.
    pub begun: Vec<Key>,
    pub damaged: usize,
}

impl Journal {
    /// Begins a journal in a folder, under a name that no other has.
    pub fn begin(folder: &Path, author: Author) -> Result<Self, SweepError> {
        let (path, file) = create(folder, &author)?;
        let mut journal = Self {
            path,
            file,
            author: author.clone(),
            begun: Vec::new(),
            rows: 0,
            bytes: 0,
            dirty: false,
        };
        journal.append(&Line::By(author))?;
        Ok(journal)
    }

    pub fn begin_run(&mut self, key: Key) -> Result<(), SweepError> {
        self.begun.push(key);
        self.append(&Line::Begin(key))
    }

    pub fn stop_run(&mut self, key: Key) -> Result<(), SweepError> {
        self.begun.retain(|&other| other != key);
        self.append(&Line::Stopped(key))
    }

    pub fn end_run(&mut self, row: &Row) -> Result<(), SweepError> {
        self.begun.retain(|&other| other != row.key);
        self.append(&Line::Row(row))?;
        self.rows += 1;
        match self.bytes > FULL {
            true => self.go_on(),
            false => Ok(()),
        }
    }

    fn go_on(&mut self) -> Result<(), SweepError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut next = Self::begin(folder, self.author.clone())?;
        for key in self.begun.clone() {
            next.begin_run(key)?;
            self.append(&Line::Stopped(key))?;
        }
        self.sync()?;
        *self = next;
        Ok(())
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

    /// Ends it. A journal without rows is removed.
    pub fn end(mut self) -> Result<(), SweepError> {
        match self.rows {
            0 => fs::remove_file(&self.path).map_err(SweepError::io("remove", &self.path)),
            _ => self.sync(),
        }
    }

    fn append(&mut self, line: &Line<&Row>) -> Result<(), SweepError> {
        self.dirty = true;
        let text = serde_json::to_string(line).expect("plain data");
        let line = format!("{text} {}\n", checksum(&text));
        self.bytes += line.len() as u64;
        // In one call, so that lines are whole unless the disk is full or the power gone.
        self.file
            .write_all(line.as_bytes())
            .map_err(SweepError::io("write", &self.path))
    }
}

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

/// Locks a journal. Whoever looks whether its worker is alive holds it for a moment. A file system without locks is no
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

/// Reads a journal. Lines that are not whole are left out.
pub fn read(path: &Path) -> io::Result<JournalContent> {
    // Before its lines: a worker may end in between, but what a dead one has left does not change.
    let alive = is_alive(path)?;
    let bytes = read_regular(path, LIMIT)?;
    let mut journaled = JournalContent {
        alive,
        ..JournalContent::default()
    };
    let mut lines = bytes.split(|&byte| byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let text = std::str::from_utf8(line).ok();
        let text = text.and_then(|line| line.rsplit_once(' '));
        let Some((text, _)) = text.filter(|(text, sum)| *sum == checksum(text)) else {
            // The last line may be at work, or was never finished.
            journaled.damaged += usize::from(lines.peek().is_some());
            continue;
        };
        match serde_json::from_str(text) {
            Ok(Line::By(author)) => journaled.author = author,
            Ok(Line::Begin(key)) => journaled.begun.push(key),
            Ok(Line::Stopped(key)) => journaled.begun.retain(|&other| other != key),
            Ok(Line::<Row>::Row(row)) => {
                journaled.begun.retain(|&other| other != row.key);
                journaled.rows.push(row);
            }
            // A line of a later version of the program.
            Err(_) => {}
        }
    }
    // A line that could not be written whole: the disk was full, and no run is to blame.
    if bytes.last().is_some_and(|&byte| byte != b'\n') {
        journaled.begun.clear();
    }
    Ok(journaled)
}

/// Whether the worker of a journal is alive. A file system without locks cannot tell: then it may be.
fn is_alive(path: &Path) -> io::Result<bool> {
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    Ok(File::open(path)?.try_lock_shared().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn author() -> Author {
        Author {
            shard: "0/1".into(),
            host: "here".into(),
            threads: 1,
        }
    }

    fn key(seed: u64) -> Key {
        Key { point: 7, seed }
    }

    fn row(seed: u64) -> Row {
        let mut row = Row::failed(key(seed), String::new());
        row.last = vec![("kl_truth".into(), Some(0.1 + seed as f64 / 3.0))];
        row
    }

    fn journal(folder: &Path) -> Journal {
        let mut journal = Journal::begin(folder, author()).unwrap();
        for seed in 0..3 {
            journal.begin_run(key(seed)).unwrap();
            journal.end_run(&row(seed)).unwrap();
        }
        journal.begin_run(key(3)).unwrap();
        journal
    }

    #[test]
    fn a_journal_cut_anywhere_has_all_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path());
        let bytes = fs::read(&journal.path).unwrap();
        let whole = read(&journal.path).unwrap();
        assert_eq!(whole.rows, [0, 1, 2].map(row));
        assert_eq!((whole.begun, whole.author), (vec![key(3)], author()));
        let cut = folder.path().join("cut");
        for length in 0..bytes.len() {
            fs::write(&cut, &bytes[..length]).unwrap();
            let part = read(&cut).unwrap();
            assert!(whole.rows.starts_with(&part.rows));
            let lines = bytes[..length].iter().filter(|&&byte| byte == b'\n');
            assert!(part.rows.len() >= lines.count().saturating_sub(1) / 2);
            let torn = length > 0 && bytes[length - 1] != b'\n';
            assert!(!torn || part.begun.is_empty());
            assert_eq!(part.damaged, 0);
        }
    }

    #[test]
    fn a_damaged_byte_costs_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path());
        let bytes = fs::read(&journal.path).unwrap();
        let damaged = folder.path().join("damaged");
        for place in 0..bytes.len() - 1 {
            let mut bytes = bytes.clone();
            bytes[place] ^= 1;
            fs::write(&damaged, bytes).unwrap();
            let read = read(&damaged).unwrap();
            assert!(read.rows.len() >= 2, "{place}");
            assert!((1..=2).contains(&read.damaged), "{place}");
            assert!(read.rows.iter().all(|read| *read == row(read.key.seed)));
        }
    }

    #[test]
    fn the_dead_are_told_from_the_living() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::begin(folder.path(), author()).unwrap();
        let path = journal.path.clone();
        assert!(read(&path).unwrap().alive);
        drop(journal);
        assert!(!read(&path).unwrap().alive);
    }

    #[test]
    fn a_full_journal_is_followed_by_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        let first = journal.path.clone();
        journal.bytes = FULL;
        journal.end_run(&row(4)).unwrap();
        assert_ne!(journal.path, first);
        journal.end_run(&row(3)).unwrap();
        let (old, new) = (read(&first).unwrap(), read(&journal.path).unwrap());
        assert_eq!((old.rows.len(), old.begun.len(), old.alive), (4, 0, false));
        assert_eq!((new.rows, new.begun.len()), (vec![row(3)], 0));
        // One without rows is of no use.
        let empty = Journal::begin(folder.path(), author()).unwrap();
        let path = empty.path.clone();
        empty.end().unwrap();
        assert!(!path.exists());
    }
}
