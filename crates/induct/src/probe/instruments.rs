//! Everything that is measured on a model while it trains.

use rayon::prelude::*;

use super::heads::{matching, odd_even_score, positional_profile, scores_of_masses};
use super::history::{KL_TRUTH, STEP, kl_column};
use super::test_set::{Draw, Positions, Room, TestSet};
use crate::chain::{Address, Alpha, LANES, Prior, PriorSpec, Purpose};
use crate::idle::Idle;
use crate::invalid::Invalid;
use crate::model::Model;
use crate::strategy::Strategy;
use crate::train::Recipe;

/// Fixed test sets and what is read from them at every recorded step.
pub struct Instruments {
    /// By name; the first is in distribution and has the strategies' predictions too.
    sets: Vec<(&'static str, TestSet)>,
    strategies: Vec<String>,
    /// Of every set: each strategy's name and KL(truth ‖ strategy) at the last position.
    levels: Vec<(&'static str, Vec<(String, f64)>)>,
    batch: usize,
    columns: Vec<String>,
    /// For the recipe's model.
    rooms: Idle<Room>,
}

/// Sequences whose attention is looked at: the first of the in-distribution set.
const ATTENTION_SEQUENCES: usize = 32;

/// Sequences of the in-distribution set that are measured at all positions, the first ones: the others, at the last
/// position only, cost a fraction of that.
const THOROUGH_SEQUENCES: u64 = 128;

/// Names of the measures of heads, in their order in a row.
const HEAD_COLUMNS: [&str; 5] = [
    "previous_token",
    "induction",
    "odd_even",
    "matching_gap",
    "diagonal_dominance",
];

/// The test set with the recipe's own prior, on which the strategies predict too; over the current thread pool.
pub fn in_distribution(recipe: &Recipe) -> Result<TestSet, Invalid> {
    let prior = recipe.prior()?;
    let strategies = Strategy::reference(&prior).into_iter();
    let asked: Vec<(Strategy, Positions)> = strategies.map(|s| (s, Positions::All)).collect();
    Ok(test_set(recipe, &prior, 0, &asked))
}

/// Test set number `index` of a recipe.
///
/// Only the first one is measured at all positions.
fn test_set(
    recipe: &Recipe,
    prior: &Prior,
    index: u64,
    asked: &[(Strategy, Positions)],
) -> TestSet {
    let address = Address {
        purpose: Purpose::Test,
        seed: recipe.seeds.eval,
        step: index,
    };
    let draw = Draw {
        address,
        sequences: 0..recipe.record.test_sequences as u64,
        length: recipe.task.length,
        thorough: if index == 0 { THOROUGH_SEQUENCES } else { 0 },
    };
    TestSet::draw(prior, &draw, asked)
}

/// Each strategy's KL(truth ‖ strategy) at the last position.
fn levels(set: &TestSet) -> Vec<(String, f64)> {
    let levels = set.references().iter().zip(set.truth_divergences());
    let levels = levels.skip(1);
    levels
        .map(|(reference, kl)| (reference.name.clone(), kl.last.estimate().mean))
        .collect()
}

impl Instruments {
    /// Draws the recipe's test sets, over the current thread pool.
    pub fn new(recipe: &Recipe) -> Result<Self, Invalid> {
        let iid = PriorSpec::Iid {
            alpha: Alpha::default(),
        };
        let other = |spec, index| -> Result<TestSet, Invalid> {
            let prior = recipe.prior_of(&spec)?;
            let strategies = Strategy::reference(&prior).into_iter();
            let asked: Vec<(Strategy, Positions)> =
                strategies.map(|s| (s, Positions::Last)).collect();
            Ok(test_set(recipe, &prior, index, &asked))
        };
        let mut sets = vec![
            ("in_distribution", in_distribution(recipe)?),
            ("iid", other(iid, 1)?),
            (
                "doubly_stochastic",
                other(PriorSpec::DoublyStochastic {}, 2)?,
            ),
        ];
        let levels = sets.iter().map(|(name, set)| (*name, levels(set)));
        let levels = levels.collect();
        // Only in distribution is the model compared with strategies: the other sets need not keep their answers.
        sets[1..]
            .iter_mut()
            .for_each(|(_, set)| set.keep_truth_only());
        let references = sets[0].1.references().iter().skip(1);
        let strategies: Vec<String> = references.map(|reference| reference.name.clone()).collect();
        let mut columns: Vec<String> = [STEP, "sequences", "train_loss"].map(String::from).into();
        for (index, (name, _)) in sets.iter().enumerate() {
            let prefix = if index == 0 {
                String::new()
            } else {
                format!("{name}.")
            };
            columns.push(format!("{prefix}{KL_TRUTH}"));
            if index == 0 {
                columns.push(format!("{KL_TRUTH}_all"));
                for strategy in &strategies {
                    columns.push(kl_column(strategy));
                    columns.push(format!("{}_all", kl_column(strategy)));
                }
            }
        }
        columns.extend(HEAD_COLUMNS.map(String::from));
        Ok(Self {
            sets,
            strategies,
            levels,
            batch: recipe.train.batch,
            columns,
            rooms: Idle::default(),
        })
    }

    /// Names of what [`measure`](Self::measure) returns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Names of the strategies that the model is compared with.
    pub fn strategies(&self) -> &[String] {
        &self.strategies
    }

    /// How well strategies do on each test set: KL(truth ‖ strategy) at the last position, by the names of set and strategy.
    pub fn levels(&self) -> &[(&'static str, Vec<(String, f64)>)] {
        &self.levels
    }

    /// The test sets by name, the in-distribution one first.
    pub fn sets(&self) -> &[(&'static str, TestSet)] {
        &self.sets
    }

    /// One row of metrics of the recipe's model after `step` steps, over the current thread pool; `train_loss` is the loss of the
    /// last step's batch.
    pub fn measure(
        &self,
        model: &Model,
        params: &[f32],
        step: u64,
        train_loss: Option<f64>,
    ) -> Vec<Option<f64>> {
        let mut row = vec![
            Some(step as f64),
            Some((step * self.batch as u64) as f64),
            train_loss,
        ];
        let prepared = model.prepare(params);
        let measured: Vec<_> = self
            .sets
            .par_iter()
            .enumerate()
            .map(|(index, (_, set))| {
                let looked_at = match index {
                    0 => set.blocks().len().min(ATTENTION_SEQUENCES / LANES),
                    _ => 0,
                };
                set.measure(&self.rooms, model, &prepared, looked_at)
            })
            .collect();
        let heads = scores_of_masses(model, &measured[0].1);
        for (index, (of_set, _)) in measured.iter().enumerate() {
            for divergence in of_set {
                row.push(Some(divergence.last.estimate().mean));
                if index == 0 {
                    row.push(divergence.all.map(|all| all.estimate().mean));
                }
            }
        }
        let matching = matching(model, params);
        row.extend([
            heads.map(|scores| scores.previous_token),
            heads.and_then(|scores| scores.induction),
            positional_profile(model, params).and_then(|profile| odd_even_score(&profile)),
            matching.map(|matching| matching.gap),
            matching.map(|matching| matching.dominance),
        ]);
        row
    }
}
