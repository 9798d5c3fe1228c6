//! At which step an event takes effect, and which interventions are in force there.
//!
//! This follows from the records alone, so a run is the same for any number of threads, and whether or not it
//! was interrupted.
//!
//! A record shows the onset of a strategy's phase if the strategy is the nearest there and at the two records
//! before it: as many in a row as a phase needs. The event takes effect at the next recorded step, because a
//! record is measured while the steps after it are trained.

use crate::Invalid;
use crate::model::Model;
use crate::probe::{History, SHORTEST_PHASE};
use crate::recipe::{Event, Recipe};
use crate::train::Snapshots;

/// Looks for an event in a run's records while they are made. It looks at every record once.
#[derive(Clone, Debug)]
pub struct EventDetector {
    event: Event,
    looked_at: usize,
    /// How many of the last records are nearest to the strategy.
    in_a_row: usize,
    /// The record that shows the onset.
    shown_at: Option<u64>,
}

impl EventDetector {
    /// An event that no record has shown yet.
    pub fn new(event: &Event) -> Self {
        Self {
            event: event.clone(),
            looked_at: 0,
            in_a_row: 0,
            shown_at: None,
        }
    }

    /// The step at which the onset takes effect; `None` as long as the records do not show it. The history is
    /// the one of earlier calls, which may have grown.
    pub fn onset(&mut self, recipe: &Recipe, history: &History) -> Option<u64> {
        if self.shown_at.is_none() {
            let ladder = recipe.task.ladder();
            for (step, nearest) in history.nearest_from(self.looked_at, &ladder) {
                let is_nearest = nearest == Some(self.event.at.as_str());
                self.in_a_row = if is_nearest { self.in_a_row + 1 } else { 0 };
                if self.in_a_row == SHORTEST_PHASE {
                    self.shown_at = Some(step);
                    break;
                }
            }
            self.looked_at = history.len();
        }
        let shown = self.shown_at?;
        let next = recipe.record.next_record(shown, recipe.train.steps);
        // Nothing takes effect after the last record.
        (next > shown).then_some(next)
    }

    /// The step at which the event takes effect: `after` steps after the onset did.
    pub fn step(&mut self, recipe: &Recipe, history: &History) -> Option<u64> {
        let onset = self.onset(recipe, history)?;
        Some(onset.saturating_add(self.event.after))
    }
}

/// The onsets that a run's interventions wait for.
#[derive(Clone, Debug)]
pub struct Onsets(Vec<EventDetector>);

impl Onsets {
    /// Those of a recipe, none of which any record has shown yet.
    pub fn new(recipe: &Recipe) -> Self {
        let awaited = recipe.awaited().into_iter();
        let awaited = awaited.map(|at| EventDetector::new(&Event { at, after: 0 }));
        Self(awaited.collect())
    }

    /// Those that a run's records show, by strategy, with the steps at which they take effect.
    pub fn shown(recipe: &Recipe, history: &History) -> Vec<(String, u64)> {
        Self::new(recipe).new_ones(recipe, history)
    }

    /// Those that the records show since the last call, by strategy, with the steps at which they take effect.
    pub fn new_ones(&mut self, recipe: &Recipe, history: &History) -> Vec<(String, u64)> {
        let mut shown = Vec::new();
        self.0
            .retain_mut(|awaited| match awaited.onset(recipe, history) {
                Some(step) => {
                    shown.push((awaited.event.at.clone(), step));
                    false
                }
                None => true,
            });
        shown
    }
}

/// The last step of a run, as far as its records tell: the recipe's last, unless `train.stop` comes before it.
pub fn last_step(recipe: &Recipe, history: &History) -> u64 {
    let mut stop = recipe.train.stop.as_ref().map(EventDetector::new);
    stopped_at(
        recipe,
        stop.as_mut().and_then(|stop| stop.step(recipe, history)),
    )
}

/// The last step of a run whose `train.stop` takes effect at `event`: the first recorded step from there on.
pub(super) fn stopped_at(recipe: &Recipe, event: Option<u64>) -> u64 {
    let (record, steps) = (&recipe.record, recipe.train.steps);
    match event {
        Some(step) if record.records(step, steps) => step.min(steps),
        Some(step) => record.next_record(step, steps),
        None => steps,
    }
}

/// The steps whose weights a run keeps, in order, as far as its records tell.
pub fn kept_steps(recipe: &Recipe, history: &History) -> Vec<u64> {
    kept_until(recipe, last_step(recipe, history))
}

