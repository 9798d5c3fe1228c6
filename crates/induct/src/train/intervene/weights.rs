//! Weights that interventions take from elsewhere.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::model::{ModelSpec, TransformerStart};
use crate::train::recipe::{FromSpec, Recipe};
use crate::train::trainer::Trainer;
use crate::{Invalid, require};

/// Where weights come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "{ own = STEP }, { run = \"FOLDER\", step = STEP } or { construction = { sharpness = 30 } }"
)]
pub enum WeightsSpec {
    /// This run's own after some steps, trained without interventions.
    Own {
        /// Steps done.
        own: u64,
    },
    /// The hand-made transformer that counts bigrams.
    Construction {
        /// Its settings.
        construction: Construction,
    },
    /// A snapshot of another run.
    Snapshot(FromSpec),
}

/// Settings of the hand-made transformer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Construction {
    /// How strongly attention prefers its target.
    pub sharpness: f64,
    /// Factor from counted frequencies to logits.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub output_scale: f64,
}

fn one() -> f64 {
    1.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
fn is_one(scale: &f64) -> bool {
    *scale == 1.0
}

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
    pub(in crate::train) fn find(
        &self,
        snapshots: Snapshots,
        needed: usize,
    ) -> Result<Vec<f32>, Invalid> {
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
    /// Checks what can be checked without the weights.
    pub(super) fn check(&self, recipe: &Recipe) -> Result<(), Invalid> {
        match self {
            WeightsSpec::Snapshot(_) => Ok(()),
            WeightsSpec::Own { own } => {
                let steps = recipe.train.steps;
                let allowed = format!("a step of the run: at most train.steps = {steps}");
                require(*own <= steps, "own", own, &allowed)
            }
            WeightsSpec::Construction { construction } => {
                constructed(recipe, *construction).map(|_| ())
            }
        }
    }

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

/// The weights of the hand-made transformer.
fn constructed(recipe: &Recipe, construction: Construction) -> Result<Vec<f32>, Invalid> {
    let mut made = recipe.clone();
    let ModelSpec::Transformer(spec) = &mut made.model else {
        let allowed = "a transformer: the minimal model has no such construction";
        return Err(Invalid::new("construction", "the minimal model", allowed));
    };
    spec.start = TransformerStart::Bigram {
        sharpness: construction.sharpness,
        output_scale: construction.output_scale,
    };
    let model = made.model().map_err(|invalid| Invalid {
        field: "construction".into(),
        ..invalid
    })?;
    Ok(model.start(0))
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
