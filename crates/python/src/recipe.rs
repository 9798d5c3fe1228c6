//! Recipes: text in, everything that determines a run out.

use std::sync::Arc;

use induct::catalogue::{SETTINGS, Setting};
use induct::recipe::Recipe;
use induct::run::Identity;
use induct::train::{Sample, samples};
use induct_store::complete;
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::model::PyModel;
use crate::parts::{FirstException, Part, rather_raised};
use crate::threads::in_pool;
use crate::weights::Weights;

/// A recipe, with the functions and weights that it names.
#[pyclass(frozen, module = "induct._induct", name = "Recipe")]
pub struct PyRecipe {
    pub recipe: Arc<Recipe>,
    pub weights: Weights,
    pub raised: Vec<Arc<FirstException>>,
    /// As they were given.
    parts: Vec<Py<PyAny>>,
}

impl PyRecipe {
    /// A checked recipe, with its parts.
    pub fn build(
        py: Python<'_>,
        mut recipe: Recipe,
        parts: Vec<Py<PyAny>>,
    ) -> Result<Self, Failure> {
        let mut weights = Weights::default();
        let mut raised = Vec::new();
        for part in &parts {
            let part = part.bind(py);
            if let Ok(part) = part.cast::<Part>() {
                part.get().supply(py, &mut recipe)?;
                raised.push(Arc::clone(part.get().raised()));
            } else {
                let model = part.cast::<PyModel>().map_err(PyErr::from)?;
                model.get().lend(&mut weights);
            }
        }
        let checked = checked(py, || {
            complete(&mut recipe)
                .map_err(|(place, error)| Failure::run(format!("{place}: {error}")))?;
            Ok(recipe.check()?)
        });
        checked.map_err(|failure| rather_raised(&raised, failure))?;
        Ok(Self {
            recipe: Arc::new(recipe),
            weights,
            raised,
            parts,
        })
    }

    /// The same with other settings, which have been checked.
    pub fn with(&self, py: Python<'_>, recipe: Recipe) -> Result<Self, Failure> {
        let parts = self.parts.iter().map(|part| part.clone_ref(py));
        Self::build(py, recipe, parts.collect())
    }

    /// The same, to be kept elsewhere.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            recipe: Arc::clone(&self.recipe),
            weights: self.weights.clone(),
            raised: self.raised.clone(),
            parts: self.parts.iter().map(|part| part.clone_ref(py)).collect(),
        }
    }
}

/// Does what may draw chains, and so may call Python on other threads.
fn checked<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    py.detach(|| in_pool(1, work))
}

/// The most numbers of a batch that is handed over.
const MOST_NUMBERS: f64 = 5e8;

