//! Everything that was trained, with an exam of every final model.

use induct::chain::{Purpose, address};
use induct::internal::{EXAM_SET, median};
use induct::model::Model;
use induct::probe::{Draw, Positions, ProbeError, TestSet};
use induct::recipe::{Recipe, RecordSpec};
use rayon::prelude::*;

use crate::experiment::Experiment;
use crate::run::Run;
use crate::statistics::Sample;

/// All experiments of a reproduction, as far as they have been trained.
pub struct Results {
    trained: Vec<TrainedExperiment>,
}

/// One experiment, trained with some seeds.
pub struct TrainedExperiment {
    pub experiment: Experiment,
    pub model: Model,
    /// One per seed.
    pub runs: Vec<Run>,
}

/// KL(truth ‖ ·) at the last position of sequences that were used for nothing else; every run has its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Exam {
    /// By strategy.
    levels: Vec<(String, f64)>,
    /// Of the final model.
    pub loss: f64,
}

/// Sequences in an exam, for every sequence of the run's test sets.
const EXAM: u64 = 16;

/// The same for the first sequences of an exam, on which strategies beyond the ladder are asked: they take
/// long.
const EXAM_OF_SLOW: u64 = 4;

/// The sequences of an exam, and the first of them on which strategies beyond the ladder are asked.
pub(crate) fn exam_sizes(record: &RecordSpec) -> [u64; 2] {
    [EXAM, EXAM_OF_SLOW].map(|times| times * record.test_sequences as u64)
}

impl Results {
    /// Nothing trained yet.
    pub fn new(experiments: &[Experiment]) -> Result<Self, ProbeError> {
        let untrained = |experiment: &Experiment| {
            Ok(TrainedExperiment {
                model: experiment.recipe.model()?,
                runs: Vec::new(),
                experiment: experiment.clone(),
            })
        };
        let trained: Result<_, ProbeError> = experiments.iter().map(untrained).collect();
        Ok(Self { trained: trained? })
    }

    /// Adds runs to experiment number `index`, and examines their final models on the current thread pool.
    pub fn add(&mut self, index: usize, runs: Vec<Run>) -> Result<(), ProbeError> {
        let trained = &mut self.trained[index];
        let examine = |(number, run): (usize, Run)| {
            let (experiment, number) = (&trained.experiment, (trained.runs.len() + number) as u64);
            let strategies = experiment.exam(number);
            let exam = Exam::of(
                &experiment.recipe(number),
                &strategies,
                &trained.model,
                &run,
            )?;
            Ok(run.examined(exam))
        };
        let examined = runs.into_par_iter().enumerate().map(examine);
        let examined: Result<Vec<Run>, ProbeError> = examined.collect();
        trained.runs.extend(examined?);
        Ok(())
    }

    /// An experiment by its name.
    ///
    /// # Panics
    ///
    /// If it is not part of the reproduction. Figures and claims declare what they need.
    pub fn of(&self, id: &str) -> &TrainedExperiment {
        self.get(id)
            .unwrap_or_else(|| panic!("{id} was not trained"))
    }

    /// An experiment by its name, if it is part of the reproduction and has been trained.
    pub fn get(&self, id: &str) -> Option<&TrainedExperiment> {
        self.trained.iter().find(|t| t.experiment.id == id)
    }

    /// All of them.
    pub fn all(&self) -> &[TrainedExperiment] {
        &self.trained
    }
}

/// Test set number `number` of a recipe, with the predictions of the ladder and of further strategies at the
/// last position.
pub(crate) fn fresh_set(
    recipe: &Recipe,
    number: u64,
    sequences: u64,
    further: &[&str],
) -> Result<TestSet, ProbeError> {
    let task = recipe.own_task()?;
    let mut strategies = task.ladder();
    for name in further {
        strategies.push(task.strategy(name)?);
    }
    let asked = strategies.into_iter().map(|s| (s, Positions::Last));
    let draw = Draw {
        address: address(Purpose::Test, recipe.seeds.eval, number),
        sequences: 0..sequences,
        length: recipe.task.length,
        thorough: 0,
    };
    TestSet::draw(&*task, &draw, &asked.collect::<Vec<_>>())
}

impl Exam {
    /// None for a run that did not complete.
    fn of(
        recipe: &Recipe,
        further: &[&str],
        model: &Model,
        run: &Run,
    ) -> Result<Option<Self>, ProbeError> {
        let Some(params) = run.params().filter(|_| run.completed()) else {
            return Ok(None);
        };
        let [all, of_slow] = exam_sizes(&recipe.record);
        let set = fresh_set(recipe, EXAM_SET, all, &[])?;
        let mut levels = levels(&set);
        if !further.is_empty() {
            let first = fresh_set(recipe, EXAM_SET, of_slow, further)?;
            levels = with_slow(levels, &self::levels(&first));
        }
        let divergences = set.divergences(model, params);
        Ok(Some(Self {
            levels,
            loss: divergences.expect("the run's weights fit its model")[0]
                .last
                .estimate()
                .mean,
        }))
    }

