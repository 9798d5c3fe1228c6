//! Weights of models at hand that a recipe names: a start, a patch, a transplant.

use std::sync::Arc;

use induct::Invalid;
use induct::recipe::FromSpec;
use induct_store::snapshot_weights;

/// Weights by their digest. Those of runs in folders need not be here.
#[derive(Clone, Default)]
pub struct Weights(Vec<(String, Arc<Vec<f32>>)>);

impl Weights {
    /// Adds the weights of a model.
    pub fn add(&mut self, digest: String, weights: Arc<Vec<f32>>) {
        self.0.push((digest, weights));
    }

    /// Adds all of another's.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// The weights that a recipe means: at hand, or in a run's folder.
    pub fn find(&self, from: &FromSpec) -> Result<Vec<f32>, Invalid> {
        let found = self.0.iter().find(|(digest, _)| *digest == from.weights);
        match found {
            Some((_, weights)) => Ok(weights.to_vec()),
            None => snapshot_weights(from),
        }
    }
}
