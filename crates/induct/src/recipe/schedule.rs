//! How the learning rate changes with the step.

use induct_kernels::with_kind;

use crate::{Invalid, require};

with_kind! {
    /// How the learning rate changes over a run, as a recipe writes it.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Schedule {
        /// It stays the same.
        Constant {},
        /// It grows linearly over the first steps, then stays the same.
        Warmup {
            /// Number of steps of linear growth.
            steps: u64,
        },
        /// It falls along half a cosine until the end of the run, after an optional warm-up.
        Cosine {
            /// Number of steps of linear growth at the start.
            #[serde(default)]
            warmup: u64,
            /// Fraction of the learning rate that remains at the end.
            #[serde(default)]
            floor: f64,
        },
    }
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

    /// Whether the rate at a step depends on how many steps the run has.
    pub fn depends_on_length(&self) -> bool {
        matches!(self, Schedule::Cosine { .. })
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
}
