//! Weights that interventions take from elsewhere.

use serde::{Deserialize, Serialize};

use crate::model::{ModelSpec, TransformerStart};
use crate::recipe::{FromSpec, Recipe};
use crate::{Invalid, Within, require};

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

fn is_one(scale: &f64) -> bool {
    *scale == 1.0
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
}

/// The weights of the hand-made transformer.
pub(crate) fn constructed(
    recipe: &Recipe,
    construction: Construction,
) -> Result<Vec<f32>, Invalid> {
    let mut made = recipe.clone();
    let ModelSpec::Transformer(spec) = &mut made.model else {
        let allowed = "a transformer: the minimal model has no such construction";
        return Err(Invalid::new("construction", "the minimal model", allowed));
    };
    spec.start = TransformerStart::Bigram {
        sharpness: construction.sharpness,
        output_scale: construction.output_scale,
    };
    Ok(made.model().at("construction")?.start(0))
}
