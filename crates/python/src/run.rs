//! Runs: what was recorded and kept, in memory or in a folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use induct::probe::{History, Instruments};
use induct::run::{Checkpoint, Compared, Differences, Ended, Identity, Summary, in_force};
use induct_lab_page::{Run as PageRun, room, with_runs};
use induct_pictures::groups::{Recorded, grouped, labelled};
use induct_pictures::panels::{self, RunCurves, Runs};
use induct_pictures::sweeps::{KeyAxis, Map, phase_diagram};
use induct_store::{RunFiles, RunFolder, Saved, StoreError};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::figure::PyFigure;
use crate::model::PyModel;
use crate::recipe::PyRecipe;
use crate::table::Table;
use crate::threads::in_pool;

/// A run.
#[pyclass(frozen, module = "induct._induct", name = "Run")]
pub struct PyRun {
    pub recipe: PyRecipe,
    pub history: History,
    /// The outcome; of a run that has not ended, what its records say so far.
    summary: Summary,
    pub ended: bool,
    pub kept: Kept,
}

/// Steps and weights, in order.
pub type Snapshots = Vec<(u64, Arc<Vec<f32>>)>;

/// Where weights are.
pub enum Kept {
    /// In memory, with the state that training resumes from.
    Memory {
        snapshots: Snapshots,
        checkpoint: Option<Checkpoint>,
    },
    /// In a folder, or in files of one in memory.
    Folder(Box<RunFolder>),
}

impl PyRun {
    /// A run from memory.
    pub fn in_memory(
        recipe: PyRecipe,
        history: History,
        summary: Option<Summary>,
        snapshots: Snapshots,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Self, Failure> {
        let kept = Kept::Memory {
            snapshots,
            checkpoint,
        };
        Self::new(recipe, history, summary, kept)
    }

    /// A run from its folder, with the code that its recipe's text lacks.
    pub fn in_folder(recipe: PyRecipe, folder: RunFolder) -> Result<Self, Failure> {
        let history = match folder.history() {
            Ok(history) => history,
            // It was interrupted before its first record.
            Err(StoreError::NothingRecorded { .. }) => History::default(),
            Err(error) => return Err(error.into()),
        };
        let summary = folder.summary()?;
        Self::new(recipe, history, summary, Kept::Folder(Box::new(folder)))
    }

    fn new(
        recipe: PyRecipe,
        history: History,
        summary: Option<Summary>,
        kept: Kept,
    ) -> Result<Self, Failure> {
        let ended = summary.is_some();
        let summary = match summary {
            Some(summary) => summary,
            None => so_far(&recipe, &history),
        };
        Ok(Self {
            recipe,
            history,
            summary,
            ended,
            kept,
        })
    }

    fn steps(&self) -> Result<Vec<u64>, Failure> {
        match &self.kept {
            Kept::Memory { snapshots, .. } => Ok(snapshots.iter().map(|(step, _)| *step).collect()),
            Kept::Folder(folder) => Ok(folder.snapshot_steps()?),
        }
    }

    fn snapshot(&self, step: Option<u64>) -> Result<(u64, Arc<Vec<f32>>), Failure> {
        let snapshots = match &self.kept {
            Kept::Folder(folder) => {
                let (step, params) = folder.snapshot(step)?;
                return Ok((step, Arc::new(params)));
            }
            Kept::Memory { snapshots, .. } => snapshots,
        };
        let found = match step {
            Some(step) => snapshots.iter().find(|(at, _)| *at == step),
            None => snapshots.last(),
        };
        found.cloned().ok_or_else(|| match (step, snapshots.first(), snapshots.last()) {
            (Some(step), Some((first, _)), Some((last, _))) => {
                let distance = |(at, _): &&(u64, _)| at.abs_diff(step);
                let nearest = snapshots.iter().min_by_key(distance).map_or(0, |(at, _)| *at);
                Failure::input(format!(
                    "there is no snapshot at step {step}; the nearest is at {nearest} (there are {} from step {first} \
                     to {last})",
                    snapshots.len()
                ))
            }
            _ => Failure::input("the run has no snapshots yet"),
        })
    }

    fn run_files(&self) -> Result<RunFiles, Failure> {
        let (snapshots, recipe) = match &self.kept {
            Kept::Folder(folder) => return Ok(folder.files()?),
            Kept::Memory { snapshots, .. } => (snapshots, &*self.recipe.recipe),
        };
        let mut files = RunFiles::default();
        files.insert("recipe.toml", RunFiles::recipe(recipe));
        files.insert("metrics.csv", RunFiles::metrics(recipe, &self.history));
        if self.ended {
            files.insert("summary.json", RunFiles::summary(&self.summary));
        }
        for (step, params) in snapshots {
            let name = RunFiles::snapshot_name(*step);
            files.insert(name, RunFiles::snapshot(recipe, *step, params)?);
        }
        Ok(files)
    }

    /// The state that training resumes from.
    pub fn checkpoint(&self) -> Result<Option<Checkpoint>, Failure> {
        match &self.kept {
            Kept::Memory { checkpoint, .. } => Ok(checkpoint.clone()),
            Kept::Folder(folder) => Ok(folder.checkpoint()?),
        }
    }

    /// Steps and weights, in order.
    pub fn snapshots(&self) -> Result<Snapshots, Failure> {
        match &self.kept {
            Kept::Memory { snapshots, .. } => Ok(snapshots.clone()),
            Kept::Folder(_) => {
                let steps = self.steps()?.into_iter();
                steps.map(|step| self.snapshot(Some(step))).collect()
            }
        }
    }

    /// Whether its loss was not a number.
    pub fn has_diverged(&self) -> bool {
        self.ended && self.summary.ended == Ended::Diverged
    }

    fn compared(&self) -> Compared<'_> {
        Compared {
            recipe: &self.recipe.recipe,
            history: &self.history,
            summary: &self.summary,
        }
    }
}

