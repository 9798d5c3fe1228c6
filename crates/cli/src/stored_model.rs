//! The model of a run at a step: the weights of a snapshot, under the interventions in force there.

use induct::model::Model;
use induct::probe::History;
use induct::recipe::{Recipe, WeightsSpec};
use induct::run::in_force;
use induct_store::{RunFolder, complete, snapshot_weights};

use crate::commands::note;
use crate::failure::Failure;
use crate::recipes;

pub struct StoredModel {
    pub step: u64,
    /// Under interventions.
    pub model: Model,
    pub params: Vec<f32>,
}

pub struct StoredModels<'a> {
    folder: &'a RunFolder,
    /// With the interventions to look under.
    recipe: Recipe,
    /// Whether they are the user's, in place of the run's own.
    asked_for: bool,
    history: History,
    /// The model that was asked for last, and what was in force.
    last: Option<(Vec<usize>, Model)>,
}

impl<'a> StoredModels<'a> {
    /// Those of a run as it was trained; or, if any are given, under other interventions. Their text is that of
    /// `--intervene`.
    pub fn new(folder: &'a RunFolder, interventions: &[String]) -> Result<Self, Failure> {
        let asked_for = !interventions.is_empty();
        let recipe = match asked_for {
            true => other_interventions(folder.recipe(), interventions)?,
            false => folder.recipe().clone(),
        };
        let history = match recipe.awaited().is_empty() {
            true => History::new(Vec::new()),
            false => folder.history()?,
        };
        Ok(Self {
            folder,
            recipe,
            asked_for,
            history,
            last: None,
        })
    }

    /// The model of the snapshot at a step; the last one if none is given.
    pub fn at(&mut self, step: Option<u64>) -> Result<StoredModel, Failure> {
        let (step, params) = self.folder.snapshot(step)?;
        let indices = in_force(&self.recipe, &self.history, step);
        if self.asked_for
            && let Some(idle) = (0..self.recipe.intervene.len()).find(|i| !indices.contains(i))
        {
            return Err(Failure::usage(format!(
                "--intervene: intervene[{idle}] is not in force at step {step}, which is looked at; leave out \
                 its from and until"
            )));
        }
        let model = match self.last.take() {
            Some((same, model)) if same == indices => model,
            _ => self.model_under(&indices)?,
        };
        self.last = Some((indices, model.clone()));
        Ok(StoredModel {
            step,
            model,
            params,
        })
    }

    fn model_under(&self, indices: &[usize]) -> Result<Model, Failure> {
        for &index in indices {
            if let Some((_, WeightsSpec::Own { own })) = self.recipe.intervene[index].weights() {
                note(&format!(
                    "intervene[{index}] takes weights of the run itself: training it for {own} steps without \
                     interventions"
                ));
            }
        }
        Ok(self.recipe.model_under(indices, &snapshot_weights)?)
    }
}

/// The recipe of a run with other interventions.
fn other_interventions(recipe: &Recipe, interventions: &[String]) -> Result<Recipe, Failure> {
    let mut other = recipe
        .with_interventions(&recipes::inline_tables(interventions))
        .map_err(|error| Failure::usage(format!("--intervene: {error}")))?;
    complete(&mut other).map_err(|(place, error)| {
        Failure::from(error).while_at(&format!("--intervene: {place}"))
    })?;
    Ok(other)
}
