//! The files of a run in memory, for programs without a disk: a page in a browser.

use std::collections::BTreeMap;

use induct::Invalid;
use induct::probe::History;
use induct::run::Recording;
use induct::train::Recipe;

use crate::layout::{METRICS, RECIPE, SNAPSHOTS, SUMMARY, snapshot_name, snapshot_step};
use crate::metrics;
use crate::run_folder::{Stamp, summary_file};
use crate::tensors;

/// The files of a run by their names within its folder, such as `metrics.csv`. They are byte for byte those
/// that [`RunWriter`](crate::RunWriter) writes, and [`RunFolder::of_files`](crate::RunFolder::of_files)
/// reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFiles(BTreeMap<String, Vec<u8>>);

impl RunFiles {
    /// All files of a run that has ended, except the state that training resumes from.
    ///
    /// # Errors
    ///
    /// If its recipe has no model.
    pub fn of(recording: &Recording) -> Result<Self, Invalid> {
        let recipe = &recording.recipe;
        let mut files = Self::default();
        files.insert(RECIPE, Self::recipe(recipe));
        files.insert(METRICS, Self::metrics(recipe, &recording.history));
        files.insert(SUMMARY, summary_file(&recording.summary));
        for (step, params) in &recording.snapshots {
            files.insert(snapshot_name(*step), Self::snapshot(recipe, *step, params)?);
        }
        Ok(files)
    }

    /// The bytes of `recipe.toml`.
    pub fn recipe(recipe: &Recipe) -> Vec<u8> {
        Stamp::current(recipe).recipe_file(recipe)
    }

    /// The bytes of `metrics.csv`.
    pub fn metrics(recipe: &Recipe, history: &History) -> Vec<u8> {
        metrics::file(history, &Stamp::current(recipe).identity.lineage).into_bytes()
    }

    /// The bytes of the snapshot at `step`.
    ///
    /// # Errors
    ///
    /// If the recipe has no model.
    ///
    /// # Panics
    ///
    /// If the weights are not as many as the model has.
    pub fn snapshot(recipe: &Recipe, step: u64, params: &[f32]) -> Result<Vec<u8>, Invalid> {
        let lineage = Stamp::current(recipe).identity.lineage;
        let model = recipe.model()?;
        Ok(tensors::encode_snapshot(&model, &lineage, step, params))
    }

    /// Adds a file; a name is relative to the folder, with `/` between its parts.
    pub fn insert(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.0.insert(name.into(), bytes);
    }

    /// Keeps only the snapshots at these steps, in increasing order, and all other files.
    pub fn keep_snapshots(&mut self, steps: &[u64]) {
        let step = |name: &str| snapshot_step(name.strip_prefix(SNAPSHOTS)?.strip_prefix('/')?);
        self.0
            .retain(|name, _| step(name).is_none_or(|step| steps.binary_search(&step).is_ok()));
    }

    /// The bytes of a file.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// All files, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// The names in one of its folders, in order.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let inside = |name: &String| Some(name.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
        self.0.keys().filter_map(inside).collect()
    }
}
