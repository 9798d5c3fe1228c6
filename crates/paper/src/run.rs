//! A run, watched: what is kept of it, and what can be read from that.

use induct::Invalid;
use induct::probe::{
    Drop, History, Instruments, KL_TRUTH, Phase, kl_column, median, positional_profile,
};
use induct::train::{Recipe, Trainer};

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// One row a recorded step.
    pub history: History,
    /// KL(truth ‖ strategy) on the test sets of the history.
    pub levels: Vec<Level>,
    /// The first lags of the positional profile, one row a recorded step; empty without relative positions.
    pub profiles: Vec<Vec<f64>>,
    /// The weights at the end.
    pub params: Vec<f32>,
    /// Steps and weights on the way.
    pub snapshots: Vec<(u64, Vec<f32>)>,
    /// The step at which the loss ceased to be a number, if it did.
    pub diverged: Option<u64>,
    /// How long it took.
    pub seconds: f64,
}

/// How well a strategy does on a test set.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// `in_distribution`, `iid` or `doubly_stochastic`.
    pub set: String,
    /// The strategy.
    pub strategy: String,
    /// KL(truth ‖ strategy) at the last position.
    pub kl: f64,
}

/// Lags that are kept of a positional profile.
pub const LAGS: usize = 40;

/// Trains a recipe to its end, over the current thread pool, and tells `follow` of every step. Weights on the way are kept if `snapshots`
/// says so, where the recipe wants them.
pub fn watch(
    recipe: &Recipe,
    instruments: &Instruments,
    snapshots: bool,
    follow: &(dyn Fn() + Sync),
) -> Result<Run, Invalid> {
    let started = std::time::Instant::now();
    let steps = recipe.train.steps;
    let wanted = match snapshots {
        true => recipe.record.snapshot_steps(steps),
        false => Vec::new(),
    };
    let mut trainer = Trainer::new(recipe)?;
    let mut run = Run {
        history: History::new(instruments.columns().to_vec()),
        levels: levels(instruments),
        profiles: Vec::new(),
        params: Vec::new(),
        snapshots: Vec::new(),
        diverged: None,
        seconds: 0.0,
    };
    let mut loss = None;
    loop {
        let (step, params) = (trainer.step(), trainer.params());
        if recipe.record.records(step, steps) {
            let row = instruments.measure(trainer.model(), params, step, loss);
            run.history.push(row);
            if let Some(profile) = positional_profile(trainer.model(), params) {
                run.profiles.push(profile.into_iter().take(LAGS).collect());
            }
        }
        if wanted.binary_search(&step).is_ok() {
            run.snapshots.push((step, params.to_vec()));
        }
        let sound = run.history.last(KL_TRUTH).is_some_and(f64::is_finite);
        if trainer.is_done() || !sound {
            run.diverged = (!sound).then_some(step);
            break;
        }
        match trainer.advance() {
            Ok(value) => loss = Some(value),
            Err(diverged) => {
                run.diverged = Some(diverged.step);
                break;
            }
        }
        follow();
    }
    run.params = trainer.params().to_vec();
    run.seconds = started.elapsed().as_secs_f64();
    Ok(run)
}

fn levels(instruments: &Instruments) -> Vec<Level> {
    let of_set = |(set, strategies): &(&str, Vec<(String, f64)>)| {
        let level = |(strategy, kl): &(String, f64)| Level {
            set: (*set).to_owned(),
            strategy: strategy.clone(),
            kl: *kl,
        };
        strategies.iter().map(level).collect::<Vec<_>>()
    };
    instruments.levels().iter().flat_map(of_set).collect()
}

/// A plateau at a strategy, and the fall of KL(truth ‖ model) from it to where the run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// The step at which the strategy becomes the nearest.
    pub onset: f64,
    /// Median loss of the phase.
    pub plateau: f64,
    /// Loss at the end of the run.
    pub reached: f64,
    /// The step from which on a tenth of the fall is done, for good.
    pub start: f64,
    /// The same for nine tenths.
    pub end: f64,
}

impl Fall {
    /// The middle of the plateau.
    pub fn on_plateau(&self) -> f64 {
        0.5 * (self.onset + self.start)
    }

    /// The middle of the fall.
    pub fn half_way(&self) -> f64 {
        0.5 * (self.start + self.end)
    }
}

