//! Snapshots of other runs that a recipe takes weights from.

use std::path::Path;

use induct::Invalid;
use induct::internal::digest;
use induct::model::Tensor;
use induct::recipe::{FromSpec, Recipe, WeightsSpec};

use crate::error::StoreError;
use crate::run_folder::RunFolder;

/// Why weights cannot be taken from a run.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The recipe has no model.
    #[error(transparent)]
    Recipe(#[from] Invalid),
    /// The snapshot cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its model has other tensors.
    #[error(
        "its model differs: it has tensor {theirs} where this recipe's model has {ours}; \
         choose a run with the same model settings"
    )]
    #[expect(missing_docs, reason = "the message says what fields are")]
    OtherModel { theirs: String, ours: String },
}

/// The `from` entry of a recipe that starts from a snapshot of another run.
pub fn start_from(
    path: &Path,
    step: Option<u64>,
    recipe: &Recipe,
) -> Result<FromSpec, SourceError> {
    let (step, weights) = snapshot(path, step, recipe)?;
    Ok(FromSpec {
        run: path.to_string_lossy().into_owned(),
        step,
        weights: digest::weights(&weights),
    })
}

/// Completes what a recipe says of the snapshots that its interventions take weights from: the digest of their
/// weights, which people need not write. An error comes with the place in the recipe.
pub fn complete(recipe: &mut Recipe) -> Result<(), (String, SourceError)> {
    let model = recipe.clone();
    for (index, spec) in recipe.intervene.iter_mut().enumerate() {
        if let Some(WeightsSpec::Snapshot(from)) = spec.weights_mut()
            && from.weights.is_empty()
        {
            let place = format!("intervene[{index}]: {}@{}", from.run, from.step);
            let found = snapshot(Path::new(&from.run), Some(from.step), &model);
            let (_, weights) = found.map_err(|error| (place, error))?;
            from.weights = digest::weights(&weights);
        }
    }
    Ok(())
}

/// A snapshot of a run whose model has the same tensors as the recipe's.
fn snapshot(
    run: &Path,
    step: Option<u64>,
    recipe: &Recipe,
) -> Result<(u64, Vec<f32>), SourceError> {
    let folder = RunFolder::open(run)?;
    let model = recipe.model()?;
    let [theirs, ours] = [folder.model()?, &model].map(|model| model.layout().tensors());
    let text = |tensor: Option<&Tensor>| match tensor {
        Some(Tensor { name, shape, .. }) => format!("{name} {shape:?}"),
        None => "none".to_owned(),
    };
    for index in 0..theirs.len().max(ours.len()) {
        let (theirs, ours) = (text(theirs.get(index)), text(ours.get(index)));
        if theirs != ours {
            return Err(SourceError::OtherModel { theirs, ours });
        }
    }
    Ok(folder.snapshot(step)?)
}

/// The weights of a snapshot that a recipe names, from its folder.
pub fn snapshot_weights(from: &FromSpec) -> Result<Vec<f32>, Invalid> {
    let folder = RunFolder::open(Path::new(&from.run));
    let weights = folder.and_then(|folder| folder.snapshot(Some(from.step)));
    let place = format!("{}@{}", from.run, from.step);
    weights
        .map(|(_, weights)| weights)
        .map_err(|error| Invalid::new("run", place, error.to_string()))
}
