//! How long runs take, measured before a sweep begins.
//!
//! One point is measured, and then every key on its own: its first and last value and a few between them. The cost of any
//! run is that of the point times a factor for each key.

use std::time::{Duration, Instant};

use induct::lanes::instructions;
use induct::probe::{Instruments, columns};
use induct::train::{Recipe, Trainer};
use serde::{Deserialize, Serialize};

use crate::error::SweepError;
use crate::plan::{Grid, Plan, Planned};
use crate::study::Keep;

/// The cost of a grid's runs on one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Seconds of a run at the first value of every key.
    pub seconds: f64,
    /// By what the values of each key multiply it, in the order of the grid.
    pub factors: Vec<Vec<f64>>,
    /// The instructions it was measured with.
    pub level: String,
}

/// The most values of a key that are measured; the others lie between.
const MEASURED: usize = 5;

/// How long the steps of one recipe are measured.
const LONG_ENOUGH: Duration = Duration::from_millis(120);

impl Cost {
    /// Measures the cost of a new plan's runs, on the current thread.
    pub fn measure(plan: &Plan) -> Result<Self, SweepError> {
        let grid = &plan.grids[0];
        let first = vec![0; grid.vary.len()];
        let seconds = seconds_at(plan, grid, &first)?;
        let mut factors = Vec::new();
        for (axis, about) in grid.vary.iter().enumerate() {
            let count = about.values.len();
            let measured = measured_indices(count);
            let mut known: Vec<(usize, f64)> = Vec::new();
            for index in measured {
                let mut at = first.clone();
                at[axis] = index;
                let factor = match index {
                    0 => 1.0,
                    _ => seconds_at(plan, grid, &at)? / seconds,
                };
                known.push((index, factor));
            }
            factors.push((0..count).map(|index| between(&known, index)).collect());
        }
        Ok(Self {
            seconds,
            factors,
            level: instructions().to_owned(),
        })
    }

    /// Seconds that a run at these places of the grid's axes takes on one thread.
    pub(crate) fn at(&self, at: &[usize]) -> f64 {
        let factors = self.factors.iter().zip(at);
        let factors = factors.map(|(factors, &index)| factors.get(index).copied().unwrap_or(1.0));
        self.seconds * factors.product::<f64>()
    }
}

/// At most [`MEASURED`] indices, evenly spread, the first and the last among them.
fn measured_indices(count: usize) -> Vec<usize> {
    let wanted = count.min(MEASURED);
    let index = |step: usize| step * (count - 1) / (wanted - 1).max(1);
    let mut all: Vec<usize> = (0..wanted).map(index).collect();
    all.dedup();
    all
}

/// The factor at an index: the measured one, or on the geometric line between its neighbours.
fn between(known: &[(usize, f64)], index: usize) -> f64 {
    let after = known.partition_point(|(at, _)| *at < index);
    let Some(&(right, at_right)) = known.get(after) else {
        return known.last().map_or(1.0, |(_, factor)| *factor);
    };
    if right == index || after == 0 {
        return at_right;
    }
    let (left, at_left) = known[after - 1];
    let share = (index - left) as f64 / (right - left) as f64;
    at_left * (at_right / at_left).powf(share)
}

fn seconds_at(plan: &Plan, grid: &Grid, at: &[usize]) -> Result<f64, SweepError> {
    let run = Planned {
        number: 0,
        grid: 0,
        at: at.to_vec(),
        seed: grid.seeds.first,
    };
    seconds(&plan.recipe(&run)?, grid.seeds.count)
}

/// Measures how long a run takes on one thread. Its instruments are shared by `seeds` runs.
fn seconds(recipe: &Recipe, seeds: u64) -> Result<f64, SweepError> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = one.map_err(|error| SweepError::Failed(format!("cannot start threads: {error}")))?;
    pool.install(|| {
        let refuse = |error: &dyn std::fmt::Display| SweepError::mistake(error.to_string());
        let started = Instant::now();
        let instruments = Instruments::new(recipe).map_err(|error| refuse(&error))?;
        let shared = started.elapsed().as_secs_f64() / seeds as f64;
        // Weights of snapshots are read from files, which takes no time worth measuring.
        let snapshots = induct_store::snapshot_weights;
        let started = Instant::now();
        let mut trainer =
            Trainer::with_snapshots(recipe, &snapshots).map_err(|error| refuse(&error))?;
        let setup = started.elapsed().as_secs_f64();
        let mut times = Vec::new();
        let begun = Instant::now();
        for step in 0..recipe.train.steps.min(200) {
            let started = Instant::now();
            // A run that cannot be trained from its first steps ends there.
            if trainer.advance().is_err() {
                break;
            }
            // The first step warms caches.
            if step > 0 || recipe.train.steps == 1 {
                times.push(started.elapsed().as_secs_f64());
            }
            if begun.elapsed() > LONG_ENOUGH && times.len() >= 3 {
                break;
            }
        }
        let (params, model) = (trainer.params().to_vec(), trainer.model().clone());
        let measure = || {
            let started = Instant::now();
            std::hint::black_box(instruments.measure(&model, &params, 0, None));
            started.elapsed().as_secs_f64()
        };
        let record = measure().min(measure());
        let step = match times.is_empty() {
            true => 0.0,
            false => induct::probe::median(&times),
        };
        let records = recipe.record.record_count(recipe.train.steps) as f64;
        Ok(shared + setup + step * recipe.train.steps as f64 + record * records)
    })
}

/// Bytes on disk that a plan's runs take, roughly: their rows, and the folders of those kept whole.
pub fn disk(plan: &Plan) -> Result<f64, SweepError> {
    let run = plan.run(0);
    let recipe = plan.recipe(&run)?;
    let records = recipe.record.record_count(recipe.train.steps) as f64;
    let kept = &plan.kept;
    let cells = 8 + kept.last.len() + kept.strategies.len();
    let points = match kept.curves.len() {
        0 => 0.0,
        curves => (1 + curves) as f64 * records,
    };
    // In parts and again in the gathered table.
    let row = 2.0 * 8.0 * (cells as f64 + points);
    let whole = match kept.runs {
        Keep::None => 0.0,
        Keep::All => plan.runs() as f64,
        Keep::First => plan.points() as f64,
    };
    let refuse = |error: induct::Invalid| SweepError::mistake(error.to_string());
    let width = columns(&recipe).map_err(refuse)?.len() as f64;
    let parameters = recipe.model().map_err(refuse)?.layout().len() as f64;
    let snapshots = recipe.record.snapshot_steps(recipe.train.steps).len() as f64;
    // A number takes about 12 characters in metrics.csv; the checkpoint has two moments.
    let folder = 12.0 * width * records + 4.0 * parameters * (snapshots + 3.0) + 8_000.0;
    Ok(row * plan.runs() as f64 + folder * whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_measured_ones_lie_on_the_geometric_line() {
        assert_eq!(measured_indices(1), [0]);
        assert_eq!(measured_indices(3), [0, 1, 2]);
        assert_eq!(measured_indices(21), [0, 5, 10, 15, 20]);
        let known = [(0, 1.0), (4, 16.0)];
        assert!((between(&known, 2) - 4.0).abs() < 1e-12);
        assert_eq!(between(&known, 4), 16.0);
        assert_eq!(between(&known, 0), 1.0);
    }
}
