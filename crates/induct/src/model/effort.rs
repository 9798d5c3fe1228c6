//! How much arithmetic a model takes, and how much this machine can do.

use std::time::Instant;

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

/// Fused multiply-adds (or multiplications, each with an addition) a second that one core of this machine can do, as
/// measured: in registers, nothing loaded or stored.
pub fn peak_multiplications() -> f64 {
    const ROUNDS: usize = 200_000;
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let started = Instant::now();
        let sums = spin(
            Level::detect(),
            ROUNDS,
            std::hint::black_box(Lane::splat(0.5)),
        );
        std::hint::black_box(sums);
        best = best.min(started.elapsed().as_secs_f64());
    }
    (ROUNDS * SUMS * LANES) as f64 / best
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
