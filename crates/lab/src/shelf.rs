//! Runs that are looked at: their records and snapshots, from training or from files.

use std::collections::BTreeMap;
use std::sync::Arc;

use induct::measure::KL_TRUTH;
use induct::model::Model;
use induct::probe::{History, Moments, TestSet, columns, fresh};
use induct::recipe::Recipe;
use induct::run::{Summary, model_at};
use induct::strategy::Strategy;
use induct::train::no_snapshots;
use induct_store::{RunFiles, RunFolder, files_of};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::recipes::with_entries;
use crate::training::Levels;

/// The number by which the page calls a run.
pub type RunId = u32;

/// All runs that are looked at.
#[derive(Default)]
pub struct Shelf(BTreeMap<RunId, LabRun>);

/// A run.
pub struct LabRun {
    pub recipe: Recipe,
    pub history: History,
    pub levels: Levels,
    /// Steps and weights, in order.
    pub snapshots: Vec<(u64, Vec<f32>)>,
    /// The outcome, once it has ended.
    pub summary: Option<Summary>,
    /// The folder that it was opened from, if it was trained elsewhere.
    pub folder: Option<RunFolder>,
    /// Fresh sequences, once they are needed.
    fresh: Option<TestSet>,
    /// The strategies of its task, once they are needed.
    strategies: Option<Vec<Arc<dyn Strategy>>>,
}

/// A model at a moment: a run, a step and what is changed in it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Moment {
    pub run: RunId,
    /// The last snapshot that is not later than this is taken.
    pub step: u64,
    /// Interventions, each as its entry in a recipe without the braces.
    #[serde(default)]
    pub under: Vec<String>,
}

/// The number of fresh sequences that effects are measured on.
const FRESH: u64 = 512;

impl Shelf {
    /// Puts a new run there, which has recorded nothing yet.
    pub fn add(&mut self, id: RunId, recipe: Recipe, levels: Levels) -> Result<(), Problem> {
        let history = History::new(columns(&recipe)?);
        self.0.insert(id, LabRun::new(recipe, history, levels));
        Ok(())
    }

    /// Puts a run there that shares another one's beginning, up to a step.
    pub fn fork(&mut self, id: RunId, of: RunId, recipe: Recipe, step: u64) -> Result<(), Problem> {
        let parent = self.get(of)?;
        let (mut history, levels) = (parent.history.clone(), parent.levels.clone());
        let mut snapshots = parent.snapshots.clone();
        history.retain(|recorded| recorded <= step);
        let kept = recipe.record.snapshot_steps(recipe.train.steps);
        snapshots.retain(|(at, _)| *at <= step && kept.contains(at));
        self.add(id, recipe, levels)?;
        let run = self.get_mut(id)?;
        (run.history, run.snapshots) = (history, snapshots);
        Ok(())
    }

    /// Puts a run there whose files are at hand.
    pub fn open(&mut self, id: RunId, name: &str, files: RunFiles) -> Result<Value, Problem> {
        let folder = RunFolder::of_files(name, files)?;
        let history = folder.history()?;
        let steps = folder.snapshot_steps()?.into_iter();
        let snapshots = steps.map(|step| folder.snapshot(Some(step)));
        let summary = folder.summary()?;
        let levels = summary.as_ref().map(Summary::levels).unwrap_or_default();
        let run = LabRun {
            snapshots: snapshots.collect::<Result<_, _>>()?,
            summary,
            folder: Some(folder.clone()),
            ..LabRun::new(folder.recipe().clone(), history, levels)
        };
        let about = json!({
            "recipe": run.recipe.to_toml(),
            "records": run.history.steps(),
            "snapshots": run.snapshot_steps(),
        });
        self.0.insert(id, run);
        Ok(about)
    }

    pub fn remove(&mut self, id: RunId) {
        self.0.remove(&id);
    }

    pub fn get(&self, id: RunId) -> Result<&LabRun, Problem> {
        self.0.get(&id).ok_or_else(|| unknown(id))
    }

    pub fn get_mut(&mut self, id: RunId) -> Result<&mut LabRun, Problem> {
        self.0.get_mut(&id).ok_or_else(|| unknown(id))
    }
}

fn unknown(id: RunId) -> Problem {
    Problem::new(format!("run {id} is not here"))
}

impl LabRun {
    fn new(recipe: Recipe, history: History, levels: Levels) -> Self {
        Self {
            recipe,
            history,
            levels,
            snapshots: Vec::new(),
            summary: None,
            folder: None,
            fresh: None,
            strategies: None,
        }
    }

    /// Adds records, a row of numbers each, and snapshots.
    pub fn extend(&mut self, rows: &[f64], snapshots: Vec<(u64, Vec<f32>)>) -> Result<(), Problem> {
        let width = self.history.columns().len().max(1);
        for row in rows.chunks(width) {
            self.history.push(row).map_err(Problem::new)?;
        }
        let expected = self.recipe.model()?.layout().len();
        for (step, weights) in snapshots {
            if weights.len() != expected {
                let found = weights.len();
                let sentence = format!("a snapshot has {found} weights, the model {expected}");
                return Err(Problem::new(sentence));
            }
            self.snapshots.push((step, weights));
        }
        Ok(())
    }