/// The steps whose weights a run keeps that ends at `last`: the recipe's, and its last.
pub(super) fn kept_until(recipe: &Recipe, last: u64) -> Vec<u64> {
    let mut steps = recipe.record.snapshot_steps(recipe.train.steps);
    steps.retain(|&step| step < last);
    steps.push(last);
    steps
}

/// Which interventions are in force at a step of a run, by index in the recipe's `intervene`. Its records tell when
/// the events came that they wait for.
pub fn in_force(recipe: &Recipe, history: &History, step: u64) -> Vec<usize> {
    recipe.in_force(step, &Onsets::shown(recipe, history))
}

/// The model of a run at a step: under the interventions in force there. Records and snapshots of that step are of
/// this model.
///
/// Where an intervention in force takes weights of the run itself, `{ own = STEP }`, they are trained.
pub fn model_at(
    recipe: &Recipe,
    history: &History,
    step: u64,
    snapshots: Snapshots,
) -> Result<Model, Invalid> {
    recipe.model_under(&in_force(recipe, history, step), snapshots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{KL_STRATEGY, STEP};

    fn recipe(overrides: &[&str]) -> Recipe {
        let all = ["train.steps=100", "record.every=10"]
            .iter()
            .chain(overrides);
        let all: Vec<String> = all.map(|&text| text.to_owned()).collect();
        Recipe::from_toml("", &all).unwrap()
    }

    /// Records every ten steps, each with its nearest strategy.
    fn history(nearest: &str) -> History {
        let names = ["uniform", "unigram", "bigram"];
        let compared = names.map(|name| KL_STRATEGY.of_strategy(name));
        let mut history = History::new([(&STEP).into()].into_iter().chain(compared).collect());
        for (index, letter) in nearest.chars().enumerate() {
            let distance = |name| if letter == name { 0.1 } else { 0.5 };
            let step = 10.0 * index as f64;
            history
                .push(&[step, distance('0'), distance('1'), distance('2')])
                .unwrap();
        }
        history
    }

    #[test]
    fn an_event_takes_effect_one_record_after_three_in_a_row() {
        for (nearest, step) in [
            ("0112", None),
            ("011122", None),
            ("01112212", None),
            ("0111222", Some(75)),
            ("01122122200", Some(95)),
            // It stays in effect whatever comes later.
            ("2220000000", Some(35)),
        ] {
            let event = Event {
                at: "bigram".into(),
                after: 5,
            };
            let (recipe, mut once) = (recipe(&[]), EventDetector::new(&event));
            assert_eq!(once.step(&recipe, &history(nearest)), step, "{nearest}");
            // Record by record it is the same.
            let mut growing = EventDetector::new(&event);
            let each = (0..=nearest.len())
                .map(|rows| growing.step(&recipe, &history(&nearest[..rows])))
                .next_back();
            assert_eq!(each.flatten(), step, "{nearest}");
        }
    }

    #[test]
    fn a_run_stops_at_a_recorded_step_and_keeps_it() {
        let at = |after: u64, nearest: &str| {
            let stop = format!("train.stop={{at=\"bigram\", after={after}}}");
            let recipe = recipe(&[stop.as_str(), "record.snapshots=3"]);
            let history = history(nearest);
            (last_step(&recipe, &history), kept_steps(&recipe, &history))
        };
        assert_eq!(at(0, "0222"), (40, vec![0, 40]));
        assert_eq!(at(1, "0222"), (50, vec![0, 50]));
        assert_eq!(at(30, "0222"), (70, vec![0, 50, 70]));
        assert_eq!(at(1000, "0222"), (100, vec![0, 50, 100]));
        assert_eq!(at(0, "0000"), (100, vec![0, 50, 100]));
        // The last record shows it, too late to stop anything.
        assert_eq!(at(0, "00000000222"), (100, vec![0, 50, 100]));
    }

    #[test]
    fn many_records_are_looked_at_once_each() {
        let event = Event {
            at: "bigram".into(),
            after: 0,
        };
        let recipe = recipe(&["record.every=1", "train.steps=100000"]);
        let (mut growing, mut all) = (EventDetector::new(&event), history(""));
        for step in 0..100_000 {
            all.push(&[f64::from(step), 0.1, 0.5, 0.5]).unwrap();
            assert_eq!(growing.onset(&recipe, &all), None);
        }
    }
}
