//! Models with their weights: activations, predictions, interventions.

use std::sync::Arc;

use induct::internal::digest;
use induct::model::{Array, Instead, Model};
use induct::probe::{Comparison, Positions, Whole, compare, fresh};
use induct::recipe::{InterveneSpec, Recipe, WeightsSpec};
use induct_pictures::attention::{Attention, figure};
use numpy::ndarray::ArrayD;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::figure::PyFigure;
use crate::parts::{FirstException, rather_raised};
use crate::recipe::PyRecipe;
use crate::table::view;
use crate::threads::in_pool;
use crate::weights::Weights;

/// A model at given weights, under interventions if there are any.
#[pyclass(frozen, module = "induct._induct", name = "Model")]
#[derive(Clone)]
pub struct PyModel {
    /// That of the run it comes from, with the interventions that it is under now and no others.
    pub recipe: Arc<Recipe>,
    /// What those interventions may need.
    pub weights: Weights,
    /// What parts of the recipe raise.
    pub raised: Vec<Arc<FirstException>>,
    pub model: Model,
    pub params: Arc<Vec<f32>>,
    #[pyo3(get)]
    pub step: u64,
}

/// The flat vectors that came in, one per tensor.
type Tensors<'py> = Vec<(String, PyReadonlyArray1<'py, f32>)>;

/// The most numbers that activations may take.
const MOST_NUMBERS: f64 = 5e8;

impl PyModel {
    /// Lets a recipe take its weights.
    pub fn lend(&self, weights: &mut Weights) {
        weights.extend(&self.weights);
        weights.add(digest::weights(&self.params), Arc::clone(&self.params));
    }

    /// One array per row of tokens, put together.
    fn by_sequence<'py>(
        &self,
        py: Python<'py>,
        tokens: &PyReadonlyArray2<'py, u8>,
        compute: impl Fn(&[u8]) -> Result<Array, Failure> + Sync,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let rows = sequences(tokens);
        let (shape, numbers) = py.detach(|| {
            let mut numbers = Vec::new();
            let mut shape = [rows.len(), 0, self.model.states()];
            for row in &rows {
                let array = compute(row)?;
                shape[1] = array.shape()[0];
                numbers.extend(array.into_data());
            }
            Ok::<_, Failure>((shape, numbers))
        })?;
        Ok(array(py, &shape, numbers))
    }
}

/// The rows of an array of symbols, to be read without Python's lock.
fn sequences(tokens: &PyReadonlyArray2<'_, u8>) -> Vec<Vec<u8>> {
    let rows = tokens.as_array();
    rows.rows().into_iter().map(|row| row.to_vec()).collect()
}

/// Numbers as an array, which takes them over.
fn array<'py>(py: Python<'py>, shape: &[usize], numbers: Vec<f32>) -> Bound<'py, PyAny> {
    let array = ArrayD::from_shape_vec(shape, numbers).expect("as many numbers as the shape says");
    array.into_pyarray(py).into_any()
}

/// A mean and its standard error.
type MeanAndError = (f64, f64);

#[pymethods]
impl PyModel {
    #[getter]
    fn states(&self) -> usize {
        self.model.states()
    }

    #[getter]
    fn length(&self) -> usize {
        self.model.length()
    }

    /// The recipe of its run, with the interventions that it is under.
    fn recipe_toml(&self) -> String {
        self.recipe.to_toml()
    }

    /// Identifies its weights.
    #[getter]
    fn digest(&self) -> String {
        digest::weights(&self.params)
    }

