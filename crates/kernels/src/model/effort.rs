//! How much arithmetic a model takes, and a benchmark of the arithmetic that one core can do.

use super::Model;
use crate::lanes::{LANES, Lane, Level, leveled};

impl Model {
    /// Multiplications (each with its addition, where one follows) for the gradient of one sequence. They are
    /// counted from the formulas of the engine that computes it, over pairs of positions and matrix products.
    pub fn multiplications(&self) -> f64 {
        self.training.multiplications() as f64
    }
}

/// Multiplies and adds as fast as one core can, in registers, without loads or stores. Returns the number of
/// multiplications, each with an addition. A caller with a clock learns the core's peak rate from it.
pub fn multiply_at_peak() -> usize {
    const ROUNDS: usize = 200_000;
    let factor = std::hint::black_box(Lane::splat(0.5));
    std::hint::black_box(spin(Level::detect(), ROUNDS, factor));
    ROUNDS * SUMS * LANES
}

/// Independent sums, none of which waits for another.
const SUMS: usize = 10;

leveled!(
    fn spin<const FUSED: bool>(rounds: usize, factor: Lane) -> [Lane; SUMS] {
        let mut sums = [factor; SUMS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = sum.times_plus::<FUSED>(factor, factor);
            }
        }
        sums
    }
);