#[pymethods]
impl PyRecipe {
    /// Reads a recipe: TOML, overrides as `key.path=value`, and the parts that it names.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        text: &str,
        overrides: Vec<String>,
        parts: Vec<Py<PyAny>>,
    ) -> Result<Self, Failure> {
        let recipe = checked(py, || Ok(Recipe::from_toml(text, &overrides)?))?;
        Self::build(py, recipe, parts)
    }

    /// A setting of the catalogue; `None` if there is none with that name.
    #[staticmethod]
    fn named(
        py: Python<'_>,
        name: &str,
        overrides: Vec<String>,
        parts: Vec<Py<PyAny>>,
    ) -> Result<Option<Self>, Failure> {
        let Some(setting) = Setting::named(name) else {
            return Ok(None);
        };
        let recipe = checked(py, || Ok(setting.recipe(&overrides)?))?;
        Self::build(py, recipe, parts).map(Some)
    }

    fn to_toml(&self) -> String {
        self.recipe.to_toml()
    }

    /// Identifies a run of it by this program on this machine.
    #[getter]
    fn identity(&self) -> String {
        Identity::of(&self.recipe).run
    }

    /// The keys in which it differs from another one, with both values.
    fn differences(&self, other: &PyRecipe) -> Vec<(String, Option<String>, Option<String>)> {
        let differences = self.recipe.differences(&other.recipe).into_iter();
        differences.map(|d| (d.key, d.old, d.new)).collect()
    }

    /// The batch of a step: symbols [batch, t + 1] and tables [batch, contexts, k], or laws [batch, t, k].
    fn batch<'py>(
        &self,
        py: Python<'py>,
        step: u64,
    ) -> Result<(Bound<'py, PyAny>, Bound<'py, PyAny>), Failure> {
        let recipe = &*self.recipe;
        let (task, batch) = (&recipe.task, recipe.train.batch);
        if batch as f64 * Sample::size(recipe) > MOST_NUMBERS {
            return Err(Failure::input(format!(
                "a batch of {batch} sequences and their tables is too large to hand over; set train.batch to a \
                 smaller number"
            )));
        }
        let drawn = checked(py, || -> Result<_, Failure> {
            let stages = recipe.stages()?;
            let (mut symbols, mut tables): (Vec<u8>, Vec<f64>) = Default::default();
            for sample in samples(recipe, &stages, step) {
                let sample = sample?;
                tables.extend(sample.rows);
                symbols.extend(sample.tokens);
            }
            Ok((symbols, tables))
        });
        let (symbols, tables) = drawn.map_err(|failure| rather_raised(&self.raised, failure))?;
        let contexts = tables.len() / (batch * task.states).max(1);
        let shaped = "as many numbers as the shape says";
        let symbols = Array2::from_shape_vec((batch, task.length + 1), symbols).expect(shaped);
        let tables = Array3::from_shape_vec((batch, contexts, task.states), tables).expect(shaped);
        let symbols = symbols.into_pyarray(py).into_any();
        Ok((symbols, tables.into_pyarray(py).into_any()))
    }

    /// The names of all strategies that its task has.
    fn strategies(&self, py: Python<'_>) -> Result<Vec<String>, Failure> {
        let names = checked(py, || {
            let all = self.recipe.own_task()?.strategies()?.into_iter();
            let own = self.recipe.record.custom_strategies.iter();
            let names = all.map(|strategy| strategy.name());
            Ok(names.chain(own.map(|custom| custom.name.clone())).collect())
        });
        names.map_err(|failure| rather_raised(&self.raised, failure))
    }

    /// A strategy's distributions at every position of a sequence: [t, k].
    fn predict<'py>(
        &self,
        py: Python<'py>,
        strategy: &str,
        tokens: PyReadonlyArray1<'py, u8>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let tokens = tokens.as_array().to_vec();
        let rows = checked(py, || -> Result<Vec<f64>, Failure> {
            let custom = self.recipe.record.custom_strategies.iter();
            let found = { custom }.find(|custom| custom.name == strategy);
            let strategy = match found {
                Some(custom) => Arc::clone(custom.part()?),
                None => self.recipe.own_task()?.strategy(strategy)?,
            };
            let answers = strategy.distributions(&tokens)?;
            Ok(answers.rows().flatten().copied().collect())
        });
        let rows = rows.map_err(|failure| rather_raised(&self.raised, failure))?;
        let shape = (tokens.len(), self.recipe.task.states);
        let rows = Array2::from_shape_vec(shape, rows).expect("a row per symbol");
        Ok(rows.into_pyarray(py).into_any())
    }
}

/// Every kind of model, block and source with its settings.
#[pyfunction]
pub fn schema_json() -> String {
    serde_json::to_string(&induct::settings::schema()).expect("it is plain data")
}

/// The settings of the catalogue: name, what it is, where it comes from, whether it is a preset.
#[pyfunction]
pub fn settings() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    let described = |s: &Setting| (s.name, s.about, s.origin.name(), s.listed);
    SETTINGS.iter().map(described).collect()
}

/// The names of the columns that a run of it records.
#[pyfunction]
pub fn columns(recipe: PyRef<'_, PyRecipe>) -> Result<Vec<String>, Failure> {
    let columns = induct::probe::columns(&recipe.recipe)?;
    Ok(columns.iter().map(ToString::to_string).collect())
}
