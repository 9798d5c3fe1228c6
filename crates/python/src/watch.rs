//! Training on other threads while the calling one looks after Python: Ctrl-C, progress, callbacks.

use std::fmt::{Display, Formatter};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use induct::run::{Progress, Record, Sink};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::parts::{FirstException, rather_raised};
use crate::threads::{in_pool, in_pool_known_to_python, locked};

/// How long Ctrl-C and progress may wait.
const POLL: Duration = Duration::from_millis(50);

/// What the threads tell one another.
#[derive(Default)]
pub struct Shared {
    /// Steps done, of all runs together.
    steps: AtomicU64,
    /// The bits of the last loss.
    loss: AtomicU64,
    /// The strategy that the model was nearest to, and at which step that was.
    near: Mutex<Option<String>>,
    /// Whether to stop after the current step.
    stop: AtomicBool,
    /// Whether to stop after the current step in order to intervene.
    pause: AtomicBool,
    /// Interventions that a callback asked for: kinds, and entries as `key = value, …`.
    asked: Mutex<Vec<(String, String)>>,
}

impl Shared {
    /// Whether somebody asked to stop.
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Lets a run go on after an intervention.
    pub fn go_on(&self) {
        self.pause.store(false, Ordering::Relaxed);
    }

    /// Asks to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Takes the interventions that a callback asked for.
    pub fn take_asked(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *locked(&self.asked))
    }
}

/// A record on its way to a callback.
struct RecordMessage {
    step: u64,
    row: Vec<f64>,
    answered: SyncSender<()>,
}

/// Watches one run, as a sink.
pub struct Watcher {
    shared: Arc<Shared>,
    /// Where records go, if there is a callback.
    records: Option<Sender<RecordMessage>>,
    raised: Vec<Arc<FirstException>>,
    ladder: Vec<String>,
    /// Steps that have been counted; none before the first.
    last: Option<u64>,
}

/// A measure raised an exception.
#[derive(Debug)]
pub struct MeasureException;

impl Display for MeasureException {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("a measure raised an exception")
    }
}

impl From<MeasureException> for Failure {
    fn from(raised: MeasureException) -> Self {
        Failure::run(raised.to_string())
    }
}

impl Sink for Watcher {
    type Error = MeasureException;

    fn record(&mut self, record: &Record) -> Result<(), MeasureException> {
        // What a prior raised ends the run by itself.
        if self.raised.iter().any(|part| part.by_measure && part.any()) {
            return Err(MeasureException);
        }
        let near = record.history.nearest(&self.ladder);
        *locked(&self.shared.near) =
            near.map(|strategy| format!("{strategy} at step {}", record.step));
        if let Some(records) = &self.records {
            let (answered, answer) = sync_channel(1);
            let message = RecordMessage {
                step: record.step,
                row: record.row.to_vec(),
                answered,
            };
            // Whoever is told answers, or is gone with its exception.
            if records.send(message).is_err() || answer.recv().is_err() {
                self.shared.stop();
            }
        }
        Ok(())
    }

    fn step(&mut self, progress: &Progress) -> ControlFlow<()> {
        let before = self.last.replace(progress.step).unwrap_or(0);
        let more = progress.step.saturating_sub(before);
        self.shared.steps.fetch_add(more, Ordering::Relaxed);
        if let Some(loss) = progress.loss {
            self.shared
                .loss
                .store(loss.mean.to_bits(), Ordering::Relaxed);
        }
        match self.shared.stops() || self.shared.pause.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn waits(&self) -> bool {
        self.records.is_some()
    }
}

/// Makes the watchers of runs.
pub struct Watch {
    pub shared: Arc<Shared>,
    records: Option<Sender<RecordMessage>>,
    raised: Vec<Arc<FirstException>>,
}

impl Watch {
    /// Whether a part has raised an exception.
    pub fn has_raised(&self) -> bool {
        self.raised.iter().any(|part| part.any())
    }

