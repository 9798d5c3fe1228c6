//! Everything that is measured on a model while it trains.

use std::collections::HashSet;
use std::sync::Arc;

use induct_kernels::lanes::{LANES, Lane};
use induct_kernels::scratch::ScratchPool;
use rayon::prelude::*;

use super::estimate::Estimate;
use super::heads::{asked, means};
use super::test_set::{Divergence, Draw, Positions, ProbeError, Request, TestSet};
use crate::chain::{Address, Purpose, address};
use crate::measure::{Column, Kl, Measure, Observation, Of, Scope};
use crate::model::{Kind, Model};
use crate::recipe::{Recipe, THOROUGH_SEQUENCES};
use crate::strategy::{Scratch, Strategy};
use crate::task::Task;
use crate::train::StepOutcome;
use crate::{Invalid, Within};

/// Fixed test sets and what is read from them at every recorded step.
///
/// ```
/// use induct::probe::Instruments;
/// use induct::recipe::Recipe;
///
/// let recipe = Recipe::from_toml("record.test_sequences = 64", &[])?;
/// let (instruments, model) = (Instruments::new(&recipe)?, recipe.model()?);
/// let row = instruments.measure(&model, &model.start(0), 0, None);
/// for (column, value) in instruments.columns().iter().zip(row) {
///     println!("{column}: {value}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Instruments {
    /// The recipe that they were made for.
    recipe: Recipe,
    /// By name; the first is in distribution and also has the strategies' predictions.
    sets: Vec<(String, TestSet)>,
    levels: Vec<TestLevels>,
    /// Columns, grouped by measure in the order of the recipe.
    columns: Vec<Column>,
    /// Scratch buffers for logarithms of predictions.
    pool: ScratchPool<Vec<Lane>>,
}

/// How well strategies do on a test set: KL(truth ‖ strategy) at the last position.
#[derive(Clone, Debug, PartialEq)]
pub struct TestLevels {
    /// The test set; [`IN_DISTRIBUTION`] for the task's own.
    pub test: String,
    /// By strategy, simplest first.
    pub strategies: Vec<(String, Estimate)>,
}

/// Name of the test set of the task itself.
pub const IN_DISTRIBUTION: &str = "in_distribution";

/// Number of sequences whose attention is scored: the first of the in-distribution set.
const ATTENTION_SEQUENCES: usize = 32;

/// Number of the exam's set among a recipe's test sets: no run is measured on it.
pub const EXAM_SET: u64 = 3;

/// Number of the set for `record.tests[index]`.
fn set_number(index: usize) -> u64 {
    let number = index as u64 + 1;
    if number < EXAM_SET {
        number
    } else {
        number + 1
    }
}

/// The test set of the recipe's own task, on which the strategies predict too.
/// Runs on the current thread pool.
pub fn in_distribution(recipe: &Recipe) -> Result<TestSet, ProbeError> {
    let length = recipe.task.length;
    let task = recipe.own_task()?;
    let strategies = recipe.strategies(&*task)?;
    test_set(recipe, &*task, 0, length, (strategies, Positions::All))
}

/// A sequence of that test set, without the symbol that follows it, drawn on its own.
pub fn test_sequence(recipe: &Recipe, number: u64) -> Result<Vec<u8>, ProbeError> {
    let task = recipe.own_task()?;
    let mut tokens = vec![0; recipe.task.length + 1];
    let (address, scratch) = (test_address(recipe, 0), &mut Scratch::default());
    task.sequence(address, number, &mut tokens, None, scratch)?;
    tokens.truncate(recipe.task.length);
    Ok(tokens)
}

fn test_address(recipe: &Recipe, number: u64) -> Address {
    address(Purpose::Test, recipe.seeds.eval, number)
}

/// Test set `number` of a recipe. Only the first one is measured at all positions.
fn test_set(
    recipe: &Recipe,
    task: &dyn Task,
    number: u64,
    length: usize,
    (strategies, positions): (Vec<Arc<dyn Strategy>>, Positions),
) -> Result<TestSet, ProbeError> {
    let draw = Draw {
        address: test_address(recipe, number),
        sequences: 0..recipe.record.test_sequences as u64,
        length,
        thorough: if number == 0 { THOROUGH_SEQUENCES } else { 0 },
    };
    let asked = strategies.into_iter().map(|strategy| (strategy, positions));
    TestSet::draw(task, &draw, &asked.collect::<Vec<_>>())
}

