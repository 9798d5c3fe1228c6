//! Weights that a recipe takes from elsewhere.

use std::sync::Arc;

use super::trainer::Trainer;
use crate::digest;
use crate::recipe::{FromSpec, Recipe, WeightsSpec, constructed};
use crate::{Invalid, require};

/// Finds the weights of a snapshot of another run: the library reads no files.
pub type Snapshots<'a> = &'a dyn Fn(&FromSpec) -> Result<Vec<f32>, Invalid>;

/// For programs that have no snapshots at hand.
pub fn no_snapshots(from: &FromSpec) -> Result<Vec<f32>, Invalid> {
    let place = format!("\"{}\" at step {}", from.run, from.step);
    let allowed = "the weights of that snapshot must be at hand";
    Err(Invalid::new("run", place, allowed))
}

impl FromSpec {
    /// Finds its weights, and checks that they are those that the recipe means and that the model has room for.
    pub(super) fn find(&self, snapshots: Snapshots, needed: usize) -> Result<Vec<f32>, Invalid> {
        let weights = snapshots(self)?;
        let digest = digest::weights(&weights);
        let written = match self.weights.as_str() {
            "" => "(unset)",
            weights => weights,
        };
        require(
            self.weights == digest,
            "weights",
            written,
            &format!(
                "{digest}, the digest of the given weights: they are from another snapshot than the \
                 recipe names"
            ),
        )?;
        require(
            weights.len() == needed,
            "run",
            format!("{} weights", weights.len()),
            &format!("the {needed} weights of this recipe's model"),
        )?;
        Ok(weights)
    }
}

impl WeightsSpec {
    /// The weights. Those of the run itself are trained first.
    pub(super) fn find(
        &self,
        recipe: &Recipe,
        snapshots: Snapshots,
        own: &mut OwnWeights,
    ) -> Result<Arc<[f32]>, Invalid> {
        Ok(match self {
            WeightsSpec::Own { own: step } => own.after(recipe, *step, snapshots)?,
            WeightsSpec::Construction { construction } => {
                constructed(recipe, *construction)?.into()
            }
            WeightsSpec::Snapshot(from) => {
                let needed = recipe.model()?.layout().len();
                from.find(snapshots, needed)?.into()
            }
        })
    }
}

/// The run itself, trained without interventions as far as needed.
#[derive(Default)]
pub(super) struct OwnWeights {
    kept: Vec<(u64, Arc<[f32]>)>,
}

impl OwnWeights {
    fn after(
        &mut self,
        recipe: &Recipe,
        step: u64,
        snapshots: Snapshots,
    ) -> Result<Arc<[f32]>, Invalid> {
        if let Some((_, weights)) = self.kept.iter().find(|(kept, _)| *kept == step) {
            return Ok(weights.clone());
        }
        let mut alone = recipe.clone();
        alone.intervene.clear();
        alone.train.stop = None;
        let mut trainer = Trainer::with_snapshots(&alone, snapshots)?;
        while trainer.step() < step {
            trainer.advance().map_err(|error| {
                let allowed = format!("a step that the run without interventions reaches: {error}");
                Invalid::new("own", step, allowed)
            })?;
        }
        let weights: Arc<[f32]> = trainer.params().into();
        self.kept.push((step, weights.clone()));
        Ok(weights)
    }
}
