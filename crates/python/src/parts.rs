//! Parts of a recipe that are Python functions: tasks, priors, strategies and measures.
//!
//! The library's traits have no room for exceptions. One that a function raises is kept here, its answer becomes one
//! that the library refuses, and whoever called the library raises the exception in place of the refusal.

use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex};

use induct::chain::{self, Draft, Generator, open_unit};
use induct::measure::{self, Column, Observation, Scope};
use induct::recipe::Recipe;
use induct::strategy;
use induct::task::{self, Sequence};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::{Failure, RecipeError};
use crate::model::PyModel;
use crate::threads::locked;
use crate::weights::Weights;

/// The first exception that a part raised, until it is taken.
pub struct FirstException {
    kept: Mutex<Option<PyErr>>,
    /// Whether the part is a measure.
    pub by_measure: bool,
}

impl FirstException {
    fn new(by_measure: bool) -> Arc<Self> {
        Arc::new(Self {
            kept: Mutex::default(),
            by_measure,
        })
    }

    /// Keeps an exception, unless an earlier one is kept.
    fn keep(&self, error: PyErr) {
        locked(&self.kept).get_or_insert(error);
    }

    /// Whether there is one.
    pub fn any(&self) -> bool {
        locked(&self.kept).is_some()
    }

    /// Takes it.
    pub fn take(&self) -> Option<PyErr> {
        locked(&self.kept).take()
    }
}

/// A Python function under a name.
pub struct Function {
    name: String,
    call: Py<PyAny>,
    raised: Arc<FirstException>,
}

impl Debug for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Function {
    /// Calls it, and keeps what it raises; `None` then.
    fn ask<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        Python::attach(|py| match work(self.call.bind(py)) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.raised.keep(error);
                None
            }
        })
    }
}

/// What kind of part a function is.
enum Kind {
    Prior,
    /// With its ladder: names, and the functions of those that are not built in.
    Task(Vec<(String, Option<Py<PyAny>>)>),
    Strategy,
    Measure(Description),
}

/// What a measure says of itself.
#[derive(Clone, Debug)]
struct Description {
    scope: Scope,
    meaning: String,
    unit: String,
    range: [f64; 2],
}

/// A part of a recipe. `make` gives the function for the settings that the recipe has.
#[pyclass(frozen, module = "induct._induct")]
pub struct Part {
    name: String,
    make: Py<PyAny>,
    raised: Arc<FirstException>,
    kind: Kind,
}

#[pymethods]
impl Part {
    #[staticmethod]
    fn prior(name: String, make: Py<PyAny>) -> Self {
        Self::new(name, make, Kind::Prior)
    }

    #[staticmethod]
    fn task(name: String, make: Py<PyAny>, ladder: Vec<(String, Option<Py<PyAny>>)>) -> Self {
        Self::new(name, make, Kind::Task(ladder))
    }

    #[staticmethod]
    fn strategy(name: String, make: Py<PyAny>) -> Self {
        Self::new(name, make, Kind::Strategy)
    }

    #[staticmethod]
    fn measure(
        name: String,
        make: Py<PyAny>,
        scope: &str,
        meaning: String,
        unit: String,
        range: [f64; 2],
    ) -> PyResult<Self> {
        let scope = match scope {
            "run" => Scope::Run,
            "head" => Scope::Head,
            "layer" => Scope::Layer,
            "position" => Scope::Position,
            _ => {
                let allowed =
                    "a measure has a value per \"run\", \"layer\", \"head\" or \"position\"";
                let message = format!("scope = \"{scope}\" is not allowed: {allowed}");
                let scope = scope.to_owned();
                return Err(RecipeError::new_err((message, "scope", scope, allowed)));
            }
        };
        let described = Description {
            scope,
            meaning,
            unit,
            range,
        };
        Ok(Self::new(name, make, Kind::Measure(described)))
    }
}

impl Part {
    fn new(name: String, make: Py<PyAny>, kind: Kind) -> Self {
        Self {
            name,
            make,
            raised: FirstException::new(matches!(kind, Kind::Measure(_))),
            kind,
        }
    }

    /// The exception that it raised, if any.
    pub fn raised(&self) -> &Arc<FirstException> {
        &self.raised
    }

    /// The function for these settings.
    fn function(&self, py: Python<'_>, settings: &BTreeMap<String, f64>) -> PyResult<Function> {
        Ok(Function {
            name: self.name.clone(),
            call: self.make.call1(py, (settings.clone(),))?,
            raised: Arc::clone(&self.raised),
        })
    }

