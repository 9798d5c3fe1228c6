//! Training: one run or many, in memory or in folders.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use induct::probe::{History, Instruments};
use induct::run::{
    Checkpoint, Ending, Record, Run, Sink, Summary, WatchError, Watched, check_longer, kept_steps,
    level_with,
};
use induct::train::{Recipe, TrainError, many};
use induct_store::{How, Outcome, RunFolder, Session, SessionError, StoreError};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::parts::rather_raised;
use crate::recipe::PyRecipe;
use crate::run::{PyRun, Snapshots};
use crate::watch::{Callbacks, MeasureRaised, Watch, Watcher, watched};
use crate::weights::Weights;

/// A run, the exception that stopped it, if one did, and remarks.
type Stopped = (PyRun, Option<Py<PyAny>>, Vec<String>);

/// Trains a recipe, in memory or in a folder. Goes on with `resume`, if it is given.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "Python's layer gives each a name"
)]
pub fn train(
    py: Python<'_>,
    recipe: PyRef<'_, PyRecipe>,
    out: Option<PathBuf>,
    extend: bool,
    threads: usize,
    record: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    resume: Option<PyRef<'_, PyRun>>,
) -> Result<Stopped, Failure> {
    let recipe = recipe.clone_ref(py);
    recipe.raised.iter().for_each(|part| drop(part.take()));
    let place = match out {
        Some(path) => Place::Folder { path, extend },
        None => Place::Memory(Box::new(match resume.as_deref() {
            Some(from) => Memory::going_on(&recipe.recipe, from)?,
            None => Memory::default(),
        })),
    };
    let callbacks = Callbacks { record, progress };
    let (weights, raised) = (recipe.weights.clone(), recipe.raised.clone());
    let start = (*recipe.recipe).clone();
    let remarks = Mutex::new(Vec::new());
    let (result, stopped_by) = watched(py, threads, &callbacks, raised.clone(), |watch| {
        let mut training = Training {
            recipe: start,
            weights: &weights,
            place,
            remarks: &remarks,
        };
        let failure = training.finish(watch)?;
        Ok((training.recipe, training.place, failure))
    });
    let (trained, place, failure) = match result {
        Ok(trained) => trained,
        Err(failure) => return Err(rather_raised(&raised, failure)),
    };
    // A part failed in mid-run: what came before it is kept.
    let stopped_by = stopped_by
        .or_else(|| raised.iter().find_map(|part| part.take()))
        .or_else(|| failure.map(PyErr::from));
    let recipe = recipe.with(py, trained)?;
    let run = place.run(py, recipe)?;
    let stopped_by = stopped_by.map(|error| error.into_value(py).into_any());
    let remarks = remarks.into_inner().expect("no thread is left");
    Ok((run, stopped_by, remarks))
}

/// Runs, none where one did not end, and the exception that stopped them, if one did.
type ManyStopped = (Vec<Option<PyRun>>, Option<Py<PyAny>>);

