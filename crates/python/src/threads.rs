//! Thread pools. Every call has one of its own: the threads of a pool that outlived the call would be missing in a
//! process that Python forks.

use std::sync::{Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};

use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::errors::Failure;

/// Locks what nothing panics with.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .expect("nothing panics while it holds the lock")
}

/// Does `work` in a pool of this many threads; 0 stands for all cores.
pub fn in_pool<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    // A thread of another pool would take up other work of that pool while it waits: a function of the user's that
    // calls this package would be called again in the middle of itself.
    if rayon::current_thread_index().is_some() {
        let elsewhere = || in_pool(threads, work);
        return std::thread::scope(|scope| match scope.spawn(elsewhere).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(cannot_start)?.install(work)
}

/// The same for work that calls Python again and again: Python knows the threads for as long as they live, where it would
/// otherwise get to know them anew at every call, which takes several times as long as a short function. Not for threads
/// that hold Python's lock.
pub fn in_pool_known_to_python<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let started: Mutex<Vec<JoinHandle<()>>> = Mutex::default();
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .spawn_handler(|thread| {
            let live = move || Python::attach(|py| py.detach(|| thread.run()));
            locked(&started).push(Builder::new().spawn(live)?);
            Ok(())
        })
        .build()
        .map_err(cannot_start)?;
    let result = pool.install(work);
    drop(pool);
    // They need Python to say goodbye, which may be gone soon.
    for thread in locked(&started).drain(..) {
        drop(thread.join());
    }
    result
}

fn cannot_start(error: rayon::ThreadPoolBuildError) -> Failure {
    Failure::run(format!("cannot start threads: {error}"))
}
