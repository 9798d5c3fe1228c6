//! Which interventions are in force at a step, and which happen there.

use std::sync::Arc;

use super::weights::{OwnWeights, Snapshots};
use crate::model::{Intervention, Model, Tensor};
use crate::recipe::{InterveneSpec, Recipe, WeightsSpec, When};
use crate::{Invalid, Within};

/// A run's interventions, each with the steps at which it is in force as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    entries: Vec<Entry>,
}

/// One intervention.
#[derive(Debug)]
struct Entry {
    spec: InterveneSpec,
    window: Window,
    changes: Vec<Intervention>,
    weights: Option<Arc<[f32]>>,
}

/// The first step of an intervention, and the first after it: the end of time, where there is none or it is not
/// known yet.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: u64,
    until: u64,
}

const NEVER: u64 = u64::MAX;

impl Window {
    /// As far as it is known beforehand.
    fn of(spec: &InterveneSpec) -> Self {
        let (from, until) = spec.times();
        Self {
            from: from.known().unwrap_or(NEVER),
            until: until.and_then(When::known).unwrap_or(NEVER),
        }
    }

    /// Takes note of the onset of a strategy's phase.
    fn tell(&mut self, spec: &InterveneSpec, strategy: &str, onset: u64) {
        let (from, until) = spec.times();
        if let Some(step) = from.at_onset(strategy, onset) {
            self.from = step;
        }
        if let Some(step) = until.and_then(|until| until.at_onset(strategy, onset)) {
            self.until = step;
        }
    }

    /// Whether an intervention that lasts is in force at a step.
    fn holds(self, spec: &InterveneSpec, step: u64) -> bool {
        !spec.is_once() && (self.from..self.until).contains(&step)
    }
}

impl Entry {
    /// Intervention `index` of a checked recipe, with its weights.
    fn new(
        (recipe, index): (&Recipe, usize),
        model: &Model,
        snapshots: Snapshots,
        own: &mut OwnWeights,
    ) -> Result<Self, Invalid> {
        let spec = &recipe.intervene[index];
        let place = format!("intervene[{index}]");
        let mut find =
            |(key, weights): (&str, &WeightsSpec)| weights.find(recipe, snapshots, own).within(key);
        let weights = spec.weights().map(&mut find).transpose().within(&place)?;
        let changes = spec.interventions(model, weights.as_ref());
        Ok(Self {
            spec: spec.clone(),
            window: Window::of(spec),
            changes: changes.within(&place)?,
            weights,
        })
    }
}

impl Recipe {
    /// Which of the interventions that last are in force at a step, by index in `intervene`; given the onsets that
    /// the run's records show.
    pub fn in_force(&self, step: u64, onsets: &[(String, u64)]) -> Vec<usize> {
        let holds = |&index: &usize| {
            let spec = &self.intervene[index];
            let mut window = Window::of(spec);
            for (strategy, onset) in onsets {
                window.tell(spec, strategy, *onset);
            }
            window.holds(spec, step)
        };
        (0..self.intervene.len()).filter(holds).collect()
    }

    /// The model under some of the interventions, by index in `intervene`. Only their weights are looked for; those
    /// of the run itself are trained.
    ///
    /// # Errors
    ///
    /// If a snapshot that they name is not at hand.
    ///
    /// # Panics
    ///
    /// If there is no intervention with such an index.
    pub fn model_under(&self, indices: &[usize], snapshots: Snapshots) -> Result<Model, Invalid> {
        let (model, mut own) = (self.model()?, OwnWeights::default());
        let mut changes = Vec::new();
        for &index in indices {
            let entry = Entry::new((self, index), &model, snapshots, &mut own)?;
            changes.extend(entry.changes);
        }
        model.with(&changes)
    }
}

impl Agenda {
    /// The interventions of a checked recipe, with their weights.
    pub fn new(recipe: &Recipe, model: &Model, snapshots: Snapshots) -> Result<Self, Invalid> {
        let mut own = OwnWeights::default();
        let entry = |index| Entry::new((recipe, index), model, snapshots, &mut own);
        let entries: Result<_, _> = (0..recipe.intervene.len()).map(entry).collect();
        Ok(Self { entries: entries? })
    }

    /// Takes note of the onset of a strategy's phase.
    pub fn tell(&mut self, strategy: &str, onset: u64) {
        for Entry { spec, window, .. } in &mut self.entries {
            window.tell(spec, strategy, onset);
        }
    }

    /// The first step after `step` at which anything changes.
    pub fn next_turn(&self, step: u64) -> u64 {
        let windows = self.entries.iter().map(|entry| entry.window);
        let times = windows.flat_map(|window| [window.from, window.until]);
        times.filter(|&time| time > step).min().unwrap_or(NEVER)
    }

    fn in_force(&self, step: u64) -> impl Iterator<Item = &Entry> {
        let all = self.entries.iter();
        all.filter(move |entry| entry.window.holds(&entry.spec, step))
    }

    /// What is changed in the model's computation at a step.
    pub fn changes(&self, step: u64) -> Vec<Intervention> {
        let in_force = self.in_force(step);
        in_force
            .flat_map(|entry| entry.changes.iter().cloned())
            .collect()
    }

    /// Whether a tensor stays where it is at a step.
    pub fn is_frozen(&self, tensor: &Tensor, step: u64) -> bool {
        self.in_force(step)
            .any(|entry| freezes(&entry.spec, tensor))
    }

