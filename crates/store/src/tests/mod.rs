//! What the crate promises: nothing lost, nothing stale, nothing damaged, one writer.

mod damage;
mod faults;
mod sequences;
mod storage;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use induct::probe::Instruments;
use induct::recipe::Recipe;
use induct::run::{Progress, Run, Sink, SinkPair, Summary, WatchError};
use induct::train::no_snapshots;

use crate::error::StoreError;
use crate::lock::LOCK;
use crate::opening;
use crate::storage::Storage;
use crate::writer::{How, Opening};

/// A recipe that trains in a blink: twelve steps, four records, three snapshots.
fn recipe(overrides: &[&str]) -> Recipe {
    let mut all = vec![
        "task.length=6".to_owned(),
        "model.width=2".to_owned(),
        "train.batch=8".to_owned(),
        "train.steps=12".to_owned(),
        "record.every=4".to_owned(),
        "record.snapshots=3".to_owned(),
        "record.test_sequences=8".to_owned(),
        "record.tests=[]".to_owned(),
    ];
    all.extend(overrides.iter().map(|&text| text.to_owned()));
    Recipe::from_toml("", &all).unwrap()
}

/// What ends that run at step 8, before its last step: it is near uniform from the start.
const STOP: [&str; 2] = ["record.every=2", "train.stop={at=\"uniform\", after=1}"];

/// Stops a run after a number of steps, if there is one.
fn stop_at(stop: Option<u64>) -> impl Sink<Error = Infallible> {
    move |progress: &Progress| match stop.is_some_and(|stop| progress.step >= stop) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// The last instruments again, if they fit: most tests train one recipe many times.
fn instruments(recipe: &Recipe) -> Arc<Instruments> {
    static LAST: Mutex<Option<Arc<Instruments>>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap();
    let known = last.take().filter(|known| known.fit(recipe));
    let instruments = known.unwrap_or_else(|| Arc::new(Instruments::new(recipe).unwrap()));
    *last = Some(Arc::clone(&instruments));
    instruments
}

/// One session: trains `recipe` there, with a checkpoint after every step.
fn train_in(
    storage: &Storage,
    recipe: &Recipe,
    how: How,
    stop_at: Option<u64>,
) -> Result<(), StoreError> {
    // On one thread: handing every little step to a pool takes longer than the step.
    static POOL: LazyLock<rayon::ThreadPool> = LazyLock::new(|| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        pool.unwrap()
    });
    POOL.install(|| {
        let start = match opening::open(storage, recipe, how)? {
            Opening::Ended(_) => return Ok(()),
            Opening::Training(start) => *start,
        };
        let instruments = instruments(recipe);
        let mut run = match start.from {
            Some((checkpoint, history)) => {
                Run::resumed(recipe, instruments, checkpoint, history, &no_snapshots).unwrap()
            }
            None => Run::new(recipe, instruments).unwrap(),
        };
        let mut writer = start.writer;
        writer.checkpoint_every = Duration::ZERO;
        let ending = run.drive(&mut SinkPair {
            watcher: &mut self::stop_at(stop_at),
            keeper: &mut writer,
        });
        let ending = ending.map_err(|error| match error {
            WatchError::Watcher(never) => match never {},
            WatchError::Keeper(error) => error,
        })?;
        match Summary::of(&run, &ending, 0.0) {
            Some(summary) => writer.finish(&summary),
            None => writer.close(),
        }
    })
}

/// Trains to the end on the real disk.
fn complete(path: &Path, recipe: &Recipe, how: How) -> Result<(), StoreError> {
    train_in(&Storage::on_disk(path), recipe, how, None)
}

/// Trains a new run until it is stopped after some steps.
fn stopped(path: &Path, recipe: &Recipe, steps: u64) {
    train_in(&Storage::on_disk(path), recipe, How::New, Some(steps)).unwrap();
}

/// All files of a finished run, apart from the lock and the summary, which depends on where the last session
/// resumed.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in ["", "snapshots/"] {
        for entry in std::fs::read_dir(path.join(folder)).into_iter().flatten() {
            let entry = entry.unwrap();
            let name = format!("{folder}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_file() && name != LOCK && name != "summary.json" {
                found.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}