/// The columns that a run of `recipe` records.
pub fn columns(recipe: &Recipe) -> Result<Vec<Column>, Invalid> {
    let model = recipe.model()?;
    let strategies = recipe.record.strategy_names(&recipe.task);
    let lags = match model.kind() {
        Kind::Transformer(shape) if !shape.begins_with_lags() => 0,
        _ => model.length(),
    };
    let layers = 0..model.layer_count();
    let heads = layers.clone().flat_map(|layer| {
        let heads = 0..model.heads(layer);
        heads.map(move |head| Of::Head { layer, head })
    });
    let of = |measure: &dyn Measure| -> Vec<Of> {
        match measure.scope() {
            Scope::Run => vec![Of::Run],
            Scope::Strategy => strategies.iter().cloned().map(Of::Strategy).collect(),
            Scope::Test => {
                let tests = recipe.record.tests.iter();
                tests.map(|test| Of::Test(test.name.clone())).collect()
            }
            Scope::Head => heads.clone().collect(),
            Scope::Layer => layers.clone().map(Of::Layer).collect(),
            Scope::Group => {
                let groups = model.layout().groups().into_iter();
                groups.map(|group| Of::Group(group.to_owned())).collect()
            }
            Scope::Lag => (0..lags).map(Of::Place).collect(),
            Scope::Position => (0..model.length()).map(Of::Place).collect(),
        }
    };
    let chosen = recipe.record.chosen();
    let columns: Vec<Column> = chosen
        .into_iter()
        .flat_map(|measure| of(measure).into_iter().map(|of| Column::new(measure, of)))
        .collect();
    if !recipe.record.custom_measures.is_empty() {
        check_names(recipe, &columns)?;
    }
    Ok(columns)
}

/// The columns with these names of a run of `recipe` whose model only another program has; `None` if the recipe does
/// not record one of them.
pub fn columns_named(recipe: &Recipe, names: Vec<&str>) -> Option<Vec<Column>> {
    let strategies = recipe.record.strategy_names(&recipe.task);
    let chosen = recipe.record.chosen();
    let of = |name: &str, measure: &dyn Measure| -> Option<Of> {
        let own = measure.name();
        let site = || name.strip_suffix(own)?.strip_suffix('.');
        let is = |of: &Of| Column::new(measure, of.clone()).to_string() == name;
        let found = match measure.scope() {
            Scope::Run => Some(Of::Run),
            Scope::Strategy => strategies.iter().cloned().map(Of::Strategy).find(is),
            Scope::Test => {
                let tests = recipe.record.tests.iter();
                tests.map(|test| Of::Test(test.name.clone())).find(is)
            }
            Scope::Head => {
                let (layer, head) = site()?.strip_prefix("layers.")?.split_once(".heads.")?;
                let (layer, head) = (layer.parse().ok()?, head.parse().ok()?);
                Some(Of::Head { layer, head })
            }
            Scope::Layer => Some(Of::Layer(site()?.strip_prefix("layers.")?.parse().ok()?)),
            Scope::Group => Some(Of::Group(site()?.to_owned())),
            Scope::Lag | Scope::Position => {
                let place = name.strip_prefix(own)?.strip_prefix('.')?;
                Some(Of::Place(place.parse().ok()?))
            }
        };
        found.filter(is)
    };
    let column = |name: &str| {
        let mut chosen = chosen.iter();
        chosen.find_map(|&measure| Some(Column::new(measure, of(name, measure)?)))
    };
    names.into_iter().map(column).collect()
}

/// Refuses custom measures with a column of the same name as another one.
fn check_names(recipe: &Recipe, columns: &[Column]) -> Result<(), Invalid> {
    let mut names = HashSet::new();
    let Some(twice) = columns.iter().find(|c| !names.insert(c.to_string())) else {
        return Ok(());
    };
    // Only custom measures come after others that could have the name, and built-in ones all differ.
    let custom = &recipe.record.custom_measures;
    let index = custom.iter().position(|measure| twice.is_of(measure));
    Err(Invalid::new(
        format!("record.custom_measures[{}].name", index.unwrap_or(0)),
        format!("\"{}\"", twice.measure),
        format!("a name that leads to columns of its own: another measure has \"{twice}\""),
    ))
}

/// Each strategy's KL(truth ‖ strategy) at the last position.
fn levels(name: &str, set: &TestSet) -> TestLevels {
    let levels = set.references().iter().zip(set.truth_divergences());
    let levels = levels.skip(1);
    TestLevels {
        test: name.to_owned(),
        strategies: levels
            .map(|(reference, kl)| (reference.name.clone(), kl.last.estimate()))
            .collect(),
    }
}

impl Instruments {
    /// Draws the recipe's test sets, on the current thread pool.
    pub fn new(recipe: &Recipe) -> Result<Self, ProbeError> {
        recipe.check()?;
        for (index, measure) in recipe.record.custom_measures.iter().enumerate() {
            let place = format!("record.custom_measures[{index}]");
            measure.part().within(&place)?;
        }
        let columns = columns(recipe)?;
        let mut sets = vec![(IN_DISTRIBUTION.to_owned(), in_distribution(recipe)?)];
        for (index, test) in recipe.record.tests.iter().enumerate() {
            let prior = recipe.test_prior(index)?;
            let length = test.length.unwrap_or(recipe.task.length);
            let asked = (prior.ladder(), Positions::Last);
            let set = test_set(recipe, &prior, set_number(index), length, asked)?;
            sets.push((test.name.clone(), set));
        }
        let levels = sets.iter().map(|(name, set)| levels(name, set)).collect();
        // The model is compared with strategies only in distribution, so the other
        // sets need not keep their answers.
        sets[1..]
            .iter_mut()
            .for_each(|(_, set)| set.keep_truth_only());
        Ok(Self {
            recipe: recipe.clone(),
            sets,
            levels,
            columns,
            pool: ScratchPool::default(),
        })
    }