    /// Every tensor: its name, its shape, and its numbers where they lie.
    fn tensors<'py>(slf: &Bound<'py, Self>) -> Vec<(String, Vec<usize>, Bound<'py, PyAny>)> {
        let model = slf.get();
        let tensors = model.model.layout().tensors().iter();
        let tensor = |tensor: &induct::model::Tensor| {
            let numbers = &model.params[tensor.range.clone()];
            let seen = view(numbers, slf.clone().into_any());
            (tensor.name.clone(), tensor.shape.clone(), seen)
        };
        tensors.map(tensor).collect()
    }

    /// The same model with other weights, flat, by tensor.
    fn with_tensors(&self, tensors: Tensors<'_>) -> Result<Self, Failure> {
        let layout = self.model.layout();
        let mut params = vec![0.0; layout.len()];
        for tensor in layout.tensors() {
            let found = tensors.iter().find(|(name, _)| *name == tensor.name);
            let Some((_, numbers)) = found else {
                return Err(Failure::input(format!(
                    "there is no tensor \"{}\"",
                    tensor.name
                )));
            };
            let numbers = numbers.as_array();
            if numbers.len() != tensor.range.len() {
                return Err(Failure::input(format!(
                    "tensor \"{}\" has {} numbers, and needs {}: shape {:?}",
                    tensor.name,
                    numbers.len(),
                    tensor.range.len(),
                    tensor.shape
                )));
            }
            let to = params[tensor.range.clone()].iter_mut();
            to.zip(numbers).for_each(|(to, from)| *to = *from);
        }
        let params = Arc::new(params);
        Ok(Self {
            params,
            ..self.clone()
        })
    }

    /// Everything that it computes on sequences of equal length, by name; each array is [sequences, …].
    fn run<'py>(
        &self,
        py: Python<'py>,
        tokens: PyReadonlyArray2<'py, u8>,
    ) -> Result<Vec<(String, Bound<'py, PyAny>)>, Failure> {
        let rows = sequences(&tokens);
        self.check_size(rows.len(), rows.first().map_or(0, Vec::len))?;
        let arrays = py.detach(|| {
            let mut all: Vec<(String, Vec<usize>, Vec<f32>)> = Vec::new();
            for (index, row) in rows.iter().enumerate() {
                let seen = self.model.run(&self.params, row)?;
                for (at, (name, array)) in seen.into_iter().enumerate() {
                    match index {
                        // The first takes over its numbers: a single sequence is never copied.
                        0 => {
                            let shape = [&[rows.len()], array.shape()].concat();
                            let mut numbers = array.into_data();
                            numbers.reserve_exact(numbers.len() * (rows.len() - 1));
                            all.push((name, shape, numbers));
                        }
                        _ => all[at].2.extend(array.into_data()),
                    }
                }
            }
            Ok::<_, Failure>(all)
        })?;
        let named = |(name, shape, numbers): (String, Vec<usize>, Vec<f32>)| {
            (name, array(py, &shape, numbers))
        };
        Ok(arrays.into_iter().map(named).collect())
    }

    /// Logits at every position: [sequences, t, k].
    fn logits<'py>(
        &self,
        py: Python<'py>,
        tokens: PyReadonlyArray2<'py, u8>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let evaluator = self.model.evaluator(&self.params)?;
        self.by_sequence(py, &tokens, |row| Ok(evaluator.logits(row)?))
    }

    /// Distributions of the next symbol at every position: [sequences, t, k].
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        tokens: PyReadonlyArray2<'py, u8>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let evaluator = self.model.evaluator(&self.params)?;
        self.by_sequence(py, &tokens, |row| Ok(evaluator.probabilities(row)?))
    }

    /// The same weights under these interventions and no others: entries of `[[intervene]]`, as inline tables.
    fn under(
        &self,
        py: Python<'_>,
        entries: Vec<String>,
        models: Vec<PyRef<'_, PyModel>>,
    ) -> Result<Self, Failure> {
        let mut weights = self.weights.clone();
        models.iter().for_each(|model| model.lend(&mut weights));
        let mut recipe = self.recipe.with_interventions(&entries)?;
        // Weights of the run itself would have to be trained, which nobody asked for.
        let own =
            |spec: &InterveneSpec| matches!(spec.weights(), Some((_, WeightsSpec::Own { .. })));
        if let Some(index) = recipe.intervene.iter().position(own) {
            return Err(Failure::input(format!(
                "intervene[{index}] takes weights of the run's own step; give the model of that step instead, as in \
                 run.model(step)"
            )));
        }
        induct_store::complete(&mut recipe).map_err(|(_, error)| error)?;
        let all: Vec<usize> = (0..recipe.intervene.len()).collect();
        let model = py.detach(|| recipe.model_under(&all, &|from| weights.find(from)))?;
        Ok(Self {
            recipe: Arc::new(recipe),
            weights,
            model,
            ..self.clone()
        })
    }

    /// KL(truth ‖ model) on fresh sequences, and KL(strategy ‖ model) by strategy: at the last position, and over
    /// all positions; means and standard errors. Sequences are those of its own task, or of another recipe's.
    fn evaluate(
        &self,
        py: Python<'_>,
        sequences: u64,
        threads: usize,
        on: Option<PyRef<'_, PyRecipe>>,
    ) -> Result<Vec<(String, MeanAndError, Option<MeanAndError>)>, Failure> {
        self.model.check_batch(sequences)?;
        let raised = match &on {
            Some(on) => on.raised.clone(),
            None => self.raised.clone(),
        };
        let recipe = on.map_or_else(|| Arc::clone(&self.recipe), |on| Arc::clone(&on.recipe));
        let (states, length) = (recipe.task.states, recipe.task.length);
        if states != self.model.states() || length > self.model.length() {
            return Err(Failure::input(format!(
                "the sequences have {states} states and length {length}; this model knows {} states and at most {} \
                 symbols",
                self.model.states(),
                self.model.length()
            )));
        }
        let found = py.detach(|| in_pool(threads, || self.divergences(&recipe, sequences)));
        found.map_err(|failure| rather_raised(&raised, failure))
    }

    /// What each part is worth: how much higher KL(truth ‖ model) is without it, on fresh sequences.
    fn worth(
        &self,
        py: Python<'_>,
        sequences: u64,
        instead: &str,
        threads: usize,
    ) -> Result<Vec<(String, f64, f64)>, Failure> {
        let instead = match instead {
            "zero" => Instead::Zero,
            "mean" => Instead::Mean,
            "resample" => Instead::Resampled,
            _ => {
                return Err(Failure::input(format!(
                    "instead = \"{instead}\" is not allowed: \"zero\", \"mean\" or \"resample\""
                )));
            }
        };
        let (length, states) = (self.recipe.task.length as f64, self.model.states() as f64);
        let numbers = sequences as f64 * length * (states + 1.0);
        if numbers > MOST_NUMBERS {
            return Err(Failure::input(format!(
                "{sequences} sequences are too many to compare parts on; at most {:.0} of this length fit",
                MOST_NUMBERS / length / (states + 1.0)
            )));
        }
        let measure = || -> Result<_, Failure> {
            let set = fresh(&self.recipe, sequences)?;
            let whole = Whole::new(&self.model, &self.params, &set)?;
            let mut parts = Vec::new();
            for site in self.model.parts() {
                if let Some(worth) = whole.worth(site, instead.clone())? {
                    parts.push((site.to_string(), worth.mean, worth.se));
                }
            }
            Ok(parts)
        };
        let found = py.detach(|| in_pool(threads, measure));
        found.map_err(|failure| rather_raised(&self.raised, failure))
    }

    /// What every head attends to on a sequence.
    fn attention(
        &self,
        py: Python<'_>,
        tokens: PyReadonlyArray1<'_, u8>,
    ) -> Result<PyFigure, Failure> {
        let tokens = tokens.as_array().to_vec();
        self.check_size(1, tokens.len())?;
        py.detach(|| {
            let ngram = self.recipe.task.ngram;
            let mut seen = Attention::of(&self.model, &self.params, &tokens, ngram)?;
            seen.title = format!("after step {}, {} symbols", self.step, tokens.len());
            let (figure, width) = figure(&seen);
            Ok(PyFigure::new(figure, width))
        })
    }
}