    /// The steps whose weights it has, in order.
    pub fn snapshot_steps(&self) -> Vec<u64> {
        self.snapshots.iter().map(|(step, _)| *step).collect()
    }

    /// Its course so far: phases, the onset of the task's own strategy if it has come, and KL(truth ‖ model) at the
    /// recorded steps.
    pub fn course(&self) -> Value {
        let (phases, _) = self.history.phases(&self.recipe.task.ladder());
        json!({
            "phases": phases,
            "transition": self.transition().map(|(step, _)| step),
            "loss": self.history.column(&KL_TRUTH).unwrap_or_default(),
            "steps": self.history.steps(),
        })
    }

    /// The onset of the phase of the last strategy of the task's ladder, and its name, if it has come.
    pub fn transition(&self) -> Option<(u64, String)> {
        let mut ladder = self.recipe.task.ladder();
        let (phases, _) = self.history.phases(&ladder);
        let goal = ladder.pop()?;
        let phase = phases.iter().find(|phase| phase.strategy == goal)?;
        Some((phase.onset, goal))
    }

    /// Whether any layer has several heads, which then need numbers.
    pub fn has_several_heads(&self) -> bool {
        let Ok(model) = self.recipe.model() else {
            return false;
        };
        (0..model.layer_count()).any(|layer| model.heads(layer) > 1)
    }

    /// The last snapshot that is not later than a step; the first if there is none.
    pub fn snapshot(&self, step: u64) -> Result<(u64, &[f32]), Problem> {
        let after = self.snapshots.partition_point(|(at, _)| *at <= step);
        let found = self.snapshots.get(after.saturating_sub(1));
        let none = || Problem::new("this run has kept no weights yet");
        found
            .map(|(step, weights)| (*step, weights.as_slice()))
            .ok_or_else(none)
    }

    /// The model at a step, under the run's own interventions and these.
    pub fn model(&self, step: u64, under: &[String]) -> Result<Model, Problem> {
        let recipe = with_entries(&self.recipe, under)?;
        Ok(model_at(&recipe, &self.history, step, &no_snapshots)?)
    }

    /// The files of its folder: those that it came with, or those of a run that was trained here.
    pub fn files(&self) -> Result<RunFiles, Problem> {
        if let Some(folder) = &self.folder {
            return Ok(folder.files()?);
        }
        let (history, snapshots) = (&self.history, &self.snapshots);
        let summary = self.summary.as_ref();
        Ok(files_of(&self.recipe, history, snapshots, None, summary)?)
    }

    /// What the model and every strategy expect after some symbols.
    pub fn next_symbol(
        &mut self,
        step: u64,
        under: &[String],
        tokens: &[u8],
    ) -> Result<Value, Problem> {
        let model = self.model(step, under)?;
        let (step, weights) = self.snapshot(step)?;
        let own = model.evaluator(weights)?.next_distribution(tokens)?;
        let strategies = match self.strategies.take() {
            Some(strategies) => strategies,
            None => self.recipe.own_task()?.strategies()?,
        };
        let strategies = self.strategies.insert(strategies);
        let mut answers =
            vec![json!({ "name": "model", "probabilities": own, "divergence": null })];
        for strategy in strategies {
            let theirs = strategy.next_distribution(tokens).map_err(Problem::new)?;
            answers.push(json!({
                "name": strategy.name(),
                "probabilities": theirs,
                "divergence": kl(&theirs, &own),
            }));
        }
        Ok(json!({ "step": step, "answers": answers }))
    }

    /// What interventions do to KL(truth ‖ model) at a step: without them, with them, and the difference sequence by
    /// sequence.
    pub fn effect(&mut self, step: u64, under: &[String]) -> Result<Value, Problem> {
        let (as_it_is, changed) = (self.model(step, &[])?, self.model(step, under)?);
        let fresh = match self.fresh.take() {
            Some(fresh) => fresh,
            None => fresh(&self.recipe, FRESH)?,
        };
        let (_, weights) = self.snapshot(step)?;
        let without = fresh.kl_by_sequence(&as_it_is, weights)?;
        let with = fresh.kl_by_sequence(&changed, weights)?;
        self.fresh = Some(fresh);
        let difference = with
            .iter()
            .zip(&without)
            .map(|(with, without)| with - without);
        Ok(json!({
            "difference": mean(difference),
            "without": mean(without.iter().copied()),
            "with": mean(with.iter().copied()),
            "sequences": FRESH,
        }))
    }
}

/// KL(p ‖ q) in nats.
fn kl(p: &[f64], q: &[f64]) -> f64 {
    let terms = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
    terms.map(|(p, q)| p * (p / q).ln()).sum()
}

fn mean(values: impl Iterator<Item = f64>) -> Value {
    let estimate = Moments::from_iter(values).estimate();
    json!({ "mean": estimate.mean, "se": estimate.se })
}
