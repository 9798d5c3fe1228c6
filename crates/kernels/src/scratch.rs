//! Scratch buffers that outlive their use.

use std::sync::Mutex;

/// Scratch buffers that nobody is using. A piece of work borrows one, so that there are no more of them than
/// pieces of work at the same time, and a thread that wakes late leaves its pieces to the others.
#[derive(Debug)]
pub struct ScratchPool<T>(Mutex<Vec<T>>);

impl<T> Default for ScratchPool<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> ScratchPool<T> {
    /// Does a piece of work with an idle buffer, or with a new one if there is none.
    pub fn with<R>(&self, new: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = self.0.lock().expect(UNPOISONED).pop();
        let mut scratch = idle.unwrap_or_else(new);
        let result = work(&mut scratch);
        self.0.lock().expect(UNPOISONED).push(scratch);
        result
    }
}

/// Why a lock cannot fail.
const UNPOISONED: &str = "nothing panics while it holds the lock";