impl PyModel {
    /// Refuses sequences whose activations would not fit into memory.
    fn check_size(&self, count: usize, t: usize) -> Result<(), Failure> {
        let layers = 0..self.model.layer_count();
        let heads: usize = layers.map(|layer| self.model.heads(layer).max(1)).sum();
        let numbers = 2.0 * heads as f64 * count as f64 * (t as f64) * (t as f64);
        match numbers <= MOST_NUMBERS {
            true => Ok(()),
            false => Err(Failure::input(format!(
                "patterns of {count} sequences of {t} symbols take {numbers:.1e} numbers, and {MOST_NUMBERS:.0e} are \
                 allowed; give fewer or shorter sequences"
            ))),
        }
    }

    fn divergences(
        &self,
        recipe: &Recipe,
        sequences: u64,
    ) -> Result<Vec<(String, MeanAndError, Option<MeanAndError>)>, Failure> {
        let task = recipe.own_task()?;
        // What another program predicts is known only there.
        let mut known = recipe.record.clone();
        known.custom_strategies.clear();
        let strategies = known.strategies(&*task)?.into_iter();
        let asked: Vec<_> = strategies.map(|s| (s, Positions::All)).collect();
        let model = Some((&self.model, &self.params[..]));
        let found: Vec<Comparison> =
            compare::<Failure>(recipe, &*task, &asked, model, sequences, |_| {})?;
        let estimated = |moments: &induct::probe::Moments| {
            let estimate = moments.estimate();
            (estimate.mean, estimate.se)
        };
        let entry = |(index, of): (usize, &Comparison)| {
            let name = if index == 0 { "truth" } else { &of.name };
            let kl = of.to_model.expect("there is a model");
            (
                name.to_owned(),
                estimated(&kl.last),
                kl.all.as_ref().map(estimated),
            )
        };
        Ok(found.iter().enumerate().map(entry).collect())
    }
}

/// A model from its recipe, its weights by tensor in order, and its step.
#[pyfunction]
pub fn model_of(
    py: Python<'_>,
    recipe: PyRef<'_, PyRecipe>,
    tensors: Vec<PyReadonlyArray1<'_, f32>>,
    step: u64,
) -> Result<PyModel, Failure> {
    let PyRecipe {
        recipe,
        weights,
        raised,
        ..
    } = &*recipe;
    let all: Vec<usize> = (0..recipe.intervene.len()).collect();
    let model = py.detach(|| {
        in_pool(1, || {
            Ok(recipe.model_under(&all, &|from| weights.find(from))?)
        })
    });
    let (model, params) = (model?, tensors.iter().flat_map(|t| t.as_array().to_vec()));
    let params: Vec<f32> = params.collect();
    // Counts them.
    model.evaluator(&params)?;
    Ok(PyModel {
        recipe: Arc::clone(recipe),
        weights: weights.clone(),
        raised: raised.clone(),
        model,
        params: Arc::new(params),
        step,
    })
}
