//! Simulated kills and power cuts, for tests.
//!
//! A journal is told of every change before it is made. It can stop the program at any of them, as `kill -9`
//! would. It can also tell what a disk would hold if the power were cut there: everything that was synced,
//! and any part of the rest.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::Change;

/// All changes so far.
#[derive(Debug, Default)]
pub struct Journal {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    changes: Vec<Change>,
    /// Stop at the change with this number.
    broken_at: Option<usize>,
}

/// What a power cut does to changes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// All of them are lost.
    Lost,
    /// Names survive, contents do not: what a journaling file system may do.
    NamesOnly,
    /// A change survives if the bit with its number is set.
    Some(u64),
}

impl Journal {
    /// A journal that stops the program at change number `at`.
    pub fn breaking_at(at: usize) -> Self {
        let journal = Self::default();
        journal.state.lock().unwrap().broken_at = Some(at);
        journal
    }

    /// All changes so far, in order.
    pub fn changes(&self) -> Vec<Change> {
        self.state.lock().unwrap().changes.clone()
    }

    /// Notes a change before it is made. Where the program is killed, only the first half of the bytes gets
    /// through.
    pub(super) fn note(&self, change: &Change) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let next = state.changes.len();
        if state.broken_at.is_some_and(|at| next > at) {
            return Err(io::Error::other("killed"));
        }
        state.changes.push(change.clone());
        if state.broken_at != Some(next) {
            return Ok(());
        }
        let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
        match change {
            Change::Write(path, bytes) => Change::Write(path.clone(), half(bytes)).make()?,
            Change::Append(path, bytes) => Change::Append(path.clone(), half(bytes)).make()?,
            _ => {}
        }
        Err(io::Error::other("killed"))
    }
}

/// A file's bytes as the program sees them, and as they are on disk.
#[derive(Clone, Default)]
struct Inode {
    seen: Vec<u8>,
    durable: Vec<u8>,
}

/// Writes into `to` what a disk that was empty under `root` holds after these changes and a power cut.
pub fn after_power_cut(changes: &[Change], root: &Path, to: &Path, unsynced: Unsynced) {
    let mut inodes: Vec<Inode> = Vec::new();
    // Names as the program sees them and as they are on disk; `None` for a folder.
    let mut seen: BTreeMap<PathBuf, Option<usize>> = BTreeMap::new();
    let mut durable: BTreeMap<PathBuf, Option<usize>> = BTreeMap::new();
    for (number, change) in changes.iter().enumerate() {
        let lucky = match unsynced {
            Unsynced::Lost => false,
            Unsynced::NamesOnly => !matches!(change, Change::Write(..) | Change::Append(..)),
            Unsynced::Some(bits) => bits >> (number % 64) & 1 == 1,
        };
        match change {
            Change::CreateFolder(path) => {
                seen.insert(path.clone(), None);
                if lucky {
                    durable.insert(path.clone(), None);
                }
            }
            Change::Write(path, bytes) => {
                inodes.push(Inode {
                    seen: bytes.clone(),
                    durable: if lucky { bytes.clone() } else { Vec::new() },
                });
                seen.insert(path.clone(), Some(inodes.len() - 1));
                if lucky || unsynced == Unsynced::NamesOnly {
                    durable.insert(path.clone(), Some(inodes.len() - 1));
                }
            }
            Change::Append(path, bytes) => {
                if let Some(Some(inode)) = seen.get(path) {
                    let inode = &mut inodes[*inode];
                    inode.seen.extend_from_slice(bytes);
                    if lucky {
                        inode.durable = inode.seen.clone();
                    }
                }
            }
            Change::Rename(from, to) => {
                if let Some(inode) = seen.remove(from) {
                    seen.insert(to.clone(), inode);
                    if lucky {
                        durable.remove(from);
                        durable.insert(to.clone(), inode);
                    }
                }
            }
            Change::Remove(path) => {
                seen.remove(path);
                if lucky {
                    durable.remove(path);
                }
            }
            Change::Sync(path) => {
                if let Some(Some(inode)) = seen.get(path) {
                    let inode = &mut inodes[*inode];
                    inode.durable = inode.seen.clone();
                }
            }
            Change::SyncFolder(folder) => {
                let inside = |path: &PathBuf| path.parent() == Some(folder);
                durable.retain(|path, _| !inside(path));
                let entries = seen.iter().filter(|(path, _)| inside(path));
                durable.extend(entries.map(|(path, inode)| (path.clone(), *inode)));
            }
        }
    }
    std::fs::create_dir_all(to).unwrap();
    for (path, inode) in durable {
        let Ok(inner) = path.strip_prefix(root) else {
            continue;
        };
        let place = to.join(inner);
        // If a folder's name is lost, so is everything in it.
        if !place.parent().is_some_and(Path::is_dir) {
            continue;
        }
        match inode {
            None => std::fs::create_dir_all(&place).unwrap(),
            Some(inode) => std::fs::write(&place, &inodes[inode].durable).unwrap(),
        }
    }
}
