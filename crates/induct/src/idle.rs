//! Scratch space that outlives its use.

use std::sync::Mutex;

/// Rooms that nobody works in. Whoever needs one borrows it for a piece of work, so that there are no more of them than pieces
/// at the same time, and a thread that wakes late leaves its pieces to the others.
pub(crate) struct Idle<T>(Mutex<Vec<T>>);

impl<T> Default for Idle<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> Idle<T> {
    /// Does a piece of work in an idle room, or in a new one if there is none.
    pub fn lend<R>(&self, new: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = self.0.lock().expect(UNPOISONED).pop();
        let mut room = idle.unwrap_or_else(new);
        let result = work(&mut room);
        self.0.lock().expect(UNPOISONED).push(room);
        result
    }
}

/// Why a lock cannot fail.
const UNPOISONED: &str = "nothing panics while it holds the lock";