    /// Gives the recipe this part's code, wherever it names the part.
    pub fn supply(&self, py: Python<'_>, recipe: &mut Recipe) -> PyResult<()> {
        match &self.kind {
            Kind::Prior => {
                for custom in recipe.custom_priors_mut() {
                    if custom.name == self.name {
                        let function = self.function(py, &custom.settings)?;
                        custom.supply(Arc::new(Prior(function)));
                    }
                }
            }
            Kind::Task(ladder) => {
                let states = recipe.task.states;
                if let Some(custom) = recipe.task.source.custom_mut()
                    && custom.name == self.name
                {
                    let rung = |(name, call): &(String, Option<Py<PyAny>>)| {
                        let Some(call) = call else {
                            return strategy::counting(name, states);
                        };
                        let (name, call) = (name.clone(), call.clone_ref(py));
                        let raised = Arc::clone(&self.raised);
                        let function = Function { name, call, raised };
                        Ok(Arc::new(Strategy { function, states }) as Arc<dyn strategy::Strategy>)
                    };
                    let ladder: Result<Vec<_>, _> = ladder.iter().map(rung).collect();
                    let ladder = ladder.map_err(Failure::from)?;
                    let function = self.function(py, &custom.settings)?;
                    custom.supply(Arc::new(Task {
                        function,
                        states,
                        ladder,
                    }));
                }
            }
            Kind::Strategy => {
                let states = recipe.task.states;
                for custom in &mut recipe.record.custom_strategies {
                    if custom.name == self.name {
                        let function = self.function(py, &custom.settings)?;
                        custom.supply(Arc::new(Strategy { function, states }));
                    }
                }
            }
            Kind::Measure(about) => {
                let of = Arc::new(recipe.clone());
                for custom in &mut recipe.record.custom_measures {
                    if measure::Measure::name(custom) == self.name {
                        let function = self.function(py, custom.settings())?;
                        custom.supply(Arc::new(Measure {
                            function,
                            about: about.clone(),
                            recipe: Arc::clone(&of),
                        }));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Draws tables: the function takes two seeds and returns an array [contexts, k].
#[derive(Debug)]
struct Prior(Function);

/// As many whole numbers as fit into a random number with equal chance.
const SEEDS: f64 = (1_u64 << 53) as f64;

fn seeds(rng: &mut Generator) -> [u64; 2] {
    [0; 2].map(|_: u8| (open_unit(rng) * SEEDS) as u64)
}

impl chain::Prior for Prior {
    fn draw(&self, rng: &mut Generator, table: &mut Draft<'_>) {
        let seeds = seeds(rng);
        let shape = (table.contexts(), table.states());
        let drawn = self.0.ask(|call| {
            let answer = call.call1((seeds[0], seeds[1], shape.0, shape.1))?;
            let rows: PyReadonlyArray2<f64> = answer.extract()?;
            let rows = rows.as_array();
            for (context, row) in rows.rows().into_iter().enumerate() {
                let to = table.row_mut(context);
                to.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
            }
            Ok(())
        });
        if drawn.is_none() {
            table.row_mut(0).fill(f64::NAN);
        }
    }
}

/// Draws sequences: the function takes two seeds and returns all symbols, and the law of each, [t+1, k].
#[derive(Debug)]
struct Task {
    function: Function,
    states: usize,
    ladder: Vec<Arc<dyn strategy::Strategy>>,
}

impl task::Task for Task {
    fn states(&self) -> usize {
        self.states
    }

    fn draw(&self, rng: &mut Generator, sequence: &mut Sequence<'_>) {
        let seeds = seeds(rng);
        // After an exception the sequence is incomplete, which the library refuses.
        self.function.ask(|call| {
            let answer = call.call1((seeds[0], seeds[1], sequence.len(), self.states))?;
            let (tokens, laws): (PyReadonlyArray1<u8>, PyReadonlyArray2<f64>) = answer.extract()?;
            for (symbol, law) in tokens.as_array().iter().zip(laws.as_array().rows()) {
                sequence.write(*symbol, &law.to_vec());
            }
            Ok(())
        });
    }

    fn ladder(&self) -> Vec<Arc<dyn strategy::Strategy>> {
        self.ladder.clone()
    }
}

/// Predicts: the function takes the symbols so far and returns a distribution.
#[derive(Debug)]
struct Strategy {
    function: Function,
    states: usize,
}

impl strategy::Strategy for Strategy {
    fn name(&self) -> String {
        self.function.name.clone()
    }

    fn states(&self) -> usize {
        self.states
    }

    fn predict_next(&self, tokens: &[u8], out: &mut [f64]) {
        let answered = self.function.ask(|call| {
            let tokens = PyArray1::from_slice(call.py(), tokens);
            let answer = call.call1((tokens, self.states))?;
            let answer: Vec<f64> = answer.extract()?;
            out.copy_from_slice(&answer);
            Ok(())
        });
        if answered.is_none() {
            out.fill(f64::NAN);
        }
    }
}

/// Measures: the function takes a model and test sequences and returns one number per column.
#[derive(Debug)]
struct Measure {
    function: Function,
    about: Description,
    recipe: Arc<Recipe>,
}

/// Test sequences that a measure sees, at most: as many as the built-in scores of heads are averaged over.
const SEQUENCES: usize = 32;

impl measure::Measure for Measure {
    fn name(&self) -> &str {
        &self.function.name
    }

    fn meaning(&self) -> &str {
        &self.about.meaning
    }

    fn unit(&self) -> &str {
        &self.about.unit
    }

    fn range(&self) -> [f64; 2] {
        self.about.range
    }

    fn scope(&self) -> Scope {
        self.about.scope
    }

    fn read(&self, seen: &Observation, columns: &[Column], values: &mut [f64]) {
        let sequences: Vec<Vec<u8>> = seen.test_sequences().take(SEQUENCES).collect();
        let (count, length) = (sequences.len(), seen.model().length());
        let tokens = Array2::from_shape_fn((count, length), |(n, i)| sequences[n][i]);
        let model = PyModel {
            recipe: Arc::clone(&self.recipe),
            weights: Weights::default(),
            raised: Vec::new(),
            model: seen.model().clone(),
            params: seen.params().to_vec().into(),
            step: seen.step,
        };
        let names: Vec<String> = columns.iter().map(ToString::to_string).collect();
        self.function.ask(|call| {
            let tokens = tokens.into_pyarray(call.py());
            tokens.readwrite().make_nonwriteable();
            let answer = call.call1((model, tokens, names))?;
            let answer: Vec<f64> = answer.extract()?;
            values.copy_from_slice(&answer);
            Ok(())
        });
    }
}

/// The exception that a part raised in place of the library's refusal, or that refusal.
pub fn rather_raised(parts: &[Arc<FirstException>], failure: impl Into<Failure>) -> Failure {
    let raised = parts.iter().find_map(|part| part.take());
    raised.map_or_else(|| failure.into(), Failure::from)
}
