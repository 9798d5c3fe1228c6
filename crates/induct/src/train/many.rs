//! Many runs at once, over all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Does `work` for runs 0 … `count` − 1 on as many threads as the current pool has; returns the results in
/// order.
///
/// A run on a single thread never waits for other threads. So runs go in parallel with one thread each, as
/// long as they fill all threads evenly; the runs left over at the end divide the threads among them.
/// Parallel code inside `work` uses the threads of its run only. With a single thread, which is all that some
/// targets have, runs follow one another and no pool is built. Results do not depend on any of this.
pub fn many<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>, ThreadPoolBuildError> {
    let threads = rayon::current_num_threads();
    if threads == 1 {
        return Ok((0..count).map(work).collect());
    }
    let even = count / threads * threads;
    let mut results = side_by_side(0..even, &vec![1; threads.min(even)], &work)?;
    let left = count - even;
    // Divide the threads as evenly as possible.
    let shares: Vec<usize> = (0..left)
        .map(|index| threads / left + usize::from(index < threads % left))
        .collect();
    results.extend(side_by_side(even..count, &shares, &work)?);
    Ok(results)
}

/// Does the runs on pools of the given sizes. A pool takes the next run as soon as it is free.
#[expect(
    clippy::disallowed_methods,
    reason = "only called where there are several threads"
)]
fn side_by_side<T: Send>(
    runs: std::ops::Range<usize>,
    sizes: &[usize],
    work: &(impl Fn(usize) -> T + Sync),
) -> Result<Vec<T>, ThreadPoolBuildError> {
    let pools: Vec<ThreadPool> = sizes
        .iter()
        .map(|&size| ThreadPoolBuilder::new().num_threads(size).build())
        .collect::<Result<_, _>>()?;
    let next = AtomicUsize::new(runs.start);
    let done = Mutex::new(Vec::with_capacity(runs.len()));
    std::thread::scope(|scope| {
        for pool in &pools {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= runs.end {
                        break;
                    }
                    let result = pool.install(|| work(run));
                    done.lock()
                        .expect("nothing panics while it holds the lock")
                        .push((run, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("a panic has spread already");
    done.sort_by_key(|(run, _)| *run);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_done_once_and_on_its_share_of_threads() {
        for threads in 1..=4 {
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            for count in 0..=9 {
                let results = pool
                    .install(|| many(count, |run| (run, rayon::current_num_threads())).unwrap());
                let runs: Vec<usize> = results.iter().map(|(run, _)| *run).collect();
                assert_eq!(runs, (0..count).collect::<Vec<_>>());
                let even = count / threads * threads;
                assert!(results[..even].iter().all(|(_, own)| *own == 1));
                let share = threads / (count - even).max(1);
                let fair = |own: usize| own == share || own == share + 1;
                assert!(results[even..].iter().all(|(_, own)| fair(*own)));
            }
        }
    }

    #[test]
    fn one_thread_builds_no_other() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (own, of_runs) = pool.install(|| {
            let this = || std::thread::current().id();
            (this(), many(3, |_| this()).unwrap())
        });
        assert_eq!(of_runs, [own; 3]);
    }
}