/// What the records of a run that has not ended say; without the levels of strategies, if a part that is needed for
/// them is missing or fails.
fn so_far(recipe: &PyRecipe, history: &History) -> Summary {
    let mut measured = (*recipe.recipe).clone();
    measured.record.custom_measures.clear();
    let levels = in_pool(0, || {
        measured.check_parts()?;
        Ok(Instruments::new(&measured)?.levels().to_vec())
    });
    recipe.raised.iter().for_each(|part| drop(part.take()));
    Summary::of_records(&recipe.recipe, history, &levels.unwrap_or_default())
}

impl Recorded for &PyRun {
    fn curves(&self) -> RunCurves<'_> {
        RunCurves {
            history: &self.history,
            recipe: &self.recipe.recipe,
        }
    }
}

#[pymethods]
impl PyRun {
    /// Opens the folder of a run.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, parts: Vec<Py<PyAny>>) -> Result<Self, Failure> {
        let folder = RunFolder::open(&path)?;
        let recipe = PyRecipe::build(py, folder.recipe().clone(), parts)?;
        py.detach(|| Self::in_folder(recipe, folder))
    }

    /// A run from the files of its folder.
    #[staticmethod]
    fn of_files(
        py: Python<'_>,
        name: &str,
        files: BTreeMap<String, Vec<u8>>,
        parts: Vec<Py<PyAny>>,
    ) -> Result<Self, Failure> {
        let mut all = RunFiles::default();
        files
            .into_iter()
            .for_each(|(name, bytes)| all.insert(name, bytes));
        let folder = RunFolder::of_files(name, all)?;
        let recipe = PyRecipe::build(py, folder.recipe().clone(), parts)?;
        py.detach(|| Self::in_folder(recipe, folder))
    }

    /// The files of its folder, by name, with the state that training resumes from.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let mut files = self.run_files()?;
        if let Some(checkpoint) = self.checkpoint()? {
            files.insert_checkpoint(&self.recipe.recipe, &checkpoint)?;
        }
        let files = files
            .iter()
            .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        Ok(files.collect())
    }

    /// Writes it into a new folder.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<(), Failure> {
        py.detach(|| {
            let (snapshots, checkpoint) = (self.snapshots()?, self.checkpoint()?);
            let saved = Saved {
                recipe: &self.recipe.recipe,
                history: &self.history,
                snapshots: snapshots
                    .iter()
                    .map(|(at, w)| (*at, w.as_slice()))
                    .collect(),
                checkpoint: checkpoint.as_ref(),
                summary: self.ended.then_some(&self.summary),
            };
            Ok(saved.write(&path)?)
        })
    }

    /// Its folder, if it has one on disk.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        match &self.kept {
            Kept::Folder(folder) if folder.is_on_disk() => Some(folder.path().to_owned()),
            _ => None,
        }
    }

    #[getter]
    fn recipe(&self, py: Python<'_>) -> PyRecipe {
        self.recipe.clone_ref(py)
    }

    /// Identifies it.
    #[getter]
    fn identity(&self) -> String {
        match &self.kept {
            Kept::Folder(folder) => folder.identity().run.clone(),
            Kept::Memory { .. } => Identity::of(&self.recipe.recipe).run,
        }
    }

    /// Whether it has ended.
    #[getter]
    fn has_ended(&self) -> bool {
        self.ended
    }

    fn table(&self) -> Table {
        Table::of(&self.history)
    }

    /// The outcome, as JSON.
    fn summary_json(&self) -> String {
        serde_json::to_string(&self.summary).expect("plain data")
    }

    fn snapshot_steps(&self) -> Result<Vec<u64>, Failure> {
        self.steps()
    }

    /// The model of a snapshot, under the interventions in force there; the last one if no step is given.
    #[pyo3(signature = (step = None))]
    fn model(&self, py: Python<'_>, step: Option<u64>) -> Result<PyModel, Failure> {
        py.detach(|| {
            let (step, params) = self.snapshot(step)?;
            let recipe = &self.recipe.recipe;
            let indices = in_force(recipe, &self.history, step);
            let find = |from: &induct::train::FromSpec| self.recipe.weights.find(from);
            let model = in_pool(0, || Ok(recipe.model_under(&indices, &find)?))?;
            let mut of_model = (**recipe).clone();
            // Those about weights have had their effect: the weights are here.
            let there = indices.iter().map(|&index| recipe.intervene[index].clone());
            of_model.intervene = there.filter(|spec| !spec.is_about_weights()).collect();
            let weights = self.recipe.weights.clone();
            let model = PyModel::new(Arc::new(of_model), weights, model, params, step);
            Ok(model.raising(self.recipe.raised.clone()))
        })
    }

    /// Where it differs from another one, as JSON.
    fn differences_json(&self, other: &PyRun) -> String {
        let found = Differences::of(self.compared(), other.compared());
        serde_json::to_string(&found).expect("plain data")
    }

    /// A page with the run inside, and how many snapshots had no room in it.
    fn page(&self, py: Python<'_>, base: &str, name: String) -> Result<(String, usize), Failure> {
        py.detach(|| {
            let mut files = self.run_files()?;
            let steps = files.checked_steps(&name)?;
            let most = room(steps.len(), files.snapshot_bytes());
            let kept = files.spread_snapshots(&steps, most);
            let files = files
                .iter()
                .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
            let run = PageRun {
                name,
                files: files.collect(),
            };
            let page = with_runs(base, &[run]).map_err(|error| Failure::run(error.to_string()))?;
            Ok((page, steps.len() - kept))
        })
    }
}