    /// Whether they measure what a run of `recipe` records.
    pub fn fit(&self, recipe: &Recipe) -> bool {
        let (own, other) = (&self.recipe, recipe);
        own.task == other.task
            && own.model == other.model
            && own.train.batch == other.train.batch
            && own.seeds.eval == other.seeds.eval
            && own.record.test_sequences == other.record.test_sequences
            && own.record.measures == other.record.measures
            && own.record.strategies == other.record.strategies
            && own.record.custom_strategies == other.record.custom_strategies
            && own.record.custom_measures == other.record.custom_measures
            && own.record.tests == other.record.tests
    }

    /// The columns that [`measure`](Self::measure) returns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How well strategies do on each test set, in-distribution first.
    pub fn levels(&self) -> &[TestLevels] {
        &self.levels
    }

    /// The test sets by name, in-distribution first.
    pub fn sets(&self) -> &[(String, TestSet)] {
        &self.sets
    }

    /// Whether a measure reads the gradient of the last step.
    pub fn need_gradient(&self) -> bool {
        let chosen = self.recipe.record.chosen();
        chosen.iter().any(|measure| measure.needs_gradient())
    }

    /// One row of metrics for the recipe's model after `step` steps, computed on the current thread pool.
    /// `last` is what the last step gave. Missing numbers are NaN.
    pub fn measure(
        &self,
        model: &Model,
        params: &[f32],
        step: u64,
        last: Option<StepOutcome>,
    ) -> Vec<f64> {
        let seen = self.observe(model, params, step, last);
        let mut row = vec![f64::NAN; self.columns.len()];
        let mut next = 0;
        for measure in self.recipe.record.chosen() {
            let start = next;
            let own = self.columns[start..].iter();
            next += own.take_while(|column| column.is_of(measure)).count();
            measure.read(&seen, &self.columns[start..next], &mut row[start..next]);
        }
        row
    }

    /// Everything that is observed of the model, whether or not a column shows it.
    pub fn observe<'a>(
        &'a self,
        model: &'a Model,
        params: &'a [f32],
        step: u64,
        last: Option<StepOutcome<'a>>,
    ) -> Observation<'a> {
        let chosen = self.recipe.record.chosen();
        let wanted = Request {
            heads: asked(&chosen),
            looked_at: ATTENTION_SEQUENCES / LANES,
            ngram: self.recipe.task.ngram,
            by_position: chosen.iter().any(|measure| measure.needs_positions()),
        };
        let evaluator = model.at(params);
        let mut measured: Vec<_> = self
            .sets
            .par_iter()
            .enumerate()
            .map(|(index, (_, set))| {
                let nothing = Request::default();
                let wanted = if index == 0 { &wanted } else { &nothing };
                if !model.needs_batch() {
                    return set.measure(&self.pool, model, &evaluator, wanted);
                }
                let mut evaluator = model.at(params);
                set.show_to(&mut evaluator);
                set.measure(&self.pool, model, &evaluator, wanted)
            })
            .collect();
        let own = measured.remove(0);
        let set = &self.sets[0].1;
        let names = set.references().iter().skip(1);
        let strategies = names.zip(&own.divergences[1..]);
        let tests = self.recipe.record.tests.iter().zip(&measured);
        let mut seen = Observation::new(model, params, set.thorough_blocks());
        seen.step = step;
        seen.sequences = step.saturating_mul(self.recipe.train.batch as u64);
        seen.train_loss = last.map(|last| last.loss.mean);
        seen.train_loss_last = last.and_then(|last| last.loss.last);
        seen.gradient = last.and_then(|last| last.gradient);
        seen.truth = kl(&own.divergences[0]);
        seen.strategies = strategies
            .map(|(reference, divergence)| (reference.name.clone(), kl(divergence)))
            .collect();
        seen.tests = tests
            .map(|(test, seen)| (test.name.clone(), kl(&seen.divergences[0])))
            .collect();
        seen.heads = means(model, &own.heads, &wanted.heads);
        [seen.kl_by_position, seen.loss_by_position] = own.by_position;
        seen
    }
}

fn kl(divergence: &Divergence) -> Kl {
    let last = divergence.last.estimate();
    Kl {
        last: last.mean,
        se: last.se,
        all: divergence.all.map(|all| all.estimate().mean),
    }
}