    /// A tensor's own learning rate at a step, if it has one.
    pub fn rate(&self, tensor: &Tensor, step: u64) -> Option<f64> {
        self.in_force(step).find_map(|entry| match &entry.spec {
            InterveneSpec::Rate { group, lr, .. } if tensor.is_in(group) => Some(*lr),
            _ => None,
        })
    }

    /// Changes the parameters as the interventions that happen at a step do; `initial` are those of the run's seed.
    /// Calls `anew` with every tensor that is changed. With `told`, only those count that waited for the onset of
    /// that strategy: the others of this step have happened.
    pub fn act(
        &self,
        (step, told): (u64, Option<&str>),
        tensors: &[Tensor],
        initial: impl Fn() -> Vec<f32>,
        params: &mut [f32],
        mut anew: impl FnMut(&Tensor),
    ) {
        let is_due = |entry: &&Entry| {
            let waited = |strategy| entry.spec.times().0.at_onset(strategy, 0).is_some();
            entry.window.from == step && told.is_none_or(waited)
        };
        for entry in self.entries.iter().filter(is_due) {
            let (group, source, fraction) = match (&entry.spec, &entry.weights) {
                (InterveneSpec::Reset { group, .. }, _) => (group, initial().into(), 1.0),
                (
                    InterveneSpec::Transplant {
                        group, fraction, ..
                    },
                    Some(weights),
                ) => (group, weights.clone(), *fraction),
                _ => continue,
            };
            for tensor in tensors.iter().filter(|tensor| tensor.is_in(group)) {
                for index in tensor.range.clone() {
                    // All the way is exactly the other weight, and none of it exactly the own.
                    let (own, other) = (f64::from(params[index]), f64::from(source[index]));
                    params[index] = ((1.0 - fraction) * own + fraction * other) as f32;
                }
                anew(tensor);
            }
        }
    }

    /// How often a tensor was updated in the first `steps` steps, since the optimiser last started anew for it.
    pub fn updates(&self, tensor: &Tensor, steps: u64) -> u64 {
        let changed = |entry: &&Entry| {
            let is_in = entry.spec.group().is_some_and(|group| tensor.is_in(group));
            entry.spec.is_once() && is_in && entry.window.from <= steps
        };
        let last = self
            .entries
            .iter()
            .filter(changed)
            .map(|entry| entry.window.from)
            .max();
        let start = last.unwrap_or(0);
        let frozen = self
            .entries
            .iter()
            .filter(|entry| freezes(&entry.spec, tensor));
        let mut stretches: Vec<(u64, u64)> = frozen
            .map(|Entry { window, .. }| (window.from.max(start), window.until.min(steps)))
            .collect();
        stretches.sort_unstable();
        let (mut updates, mut counted_to) = (steps - start, start);
        for (from, until) in stretches {
            updates -= until.saturating_sub(from.max(counted_to));
            counted_to = counted_to.max(until);
        }
        updates
    }
}

fn freezes(spec: &InterveneSpec, tensor: &Tensor) -> bool {
    matches!(spec, InterveneSpec::Freeze { group, .. } if tensor.is_in(group))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::no_snapshots;

    fn agenda(intervene: &str) -> (Agenda, Model) {
        let overrides = [format!("intervene={intervene}")];
        let recipe = Recipe::from_toml("", &overrides).unwrap();
        let model = recipe.model().unwrap();
        (Agenda::new(&recipe, &model, &no_snapshots).unwrap(), model)
    }

    #[test]
    fn updates_count_neither_frozen_steps_nor_those_before_a_reset() {
        let (agenda, model) = agenda(
            "[{kind='freeze', group='embed', from=5, until=8}, {kind='freeze', group='embed', until=2}, \
             {kind='freeze', group='embed', from=6, until=10}, {kind='reset', group='embed', step=40}, \
             {kind='freeze', group='embed', from=90}]",
        );
        let tensor = model.layout().tensor("embed.E").unwrap();
        for steps in [0, 1, 2, 6, 9, 10, 39, 40, 41, 60, 89, 90, 100] {
            let start = if steps >= 40 { 40 } else { 0 };
            let moves = |step: &u64| !agenda.is_frozen(tensor, *step);
            let one_by_one = (start..steps).filter(moves).count() as u64;
            assert_eq!(agenda.updates(tensor, steps), one_by_one, "{steps}");
        }
        let other = model.layout().tensor("layers.0.v").unwrap();
        assert_eq!(agenda.updates(other, 100), 100);
    }

    #[test]
    fn turns_come_at_every_start_and_end_once_known() {
        let (mut agenda, _) = agenda(
            "[{kind='clamp', at='layers.0', pattern='uniform', from=10, until=30}, \
             {kind='freeze', group='layers.1', from={at='unigram', after=7}, until={at='bigram'}}]",
        );
        let turns = |agenda: &Agenda| {
            let mut turns = vec![agenda.next_turn(0)];
            while *turns.last().unwrap() < NEVER {
                turns.push(agenda.next_turn(*turns.last().unwrap()));
            }
            turns
        };
        assert_eq!(turns(&agenda), [10, 30, NEVER]);
        agenda.tell("unigram", 80);
        agenda.tell("bigram", 1000);
        assert_eq!(turns(&agenda), [10, 30, 87, 1000, NEVER]);
        assert_eq!(agenda.changes(29).len(), 1);
        assert!(agenda.changes(30).is_empty());
    }
}