/// Curves of runs. Those of one recipe belong together, unless each is to stand for itself.
#[pyfunction]
pub fn curves(
    py: Python<'_>,
    runs: Vec<PyRef<'_, PyRun>>,
    names: Vec<String>,
    measures: Vec<String>,
    apart: bool,
) -> Result<PyFigure, Failure> {
    let runs: Vec<&PyRun> = runs.iter().map(|run| &**run).collect();
    py.detach(|| {
        let mut groups = match apart {
            true => labelled(runs.iter().map(|run| vec![*run]).collect()),
            false => grouped(runs.clone()),
        };
        // Recipes that differ in seeds only have one label; what the runs are called tells them apart.
        let first = groups[0].label.clone();
        if apart && groups.iter().all(|group| group.label == first) {
            for (group, name) in groups.iter_mut().zip(&names) {
                group.label.clone_from(name);
            }
        }
        let curves: Vec<Runs> = groups.iter().map(|group| group.curves()).collect();
        let chosen = panels::chosen(&curves, &measures)?;
        let task = &runs[0].recipe.recipe.task;
        let levels = match runs.iter().all(|run| run.recipe.recipe.task == *task) {
            true => runs[0].summary.levels(),
            false => Vec::new(),
        };
        let panels = panels::panels(&curves, &chosen, &levels)?;
        let figure = panels::figure(&panels);
        let width = if figure.columns == 1 { 720 } else { 1100 };
        Ok(PyFigure::new(figure, width))
    })
}

/// A measure over two keys, as a heat map: `cells` are [y][x], NaN where there is nothing to show.
#[pyfunction]
pub fn diagram(
    x: (String, Vec<String>),
    y: (String, Vec<String>),
    maps: Vec<(String, String, Vec<Vec<f64>>)>,
) -> PyFigure {
    let axis = |(key, values): (String, Vec<String>)| KeyAxis { key, values };
    let known = |value: f64| value.is_finite().then_some(value);
    let row = |row: Vec<f64>| row.into_iter().map(known).collect();
    let map = |(title, unit, cells): (String, String, Vec<Vec<f64>>)| Map {
        title,
        unit,
        cells: cells.into_iter().map(row).collect(),
    };
    let maps: Vec<Map> = maps.into_iter().map(map).collect();
    PyFigure::new(phase_diagram(&axis(x), &axis(y), &maps), 900)
}
