//! Thread pools. Every call has one of its own: the threads of a pool that outlived the call would be missing in a
//! process that Python forks.

use rayon::ThreadPoolBuilder;

use crate::errors::Failure;

/// Does `work` in a pool of this many threads; 0 stands for all cores.
pub fn in_pool<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::run(format!("cannot start threads: {error}")))?;
    pool.install(work)
}