/// Index of the number that is nearest to another; 0 of none.
fn nearest(numbers: &[f64], to: f64) -> usize {
    let distance = |index: &usize| (numbers[*index] - to).abs();
    (0..numbers.len())
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(0)
}

impl Run {
    /// The fall from a strategy's plateau; none if the run is never there or never falls.
    pub fn fall_from(&self, strategy: &str) -> Option<Fall> {
        let phase = self.phase(strategy)?;
        let (onset, end) = (phase.onset as f64, phase.end as f64);
        let plateau = median(&self.between(KL_TRUTH, onset, end));
        let reached = self.history.last(KL_TRUTH)?;
        let (steps, losses) = (self.steps(), self.column(KL_TRUTH));
        // For good: a run may dip below a level before its plateau and come back.
        let below_for_good = |share: f64| {
            let level = plateau - share * (plateau - reached);
            let last_above = losses.iter().rposition(|&loss| loss > level)?;
            steps.get(last_above + 1).copied()
        };
        (reached < plateau).then_some(Fall {
            onset,
            plateau,
            reached,
            start: below_for_good(0.1)?,
            end: below_for_good(0.9)?,
        })
    }

    /// A column of the history; empty if there is none of that name.
    pub fn column(&self, name: &str) -> Vec<f64> {
        self.history.column(name).unwrap_or_default()
    }

    /// The recorded steps.
    pub fn steps(&self) -> Vec<f64> {
        self.column(induct::probe::STEP)
    }

    /// KL(truth ‖ strategy) on a test set; NaN if it was not measured.
    pub fn level_on(&self, set: &str, strategy: &str) -> f64 {
        let mut levels = self.levels.iter();
        let found = levels.find(|level| level.set == set && level.strategy == strategy);
        found.map_or(f64::NAN, |level| level.kl)
    }

    /// The same in distribution.
    pub fn level(&self, strategy: &str) -> f64 {
        self.level_on("in_distribution", strategy)
    }

    /// Strategies that the history compares the model with, from the simplest on.
    pub fn strategies(&self) -> Vec<String> {
        let own = self.levels.iter().filter(|l| l.set == "in_distribution");
        own.map(|level| level.strategy.clone()).collect()
    }

    /// Phases and drops.
    pub fn phases(&self) -> (Vec<Phase>, Vec<Drop>) {
        self.history.phases(&self.strategies())
    }

    /// Names of the phases in order.
    pub fn order(&self) -> Vec<String> {
        self.phases().0.into_iter().map(|p| p.strategy).collect()
    }

    /// The first phase at a strategy.
    pub fn phase(&self, strategy: &str) -> Option<Phase> {
        let (phases, _) = self.phases();
        phases.into_iter().find(|phase| phase.strategy == strategy)
    }

    /// The step from which on a strategy is the nearest one, if it ever is.
    pub fn onset(&self, strategy: &str) -> Option<f64> {
        self.phase(strategy).map(|phase| phase.onset as f64)
    }

    /// The drop that leads to a strategy.
    pub fn drop_to(&self, strategy: &str) -> Option<Drop> {
        let (_, drops) = self.phases();
        drops.into_iter().find(|drop| drop.to == strategy)
    }

    /// A column's values at records within [from, to] steps.
    pub fn between(&self, name: &str, from: f64, to: f64) -> Vec<f64> {
        let steps = self.steps();
        let inside = steps.iter().zip(self.column(name));
        let inside = inside.filter(|(step, _)| (from..=to).contains(*step));
        inside.map(|(_, value)| value).collect()
    }

    /// Index of the record nearest to a step.
    pub fn record_at(&self, step: f64) -> usize {
        nearest(&self.steps(), step)
    }

    /// Index of the snapshot nearest to a step.
    pub fn snapshot_at(&self, step: f64) -> usize {
        let steps: Vec<f64> = self
            .snapshots
            .iter()
            .map(|(step, _)| *step as f64)
            .collect();
        nearest(&steps, step)
    }

    /// The first recorded step from which on `reached` is true of a column's value.
    pub fn first(&self, name: &str, reached: impl Fn(f64) -> bool) -> Option<f64> {
        let at = self.column(name).into_iter().position(reached)?;
        Some(self.steps()[at])
    }

    /// KL(strategy ‖ model) over the run.
    pub fn distance(&self, strategy: &str) -> Vec<f64> {
        self.column(&kl_column(strategy))
    }
}
