//! Training: one run or many, in memory or in folders.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use induct::internal::level_with;
use induct::probe::Instruments;
use induct::recipe::Recipe;
use induct::train::many;
use induct_store::{How, Outcome, RunFiles, RunFolder, Session, SessionError, Storage, StoreError};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::recipe::PyRecipe;
use crate::run::PyRun;
use crate::threads::locked;
use crate::watch::{Callbacks, MeasureException, Watch, Watcher, watched};
use crate::weights::Weights;

/// A run, the exception that stopped it, if one did, and remarks.
type TrainingResult = (PyRun, Option<Py<PyAny>>, Vec<String>);

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
) -> Result<TrainingResult, Failure> {
    let recipe = recipe.clone_ref(py);
    let name = &recipe.recipe.name;
    let storage = match (&out, resume.as_deref()) {
        (Some(path), _) => Storage::on_disk(path),
        (None, Some(from)) => Storage::in_memory(name, from.folder.files()?),
        (None, None) => Storage::in_memory(name, RunFiles::new()),
    };
    let how = if extend { How::Extend } else { How::Resume };
    let callbacks = Callbacks { record, progress };
    let (start, weights) = ((*recipe.recipe).clone(), &recipe.weights);
    let remarks = Mutex::new(Vec::new());
    let trained = watched(py, threads, &callbacks, &recipe.raised, |watch| {
        let mut training = Training {
            recipe: start,
            weights,
            storage: &storage,
            how,
            remarks: &remarks,
        };
        let failure = training.finish(watch)?;
        Ok((training.recipe, failure))
    });
    let ((trained, failure), stopped_by) = trained?;
    let stopped_by = stopped_by.or_else(|| failure.map(PyErr::from));
    let recipe = recipe.with(py, trained)?;
    // What was written, not what training remembers.
    let folder = RunFolder::open_in(storage)?;
    let run = py.detach(|| PyRun::new(recipe, folder))?;
    let stopped_by = stopped_by.map(|error| error.into_value(py).into_any());
    let remarks = remarks.into_inner().expect("no thread is left");
    Ok((run, stopped_by, remarks))
}

/// Runs, none where one did not end, and the exception that stopped them, if one did.
type ManyResult = (Vec<Option<PyRun>>, Option<Py<PyAny>>);

/// Trains many recipes, several at a time. Without folders, all of them are kept in memory. Runs that were stopped or
/// not begun are missing.
#[pyfunction]
pub fn train_many(
    py: Python<'_>,
    recipes: Vec<PyRef<'_, PyRecipe>>,
    folders: Option<Vec<PathBuf>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> Result<ManyResult, Failure> {
    let recipes: Vec<PyRecipe> = recipes.iter().map(|recipe| recipe.clone_ref(py)).collect();
    let raised: Vec<_> = recipes
        .iter()
        .flat_map(|recipe| recipe.raised.clone())
        .collect();
    let callbacks = Callbacks {
        record: None,
        progress,
    };
    let remarks = Mutex::new(Vec::new());
    let jobs: Vec<(Recipe, &Weights)> = recipes
        .iter()
        .map(|recipe| ((*recipe.recipe).clone(), &recipe.weights))
        .collect();
    let (places, stopped_by) = watched(py, threads, &callbacks, &raised, |watch| {
        let one = |index: usize| -> Result<Option<Storage>, Failure> {
            if watch.shared.stops() {
                return Ok(None);
            }
            let (recipe, weights) = &jobs[index];
            let storage = match &folders {
                Some(folders) => Storage::on_disk(&folders[index]),
                None => Storage::in_memory(&recipe.name, RunFiles::new()),
            };
            let mut training = Training {
                recipe: recipe.clone(),
                weights,
                storage: &storage,
                how: How::Resume,
                remarks: &remarks,
            };
            match training.finish(watch) {
                Ok(_) => Ok(Some(storage)),
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
    })?;
    let mut runs = Vec::with_capacity(recipes.len());
    for (place, recipe) in places.into_iter().zip(recipes) {
        let run = |storage| PyRun::new(recipe, RunFolder::open_in(storage)?);
        let run = py.detach(|| place.map(run).transpose())?;
        runs.push(run.filter(|run| run.ended));
    }
    let stopped_by = stopped_by.map(|error| error.into_value(py).into_any());
    Ok((runs, stopped_by))
}

/// One run in training.
struct Training<'a> {
    recipe: Recipe,
    weights: &'a Weights,
    storage: &'a Storage,
    how: How,
    remarks: &'a Mutex<Vec<String>>,
}

impl Training<'_> {
    /// Trains until it ends or is stopped. A callback that intervenes makes it the run of another recipe, in which
    /// the intervention begins at the step that it has reached. Returns what is wrong with such an intervention: the run
    /// as it was before is kept.
    fn finish(&mut self, watch: &Watch) -> Result<Option<Failure>, Failure> {
        let instruments = Arc::new(Instruments::new(&self.recipe)?);
        let mut watcher = watch.watcher(self.recipe.task.ladder());
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
            RunFolder::open_in(self.storage.clone())?.rededicate(&self.recipe)?;
            watch.shared.go_on();
            if watch.shared.stops() {
                return Ok(None);
            }
        }
    }

    /// One session of training; the step at which it was stopped, if it was.
    fn session(
        &self,
        instruments: Arc<Instruments>,
        watch: &Watch,
        watcher: &mut Watcher,
    ) -> Result<Option<u64>, Failure> {
        let session = Session {
            recipe: &self.recipe,
            path: self.storage.path(),
            how: self.how,
            instruments: Some(instruments),
            snapshots: &|from| self.weights.find(from),
            remark: &|text| locked(self.remarks).push(text.to_owned()),
        };
        match session.train_in(self.storage, watcher) {
            Ok(Outcome::Stopped(step)) => Ok(Some(step)),
            Ok(Outcome::Ended { .. }) => Ok(None),
            Err(SessionError::Prior(_)) if watch.has_raised() => Ok(None),
            Err(SessionError::Watcher(MeasureException)) => Ok(None),
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
fn advised(error: SessionError<MeasureException>) -> Failure {
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
