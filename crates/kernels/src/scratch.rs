//! Scratch buffers: where they come from, and where they wait for their next use.

use std::sync::Mutex;

use crate::lanes::Lane;

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

/// Allocates buffers, or only counts what they would take.
#[derive(Debug, Default)]
pub struct Allocator {
    counts: bool,
    bytes: f64,
}

impl Allocator {
    /// One that counts: all its buffers are empty.
    pub fn counting() -> Self {
        Self {
            counts: true,
            bytes: 0.0,
        }
    }

    /// The bytes that `allocate` asks for, of which nothing is allocated.
    pub fn count<T>(allocate: impl FnOnce(&mut Self) -> T) -> f64 {
        let mut counting = Self::counting();
        allocate(&mut counting);
        counting.bytes
    }

    /// Zeros of the given shape.
    pub fn lanes<const N: usize>(&mut self, shape: [usize; N]) -> Vec<Lane> {
        self.filled(Lane::ZERO, shape)
    }

    /// The same with another value.
    pub fn filled<T: Clone, const N: usize>(&mut self, value: T, shape: [usize; N]) -> Vec<T> {
        if self.counts {
            let sizes = shape.iter().map(|&size| size as f64);
            self.bytes += size_of::<T>() as f64 * sizes.product::<f64>();
            return Vec::new();
        }
        vec![value; shape.iter().product()]
    }

    /// Counts a value that was allocated in another way.
    pub fn count_value<T: ?Sized>(&mut self, value: &T) {
        self.bytes += size_of_val(value) as f64;
    }
}
