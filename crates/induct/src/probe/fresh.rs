//! Divergences on sequences that no run is trained or measured on.

use std::sync::Arc;

use induct_kernels::lanes::LANES;

use super::{Divergence, Draw, Positions, ProbeError, TestSet};
use crate::chain::{Address, Purpose, address};
use crate::model::{InputError, Model};
use crate::recipe::Recipe;
use crate::strategy::{Strategy, fewer};
use crate::task::Task;

/// What was found of a strategy, or of the truth, on fresh sequences.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// `oracle` for the truth, else the strategy's name.
    pub name: String,
    /// KL(truth ‖ ·).
    pub truth: Divergence,
    /// KL(· ‖ model), if there is a model.
    pub to_model: Option<Divergence>,
    /// Smallest effective sample size, if it samples.
    pub effective_samples: Option<f64>,
}

/// Roughly how many numbers are kept in memory at once: predictions on one piece of the sequences.
const PIECE: usize = 1 << 25;

/// Where the fresh sequences of a recipe are drawn.
fn fresh_address(recipe: &Recipe) -> Address {
    address(Purpose::Fresh, recipe.seeds.eval, 0)
}

/// Sequences of the recipe's own task that no run is trained or measured on, with the truth's predictions.
pub fn fresh(recipe: &Recipe, sequences: u64) -> Result<TestSet, ProbeError> {
    let draw = Draw {
        address: fresh_address(recipe),
        sequences: 0..sequences,
        length: recipe.task.length,
        thorough: 0,
    };
    TestSet::draw(&*recipe.own_task()?, &draw, &[])
}

/// Compares the truth, which comes first, and strategies with each other and with a model at some parameters, on
/// any number of fresh sequences of the recipe's `task`. They are drawn piece by piece, on the current thread pool;
/// `done` is told how many are measured.
pub fn compare<E: From<ProbeError> + From<InputError>>(
    recipe: &Recipe,
    task: &dyn Task,
    strategies: &[(Arc<dyn Strategy>, Positions)],
    model: Option<(&Model, &[f32])>,
    sequences: u64,
    done: impl Fn(u64),
) -> Result<Vec<Comparison>, E> {
    let length = recipe.task.length;
    let numbers = length * (recipe.task.states + 1) * (strategies.len() + 1);
    let piece = (PIECE / numbers).clamp(LANES, 2048).next_multiple_of(LANES);
    let mut all: Vec<Comparison> = Vec::new();
    for first in (0..sequences).step_by(piece) {
        let end = (first + piece as u64).min(sequences);
        let draw = Draw {
            address: fresh_address(recipe),
            sequences: first..end,
            length,
            thorough: sequences,
        };
        let set = TestSet::draw(task, &draw, strategies)?;
        let to_model = model
            .map(|(model, params)| set.divergences(model, params))
            .transpose()?;
        let truth = set.truth_divergences();
        for (index, reference) in set.references().iter().enumerate() {
            let more = Comparison {
                name: reference.name.clone(),
                truth: truth[index],
                to_model: to_model.as_ref().map(|divergences| divergences[index]),
                effective_samples: reference.effective_samples,
            };
            match all.get_mut(index) {
                None => all.push(more),
                Some(sum) => sum.merge(&more),
            }
        }
        done(end);
    }
    Ok(all)
}

impl Comparison {
    fn merge(&mut self, more: &Self) {
        self.truth.merge(&more.truth);
        if let (Some(sum), Some(more)) = (&mut self.to_model, &more.to_model) {
            sum.merge(more);
        }
        self.effective_samples = fewer(self.effective_samples, more.effective_samples);
    }
}
