//! Everything that was trained, and an exam for all final models.

use std::collections::HashMap;

use induct::chain::{Address, Purpose};
use induct::model::Model;
use induct::probe::{Draw, EXAM_SET, Positions, ProbeError, TestSet};
use induct::strategy;
use induct::train::Recipe;

use crate::experiment::Experiment;
use crate::run::Run;
use crate::statistics::Measured;

/// All experiments of a reproduction, trained.
pub struct Results {
    trained: Vec<Trained>,
}

/// One experiment, trained with all its seeds.
pub struct Trained {
    /// What was trained.
    pub experiment: Experiment,
    /// Its model.
    pub model: Model,
    /// One per seed.
    pub runs: Vec<Run>,
    /// The results of the final models on fresh sequences.
    pub exam: Exam,
}

/// KL(truth ‖ ·) at the last position of sequences that were used for nothing else.
pub struct Exam {
    /// By strategy.
    levels: HashMap<String, f64>,
    /// By run; NaN for one that diverged.
    losses: Vec<f64>,
}

/// Sequences in an exam.
const EXAM: u64 = 2048;

impl Results {
    /// Examines the final models of the runs, on the current thread pool.
    pub fn new(runs: Vec<(Experiment, Vec<Run>)>) -> Result<Self, ProbeError> {
        // Experiments with the same task share an exam.
        let mut sets: Vec<(Recipe, TestSet)> = Vec::new();
        let mut trained = Vec::new();
        for (experiment, runs) in runs {
            let recipe = &experiment.recipe;
            let same = |(other, _): &(Recipe, TestSet)| {
                other.task == recipe.task && other.seeds.eval == recipe.seeds.eval
            };
            if !sets.iter().any(same) {
                sets.push((recipe.clone(), exam_set(recipe)?));
            }
            let set = sets.iter().find(|set| same(set)).expect("it is there now");
            let model = recipe.model()?;
            let exam = Exam::of(&set.1, &model, &runs);
            trained.push(Trained {
                model,
                exam,
                runs,
                experiment,
            });
        }
        Ok(Self { trained })
    }

    /// An experiment by its name.
    ///
    /// # Panics
    ///
    /// If it was not trained. Figures and claims declare what they need.
    pub fn of(&self, id: &str) -> &Trained {
        let found = self.trained.iter().find(|t| t.experiment.id == id);
        found.unwrap_or_else(|| panic!("{id} was not trained"))
    }

    /// All of them.
    pub fn all(&self) -> &[Trained] {
        &self.trained
    }
}

fn exam_set(recipe: &Recipe) -> Result<TestSet, ProbeError> {
    // Beyond three states, exact Bayes takes longer than everything else.
    let bayes = recipe.task.ngram == 2 && recipe.task.states <= 3;
    fresh_set(recipe, EXAM_SET, EXAM, bayes)
}

/// Test set number `number` of a recipe, with the predictions of strategies at the last position. Exact Bayes
/// is included if `bayes` is set.
pub(crate) fn fresh_set(
    recipe: &Recipe,
    number: u64,
    sequences: u64,
    bayes: bool,
) -> Result<TestSet, ProbeError> {
    let prior = recipe.prior()?;
    let mut strategies = strategy::ladder(&prior);
    if bayes {
        strategies.push(strategy::named("bayes", &prior)?);
    }
    let asked = strategies.into_iter().map(|s| (s, Positions::Last));
    let draw = Draw {
        address: Address {
            purpose: Purpose::Test,
            seed: recipe.seeds.eval,
            step: number,
        },
        sequences: 0..sequences,
        length: recipe.task.length,
        thorough: 0,
    };
    TestSet::draw(&prior, &draw, &asked.collect::<Vec<_>>())
}

impl Exam {
    fn of(set: &TestSet, model: &Model, runs: &[Run]) -> Self {
        let levels = set.references().iter().zip(set.truth_divergences());
        let levels =
            levels.map(|(reference, kl)| (reference.name.clone(), kl.last.estimate().mean));
        let loss = |run: &Run| match run.params().filter(|_| run.is_sound()) {
            None => f64::NAN,
            Some(params) => {
                let divergences = set.divergences(model, params);
                divergences.expect("the run's weights fit its model")[0]
                    .last
                    .estimate()
                    .mean
            }
        };
        Self {
            levels: levels.collect(),
            losses: runs.iter().map(loss).collect(),
        }
    }

    /// KL(truth ‖ strategy); NaN if it was not part of the exam.
    pub fn level(&self, strategy: &str) -> f64 {
        self.levels.get(strategy).copied().unwrap_or(f64::NAN)
    }

    /// KL(truth ‖ model) of the runs that completed.
    pub fn losses(&self) -> Vec<f64> {
        let sound = self.losses.iter().copied();
        sound.filter(|loss| loss.is_finite()).collect()
    }

    /// The fraction of the gap between two strategies' losses that the final models closed: 0 at the first
    /// strategy's loss, 1 at the second's.
    pub fn gap_closed(&self, from: &str, to: &str) -> Measured {
        let (from, to) = (self.level(from), self.level(to));
        let losses = self.losses();
        let ways = losses.iter().map(|loss| (from - loss) / (from - to));
        Measured::mean(&ways.collect::<Vec<_>>())
    }
}

impl Trained {
    /// The runs that completed.
    pub fn sound(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.is_sound())
    }

    /// The mean of a quantity over the runs that have it.
    pub fn mean(&self, of: impl Fn(&Run) -> Option<f64>) -> Measured {
        let values = self.sound().filter_map(of);
        Measured::mean(&values.filter(|v| v.is_finite()).collect::<Vec<_>>())
    }

    /// The share of runs with a property.
    pub fn share(&self, of: impl Fn(&Run) -> bool) -> Measured {
        Measured::share(&self.sound().map(of).collect::<Vec<_>>())
    }

    /// Thousands of sequences seen by a step.
    pub fn thousands(&self, step: f64) -> f64 {
        step * self.experiment.recipe.train.batch as f64 / 1000.0
    }
}