    /// The watcher of a run of a task with this ladder.
    pub fn watcher(&self, ladder: Vec<String>) -> Watcher {
        Watcher {
            shared: Arc::clone(&self.shared),
            records: self.records.clone(),
            raised: self.raised.clone(),
            ladder,
            last: None,
        }
    }
}

/// What Python wants to hear of.
#[derive(Default)]
pub struct Callbacks {
    /// Called with a step and its row; returns whether to stop, and interventions.
    pub record: Option<Py<PyAny>>,
    /// Called with steps done, the last loss and the nearest strategy.
    pub progress: Option<Py<PyAny>>,
}

/// What a callback answers: whether to stop, and interventions.
type Answer = (bool, Vec<(String, String)>);

/// Does `work` on a pool of threads, and meanwhile looks after Python. Returns its result, and the exception that made
/// it stop early: of Ctrl-C, of a callback, or of a part of a recipe.
pub fn watched<T: Send>(
    py: Python<'_>,
    threads: usize,
    callbacks: &Callbacks,
    raised: &[Arc<FirstException>],
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send,
) -> Result<(T, Option<PyErr>), Failure> {
    // What an earlier call left.
    raised.iter().for_each(|part| drop(part.take()));
    let shared = Arc::<Shared>::default();
    let (records, messages) = channel();
    // The channel closes when the work is done, callback or not.
    let open = records.clone();
    let watch = Watch {
        shared: Arc::clone(&shared),
        records: callbacks.record.is_some().then_some(records),
        raised: raised.to_vec(),
    };
    let messages = Mutex::new(messages);
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let _open = open;
            match watch.raised.is_empty() {
                true => in_pool(threads, || work(&watch)),
                false => in_pool_known_to_python(threads, || work(&watch)),
            }
        });
        let stopped_by = look_after(py, &shared, &messages, callbacks);
        let result = py.detach(|| worker.join());
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let result = result.map_err(|failure| rather_raised(raised, failure))?;
        let by_part = || raised.iter().find_map(|part| part.take());
        Ok((result, stopped_by.or_else(by_part)))
    })
}

fn look_after(
    py: Python<'_>,
    shared: &Shared,
    messages: &Mutex<Receiver<RecordMessage>>,
    callbacks: &Callbacks,
) -> Option<PyErr> {
    let mut stopped_by: Option<PyErr> = None;
    let mut stop = |error: PyErr| {
        stopped_by.get_or_insert(error);
        shared.stop();
    };
    loop {
        let next = py.detach(|| {
            // Only this thread locks them.
            locked(messages).recv_timeout(POLL)
        });
        match next {
            Ok(message) => {
                match call_record(py, callbacks, &message) {
                    Ok((stops, entries)) => {
                        let mut asked = locked(&shared.asked);
                        asked.extend(entries);
                        if !asked.is_empty() {
                            shared.pause.store(true, Ordering::Relaxed);
                        }
                        if stops {
                            shared.stop();
                        }
                    }
                    Err(error) => stop(error),
                }
                let _ = message.answered.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Err(error) = py.check_signals() {
            stop(error);
        }
        if let Err(error) = call_progress(py, callbacks, shared) {
            stop(error);
        }
    }
    if let Err(error) = call_progress(py, callbacks, shared) {
        stop(error);
    }
    stopped_by
}

fn call_record(py: Python<'_>, callbacks: &Callbacks, message: &RecordMessage) -> PyResult<Answer> {
    match &callbacks.record {
        Some(call) => call
            .call1(py, (message.step, message.row.clone()))?
            .extract(py),
        None => Ok((false, Vec::new())),
    }
}

fn call_progress(py: Python<'_>, callbacks: &Callbacks, shared: &Shared) -> PyResult<()> {
    let Some(call) = &callbacks.progress else {
        return Ok(());
    };
    let steps = shared.steps.load(Ordering::Relaxed);
    let loss = f64::from_bits(shared.loss.load(Ordering::Relaxed));
    let near = locked(&shared.near).clone();
    call.call1(py, (steps, loss, near))?;
    Ok(())
}
