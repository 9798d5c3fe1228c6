//! What changes with the step: the learning rate, and when to record and to keep snapshots.

use serde::{Deserialize, Serialize};

use crate::invalid::{Invalid, require};

/// How the learning rate changes over a run, as a recipe writes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// Not at all.
    Constant {},
    /// Grows linearly over the first steps, then stays.
    Warmup {
        /// Over how many steps.
        steps: u64,
    },
    /// Falls along half a cosine until the end of the run, after an optional warm-up.
    Cosine {
        /// Steps of linear growth at the start.
        #[serde(default)]
        warmup: u64,
        /// Fraction of the learning rate that is left at the end.
        #[serde(default)]
        floor: f64,
    },
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule::Constant {}
    }
}

impl Schedule {
    pub(super) fn check(&self, steps: u64) -> Result<(), Invalid> {
        let fits = |field: &str, warmup: u64| {
            let allowed = format!("at most train.steps = {steps}");
            require(warmup <= steps, field, warmup, &allowed)
        };
        match *self {
            Schedule::Constant {} => Ok(()),
            Schedule::Warmup { steps } => fits("steps", steps),
            Schedule::Cosine { warmup, floor } => {
                fits("warmup", warmup)?;
                require(
                    (0.0..=1.0).contains(&floor),
                    "floor",
                    floor,
                    "a number from 0 to 1",
                )
            }
        }
    }

    /// The factor on the learning rate at `step` of a run of `steps` steps.
    pub fn factor(&self, step: u64, steps: u64) -> f64 {
        let rise = |warmup: u64| {
            if step < warmup {
                (step + 1) as f64 / warmup as f64
            } else {
                1.0
            }
        };
        match *self {
            Schedule::Constant {} => 1.0,
            Schedule::Warmup { steps } => rise(steps),
            Schedule::Cosine { warmup, floor } => {
                if step < warmup {
                    return rise(warmup);
                }
                let progress = (step - warmup) as f64 / (steps - warmup).max(1) as f64;
                floor + (1.0 - floor) * 0.5 * (1.0 + libm::cos(std::f64::consts::PI * progress))
            }
        }
    }
}

/// What a run keeps, as a recipe writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordSpec {
    /// Steps between two rows of metrics.
    pub every: u64,
    /// Number of snapshots, the first at step 0 and the last at the end (one: at the end).
    pub snapshots: u64,
    /// How snapshots are spread over the steps.
    pub spacing: Spacing,
    /// Sequences in each of the fixed test sets.
    pub test_sequences: usize,
}

impl Default for RecordSpec {
    fn default() -> Self {
        Self {
            every: 20,
            snapshots: 200,
            spacing: Spacing::Linear,
            test_sequences: 1024,
        }
    }
}

/// How snapshots are spread over the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Evenly.
    Linear,
    /// Evenly in the logarithm: dense at the start.
    Logarithmic,
}

/// The largest number of snapshots.
const MAX_SNAPSHOTS: u64 = 100_000;

/// The largest test set.
const MAX_TEST_SEQUENCES: usize = 1 << 20;

impl RecordSpec {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        require(self.every >= 1, "every", self.every, "at least 1 step")?;
        require(
            (1..=MAX_SNAPSHOTS).contains(&self.snapshots),
            "snapshots",
            self.snapshots,
            &format!("from 1 to {MAX_SNAPSHOTS}"),
        )?;
        require(
            (1..=MAX_TEST_SEQUENCES).contains(&self.test_sequences),
            "test_sequences",
            self.test_sequences,
            &format!("from 1 to {MAX_TEST_SEQUENCES}"),
        )
    }

    /// Whether metrics are recorded after `step` steps of a run of `steps`.
    pub fn records(&self, step: u64, steps: u64) -> bool {
        step.is_multiple_of(self.every) || step == steps
    }

    /// The steps after which a snapshot is kept, in order.
    pub fn snapshot_steps(&self, steps: u64) -> Vec<u64> {
        let last = self
            .snapshots
            .min(steps.saturating_add(1))
            .saturating_sub(1);
        let mut kept: Vec<u64> = (0..=last)
            .map(|index| match self.spacing {
                _ if last == 0 => steps,
                Spacing::Linear => (steps as f64 * index as f64 / last as f64).round() as u64,
                Spacing::Logarithmic => {
                    let share = index as f64 / last as f64;
                    (libm::pow(steps as f64 + 1.0, share) - 1.0).round() as u64
                }
            })
            .collect();
        kept.dedup();
        if self.snapshots == 0 {
            Vec::new()
        } else {
            kept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_rises_and_cosine_falls() {
        let warmup = Schedule::Warmup { steps: 4 };
        let factors: Vec<f64> = (0..6).map(|step| warmup.factor(step, 100)).collect();
        assert_eq!(factors, [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]);
        let cosine = Schedule::Cosine {
            warmup: 2,
            floor: 0.1,
        };
        assert_eq!(cosine.factor(0, 12), 0.5);
        assert_eq!(cosine.factor(2, 12), 1.0);
        assert!((cosine.factor(7, 12) - 0.55).abs() < 1e-12);
        assert!((cosine.factor(12, 12) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn snapshots_reach_from_the_start_to_the_end() {
        for spacing in [Spacing::Linear, Spacing::Logarithmic] {
            for (steps, snapshots) in [(4000, 200), (10, 200), (1, 2), (1000, 3)] {
                let record = RecordSpec {
                    snapshots,
                    spacing,
                    ..RecordSpec::default()
                };
                let kept = record.snapshot_steps(steps);
                assert_eq!((kept[0], *kept.last().unwrap()), (0, steps));
                assert!(kept.is_sorted_by(|a, b| a < b));
                assert!(kept.len() as u64 <= snapshots);
            }
        }
        let linear = RecordSpec::default();
        assert_eq!(linear.snapshot_steps(4000).len(), 200);
        assert_eq!(linear.snapshot_steps(0), [0]);
    }
}
