//! Runs: what was recorded and kept, in memory or in a folder.

use std::path::PathBuf;
use std::sync::Arc;

use induct::probe::{History, Instruments};
use induct::run::{Differences, RunView, Summary, in_force};
use induct_lab_page::{Run as PageRun, room, with_runs};
use induct_pictures::groups::{Recorded, grouped, labelled};
use induct_pictures::panels::{self, RunCurves, Runs};
use induct_pictures::sweeps::{KeyAxis, Map, phase_diagram};
use induct_store::{RunFiles, RunFolder, StoreError};
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
    history: History,
    /// The outcome; of a run that has not ended, what its records say so far.
    summary: Summary,
    #[pyo3(get, name = "has_ended")]
    pub ended: bool,
    /// Its files, on disk or in memory.
    pub folder: RunFolder,
}

impl PyRun {
    /// A run from its files, with the code that its recipe's text lacks.
    pub fn new(recipe: PyRecipe, folder: RunFolder) -> Result<Self, Failure> {
        let history = match folder.history() {
            Ok(history) => history,
            // It was interrupted before its first record.
            Err(StoreError::NothingRecorded { .. }) => History::default(),
            Err(error) => return Err(error.into()),
        };
        let summary = folder.summary()?;
        Ok(Self {
            ended: summary.is_some(),
            summary: summary.unwrap_or_else(|| so_far(&recipe, &history)),
            recipe,
            history,
            folder,
        })
    }

    fn of_folder(
        py: Python<'_>,
        folder: RunFolder,
        parts: Vec<Py<PyAny>>,
    ) -> Result<Self, Failure> {
        let recipe = PyRecipe::build(py, folder.recipe().clone(), parts)?;
        py.detach(|| Self::new(recipe, folder))
    }

    fn compared(&self) -> RunView<'_> {
        RunView {
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
        Self::of_folder(py, RunFolder::open(&path)?, parts)
    }

    /// A run from the files of its folder.
    #[staticmethod]
    fn of_files(
        py: Python<'_>,
        name: &str,
        files: RunFiles,
        parts: Vec<Py<PyAny>>,
    ) -> Result<Self, Failure> {
        Self::of_folder(py, RunFolder::of_files(name, files)?, parts)
    }

    /// The files of its folder, by name.
    fn files(&self) -> Result<RunFiles, Failure> {
        Ok(self.folder.files()?)
    }

    /// Writes it into a new folder.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<(), Failure> {
        py.detach(|| Ok(self.folder.save(&path)?))
    }

    /// Its folder, if it has one on disk.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        let storage = self.folder.storage();
        storage.is_on_disk().then(|| storage.path().to_owned())
    }

    #[getter]
    fn recipe(&self, py: Python<'_>) -> PyRecipe {
        self.recipe.clone_ref(py)
    }

    /// Identifies it.
    #[getter]
    fn identity(&self) -> &str {
        &self.folder.identity().run
    }

    fn table(&self) -> Table {
        Table::of(&self.history)
    }

    /// The outcome, as JSON.
    fn summary_json(&self) -> String {
        serde_json::to_string(&self.summary).expect("plain data")
    }

    fn snapshot_steps(&self) -> Result<Vec<u64>, Failure> {
        Ok(self.folder.snapshot_steps()?)
    }

    /// The model of a snapshot, under the interventions in force there; the last one if no step is given.
    #[pyo3(signature = (step = None))]
    fn model(&self, py: Python<'_>, step: Option<u64>) -> Result<PyModel, Failure> {
        py.detach(|| {
            let (step, params) = self.folder.snapshot(step)?;
            let recipe = &self.recipe.recipe;
            let indices = in_force(recipe, &self.history, step);
            let find = |from: &induct::recipe::FromSpec| self.recipe.weights.find(from);
            let model = in_pool(0, || Ok(recipe.model_under(&indices, &find)?))?;
            let mut of_model = (**recipe).clone();
            // Those about weights have had their effect: the weights are here.
            let there = indices.iter().map(|&index| recipe.intervene[index].clone());
            of_model.intervene = there.filter(|spec| !spec.is_about_weights()).collect();
            Ok(PyModel {
                recipe: Arc::new(of_model),
                weights: self.recipe.weights.clone(),
                raised: self.recipe.raised.clone(),
                model,
                params: Arc::new(params),
                step,
            })
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
            let excerpt = self.folder.excerpt(room)?;
            let run = PageRun {
                name,
                files: excerpt.files.into_iter().collect(),
            };
            Ok((with_runs(base, &[run])?, excerpt.left_out))
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
