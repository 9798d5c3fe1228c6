//! The model that a run computes with at a step.

use super::event::Onsets;
use crate::Invalid;
use crate::model::Model;
use crate::probe::History;
use crate::recipe::Recipe;
use crate::train::Snapshots;

/// Which interventions are in force at a step of a run, by index in the recipe's `intervene`. Its records tell when
/// the events came that they wait for.
pub fn in_force(recipe: &Recipe, history: &History, step: u64) -> Vec<usize> {
    recipe.in_force(step, &Onsets::shown(recipe, history))
}

/// The model of a run at a step: under the interventions in force there. Records and snapshots of that step are of
/// this model.
///
/// Where an intervention in force takes weights of the run itself, `{ own = STEP }`, they are trained.
///
/// # Errors
///
/// If a snapshot that an intervention in force names is not at hand.
pub fn model_at(
    recipe: &Recipe,
    history: &History,
    step: u64,
    snapshots: Snapshots,
) -> Result<Model, Invalid> {
    recipe.model_under(&in_force(recipe, history, step), snapshots)
}
