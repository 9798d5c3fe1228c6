//! How much arithmetic a model takes, and arithmetic that is all a core can do.

use super::Model;
use crate::lanes::{LANES, Lane, Level, leveled};

impl Model {
    /// Multiplications (each with an addition, where one follows) that the gradient of one sequence takes,
    /// counted from the formulas of the engine that computes it: those of pairs of positions and of matrix
    /// products.
    pub fn multiplications(&self) -> f64 {
        self.compute.multiplications() as f64
    }
}

/// Multiplies and adds as fast as one core can, in registers, with nothing loaded or stored, and returns how
/// often: multiplications, each with an addition. Whoever has a clock learns from it what the core can do.
pub fn multiply_at_peak() -> usize {
    const ROUNDS: usize = 200_000;
    let factor = std::hint::black_box(Lane::splat(0.5));
    std::hint::black_box(spin(Level::detect(), ROUNDS, factor));
    ROUNDS * SUMS * LANES
}

/// Sums that do not wait for one another.
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