    /// KL(truth ‖ strategy); `None` if it is not part of the exam.
    pub fn level(&self, strategy: &str) -> Option<f64> {
        let found = self.levels.iter().find(|(name, _)| name == strategy);
        found.map(|(_, level)| *level)
    }

    /// The fraction of the gap between two strategies' losses that the final model closed: 0 at the first
    /// strategy's loss, 1 at the second's.
    pub fn gap_closed(&self, from: &str, to: &str) -> Option<f64> {
        let (from, to) = (self.level(from)?, self.level(to)?);
        Some((from - self.loss) / (from - to))
    }
}

/// KL(truth ‖ strategy) on a test set, by strategy.
fn levels(set: &TestSet) -> Vec<(String, f64)> {
    let levels = set.references().iter().zip(set.truth_divergences());
    let levels = levels.map(|(of, kl)| (of.name.clone(), kl.last.estimate().mean));
    levels.collect()
}

/// Adds to the levels of the ladder on all sequences those of slow strategies, which were asked on the first
/// ones only: each is corrected by what the nearest strategy of the ladder gains or loses from there to all.
fn with_slow(ladder: Vec<(String, f64)>, first: &[(String, f64)]) -> Vec<(String, f64)> {
    let on_first = |name: &str| {
        let found = first.iter().find(|(other, _)| other == name);
        found.map_or(f64::NAN, |(_, level)| *level)
    };
    let mut all = ladder.clone();
    for (name, level) in first.iter().skip(ladder.len()) {
        let distance = |(of, _): &&(String, f64)| (on_first(of) - level).abs();
        let nearest = ladder
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        let correction = nearest.map_or(0.0, |(of, everywhere)| everywhere - on_first(of));
        all.push((name.clone(), level + correction));
    }
    all
}

impl TrainedExperiment {
    /// The runs that completed.
    pub fn completed(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.completed())
    }

    /// A quantity of every run. A run that diverged has none.
    pub fn numbers(&self, of: impl Fn(&Run) -> Option<f64>) -> Sample {
        let value = |run: &Run| of(run).filter(|_| run.completed());
        Sample::Numbers(self.runs.iter().map(value).collect())
    }

    /// Whether every run has a property. A run that diverged has not.
    pub fn hits(&self, of: impl Fn(&Run) -> bool) -> Sample {
        Sample::Hits(
            self.runs
                .iter()
                .map(|run| run.completed() && of(run))
                .collect(),
        )
    }

    /// The median of a quantity over the runs that have it; NaN if none has.
    pub fn median(&self, of: impl Fn(&Run) -> Option<f64>) -> f64 {
        let values: Vec<f64> = self
            .completed()
            .filter_map(of)
            .filter(|v| v.is_finite())
            .collect();
        median(&values)
    }

    /// The median over runs of the fraction of a gap that the final models closed.
    pub fn gap_closed(&self, from: &str, to: &str) -> f64 {
        self.median(|run| run.exam()?.gap_closed(from, to))
    }

    /// The median over runs of a strategy's loss in the exam.
    pub fn level(&self, strategy: &str) -> f64 {
        self.median(|run| run.exam()?.level(strategy))
    }

    /// Thousands of sequences seen by a step.
    pub fn thousands(&self, step: f64) -> f64 {
        step * self.experiment.recipe.train.batch as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_strategies_are_corrected_by_the_nearest_of_the_ladder() {
        let named = |levels: &[(&str, f64)]| -> Vec<(String, f64)> {
            levels
                .iter()
                .map(|&(name, level)| (name.into(), level))
                .collect()
        };
        let all = named(&[("uniform", 0.3), ("bigram", 0.03)]);
        let first = named(&[("uniform", 0.2), ("bigram", 0.02), ("bayes", 0.019)]);
        let found = with_slow(all, &first);
        assert_eq!(found[2].0, "bayes");
        assert!((found[2].1 - 0.029).abs() < 1e-12);
    }

    #[test]
    fn exams_of_slow_strategies_agree_with_those_on_all_sequences() {
        let recipe = Recipe::default();
        let all = levels(&fresh_set(&recipe, EXAM_SET, 8 * 512, &["bayes"]).unwrap());
        let first = levels(&fresh_set(&recipe, EXAM_SET, 512, &["bayes"]).unwrap());
        let found = with_slow(all[..all.len() - 1].to_vec(), &first);
        let (bayes, corrected) = (all.last().unwrap().1, found.last().unwrap().1);
        // Without the correction, the first sequences differ by several percent.
        assert!(
            (corrected / bayes - 1.0).abs() < 0.02,
            "{corrected} {bayes}"
        );
    }
}