/// Trains many recipes, several at a time. Without folders, all of them are kept in memory. Runs that were stopped or
/// not begun are missing.
#[pyfunction]
pub fn train_many(
    py: Python<'_>,
    recipes: Vec<PyRef<'_, PyRecipe>>,
    folders: Option<Vec<PathBuf>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> Result<ManyStopped, Failure> {
    let recipes: Vec<PyRecipe> = recipes.iter().map(|recipe| recipe.clone_ref(py)).collect();
    let raised: Vec<_> = recipes
        .iter()
        .flat_map(|recipe| recipe.raised.clone())
        .collect();
    raised.iter().for_each(|part| drop(part.take()));
    let callbacks = Callbacks {
        record: None,
        progress,
    };
    let remarks = Mutex::new(Vec::new());
    let jobs: Vec<(Recipe, &Weights)> = recipes
        .iter()
        .map(|recipe| ((*recipe.recipe).clone(), &recipe.weights))
        .collect();
    let (result, stopped_by) = watched(py, threads, &callbacks, raised.clone(), |watch| {
        let one = |index: usize| -> Result<Option<Place>, Failure> {
            if watch.shared.stops() {
                return Ok(None);
            }
            let (recipe, weights) = &jobs[index];
            let place = match &folders {
                Some(folders) => Place::Folder {
                    path: folders[index].clone(),
                    extend: false,
                },
                None => Place::Memory(Box::default()),
            };
            let mut training = Training {
                recipe: recipe.clone(),
                weights,
                place,
                remarks: &remarks,
            };
            match training.finish(watch) {
                Ok(_) => Ok(Some(training.place)),
                Err(failure) => {
                    // The others need not be trained in vain.
                    watch.shared.stop();
                    Err(failure)
                }
            }
        };
        let places = many(jobs.len(), one);
        let places =
            places.map_err(|error| Failure::run(format!("cannot start threads: {error}")))?;
        places.into_iter().collect::<Result<Vec<_>, Failure>>()
    });
    let places = result.map_err(|failure| rather_raised(&raised, failure))?;
    let stopped_by = stopped_by.or_else(|| raised.iter().find_map(|part| part.take()));
    let mut runs = Vec::with_capacity(recipes.len());
    for (place, recipe) in places.into_iter().zip(recipes) {
        let run = place.map(|place| place.run(py, recipe)).transpose()?;
        runs.push(run.filter(|run| run.ended));
    }
    Ok((
        runs,
        stopped_by.map(|error| error.into_value(py).into_any()),
    ))
}

/// Where a run is kept.
enum Place {
    Memory(Box<Memory>),
    Folder { path: PathBuf, extend: bool },
}

impl Place {
    fn run(self, py: Python<'_>, recipe: PyRecipe) -> Result<PyRun, Failure> {
        match self {
            Place::Memory(memory) => {
                let Memory {
                    keeper,
                    history,
                    summary,
                } = *memory;
                py.detach(|| {
                    let Keeper {
                        snapshots,
                        checkpoint,
                        ..
                    } = keeper;
                    PyRun::in_memory(recipe, history, summary, snapshots, checkpoint)
                })
            }
            Place::Folder { path, .. } => {
                // What the disk holds, not what memory holds.
                let folder = RunFolder::open(&path)?;
                py.detach(|| PyRun::in_folder(recipe, folder))
            }
        }
    }
}

/// A run in memory.
#[derive(Default)]
struct Memory {
    keeper: Keeper,
    history: History,
    summary: Option<Summary>,
}

impl Memory {
    /// A run from where another one stopped or ended; from the start, if that did not keep what this one keeps.
    fn going_on(recipe: &Recipe, from: &PyRun) -> Result<Self, Failure> {
        let Some(checkpoint) = from.checkpoint()? else {
            return Ok(Self::default());
        };
        let (step, steps) = (checkpoint.state.step, recipe.train.steps);
        let old = &from.recipe.recipe;
        if old.train.steps != steps {
            let longer = check_longer(old, step, from.has_diverged(), steps);
            longer.map_err(|why| Failure::run(why.to_string()))?;
        }
        let mut history = from.history.clone();
        history.retain(|at| at <= step && recipe.record.records(at, steps));
        let mut kept = kept_steps(recipe, &history);
        kept.retain(|at| *at <= step);
        let mut snapshots = from.snapshots()?;
        snapshots.retain(|(at, _)| kept.binary_search(at).is_ok());
        // A longer run may keep other steps than those that were kept: then it starts over.
        if snapshots.len() != kept.len() {
            return Ok(Self::default());
        }
        Ok(Self {
            keeper: Keeper {
                snapshots,
                checkpoint: Some(checkpoint),
                saved: Instant::now(),
            },
            history,
            summary: None,
        })
    }

    /// Goes back to the last checkpoint, or to the start.
    fn go_back(&mut self, history: &History) {
        let checkpoint = self.keeper.checkpoint.as_ref();
        let step = checkpoint.map(|checkpoint| checkpoint.state.step);
        let is_kept = |at: u64| step.is_some_and(|step| at <= step);
        self.history = history.clone();
        self.history.retain(is_kept);
        self.keeper.snapshots.retain(|(at, _)| is_kept(*at));
    }

    fn train(
        &mut self,
        recipe: &Recipe,
        weights: &Weights,
        instruments: Arc<Instruments>,
        watch: &Watch,
        watcher: &mut Watcher,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let find = |from: &induct::train::FromSpec| weights.find(from);
        let mut run = match self.keeper.checkpoint.take() {
            Some(checkpoint) => {
                let history = std::mem::take(&mut self.history);
                Run::resumed(recipe, instruments, checkpoint, history, &find)?
            }
            None => Run::with_snapshots(recipe, instruments, &find)?,
        };
        let ending = run.drive(&mut Watched {
            watcher,
            keeper: &mut self.keeper,
        });
        match ending {
            Err(WatchError::Watcher(MeasureRaised)) => {
                self.go_back(run.history());
                Ok(())
            }
            Err(WatchError::Keeper(never)) => match never {},
            Ok(ending) => {
                self.history = run.history().clone();
                self.summary = Summary::of(&run, &ending, started.elapsed().as_secs_f64());
                prior_failed(ending, watch)
            }
        }
    }
}

/// A prior that failed with an exception has stopped its run, which is kept. One that failed otherwise is an error.
fn prior_failed(ending: Ending, watch: &Watch) -> Result<(), Failure> {
    match ending {
        Ending::PriorFailed { step, error } if !watch.has_raised() => {
            Err(Failure::run(TrainError::Prior { step, error }.to_string()))
        }
        _ => Ok(()),
    }
}

/// Keeps snapshots and the last checkpoint.
struct Keeper {
    snapshots: Snapshots,
    checkpoint: Option<Checkpoint>,
    saved: Instant,
}

impl Default for Keeper {
    fn default() -> Self {
        Self {
            snapshots: Vec::new(),
            checkpoint: None,
            saved: Instant::now(),
        }
    }
}

/// Time between two checkpoints: the most that a run can lose.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(500);

impl Sink for Keeper {
    type Error = Infallible;

    fn record(&mut self, _: &Record) -> Result<(), Infallible> {
        Ok(())
    }

    fn snapshot(&mut self, step: u64, params: &[f32]) -> Result<(), Infallible> {
        self.snapshots.push((step, Arc::new(params.to_vec())));
        Ok(())
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.saved.elapsed() >= CHECKPOINT_EVERY
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Infallible> {
        self.saved = Instant::now();
        self.checkpoint = Some(checkpoint.clone());
        Ok(())
    }
}

/// One run in training.
struct Training<'a> {
    recipe: Recipe,
    weights: &'a Weights,
    place: Place,
    remarks: &'a Mutex<Vec<String>>,
}

impl Training<'_> {
    /// Trains until it ends or is stopped. A callback that intervenes makes it the run of another recipe, in which
    /// the intervention begins at the step that it has reached. Returns what is wrong with such an intervention: the run
    /// as it was before is kept.
    fn finish(&mut self, watch: &Watch) -> Result<Option<Failure>, Failure> {
        let instruments = Arc::new(Instruments::new(&self.recipe)?);
        let mut watcher = watch.watcher(self.recipe.task.ngram);
        loop {
            let step = self.session(Arc::clone(&instruments), watch, &mut watcher)?;
            let asked = watch.shared.take_asked();
            let Some(step) = step.filter(|_| !asked.is_empty()) else {
                return Ok(None);
            };
            self.recipe = match intervened(&self.recipe, &asked, step) {
                Ok(recipe) => recipe,
                Err(failure) => return Ok(Some(failure)),
            };
            if let Place::Folder { path, .. } = &self.place {
                RunFolder::open(path)?.rededicate(&self.recipe)?;
            }
            watch.shared.go_on();
            if watch.shared.stops() {
                return Ok(None);
            }
        }
    }

    /// One session of training; the step at which it was stopped, if it was.
    fn session(
        &mut self,
        instruments: Arc<Instruments>,
        watch: &Watch,
        watcher: &mut Watcher,
    ) -> Result<Option<u64>, Failure> {
        let (path, extend) = match &mut self.place {
            Place::Memory(memory) => {
                memory.train(&self.recipe, self.weights, instruments, watch, watcher)?;
                let stopped = memory.summary.is_none();
                let checkpoint = memory.keeper.checkpoint.as_ref();
                return Ok(checkpoint.filter(|_| stopped).map(|c| c.state.step));
            }
            Place::Folder { path, extend } => (path, *extend),
        };
        let session = Session {
            recipe: &self.recipe,
            path: path.as_path(),
            how: if extend { How::Extend } else { How::Resume },
            instruments: Some(instruments),
            snapshots: &|from| self.weights.find(from),
            remark: &|text| {
                let mut remarks = self.remarks.lock().expect("nothing panics in between");
                remarks.push(text.to_owned());
            },
        };
        match session.train(watcher) {
            Ok(Outcome::Stopped(step)) => Ok(Some(step)),
            Ok(Outcome::Ended { .. }) => Ok(None),
            Err(SessionError::Prior(_)) if watch.has_raised() => Ok(None),
            Err(SessionError::Watcher(MeasureRaised)) => Ok(None),
            Err(error) => Err(advised(error)),
        }
    }
}

/// The recipe with more interventions, which begin at a step.
fn intervened(recipe: &Recipe, asked: &[(String, String)], step: u64) -> Result<Recipe, Failure> {
    let entry = |(kind, text): &(String, String)| {
        let (when, step) = match kind.as_str() {
            // A state is one in which all that happens at its step has happened.
            "reset" | "transplant" => ("step", step + 1),
            _ => ("from", step),
        };
        format!("{{kind = \"{kind}\", {when} = {step}, {text}}}")
    };
    let entries: Vec<String> = asked.iter().map(entry).collect();
    let only = format!("intervene=[{}]", entries.join(", "));
    let more = Recipe::from_toml(&recipe.to_toml(), &[only])?;
    let mut recipe = recipe.clone();
    recipe.intervene.extend(more.intervene);
    recipe.check()?;
    Ok(recipe)
}

/// The error with advice on what to do about it.
fn advised(error: SessionError<MeasureRaised>) -> Failure {
    let advice = match &error {
        SessionError::Store(StoreError::OtherArithmetic { of_run, .. }) => match level_with(of_run)
        {
            Some(level) => {
                format!("call induct.use_level(\"{level}\") first, or choose another out")
            }
            None => "this machine cannot compute with that; choose another out".to_owned(),
        },
        SessionError::Store(StoreError::Foreign { .. } | StoreError::Different { .. }) => {
            "choose another out".to_owned()
        }
        SessionError::Store(StoreError::Damaged { .. }) => {
            "choose another out to train a new run".to_owned()
        }
        _ => return error.into(),
    };
    Failure::run(format!("{error}; {advice}"))
}
