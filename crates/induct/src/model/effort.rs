//! How much arithmetic a model takes, and how much this machine can do.

use std::time::Instant;

use super::transformer::{First, Transformer};
use super::{Kind, Model};
use crate::lanes::{LANES, Lane, Level, leveled};

/// Multiplications and additions of a fused exponential, beside those of a score.
const EXPONENTIAL: usize = 7;

impl Model {
    /// Multiplications (each with an addition, where one follows) that the gradient of one sequence takes, counted from the
    /// formulas of the path that computes it: those of pairs of positions and of matrix products. An upper count: gradients of
    /// data and a second pass of the last layer's scores are in it, though nobody computes them.
    pub fn multiplications(&self) -> f64 {
        let (t, k) = (self.length(), self.states());
        let pairs = t * (t + 1) / 2;
        let count = match (&self.kind, &self.coordinates) {
            (Kind::Minimal(_), _) => 2 * (k - 1) * pairs + 7 * k * k * t,
            (Kind::Transformer(_), Some(plan)) => {
                let mut count = 0;
                for (l, (m, heads)) in plan.sizes().enumerate() {
                    // A score and an average forward; a slope, and shares for row, key (two) and lag backward.
                    let forward = 2 * m + EXPONENTIAL;
                    let again = if l == 0 || l + 1 == plan.sizes().count() {
                        0
                    } else {
                        forward
                    };
                    let attention = match l {
                        0 => 2 * k,
                        _ => forward + again + 5 * m + 1,
                    };
                    let last = m * (1 + heads);
                    count += heads * (attention * pairs + 3 * m * m * t) + 3 * last * k * t;
                }
                count
            }
            (Kind::Transformer(shape), None) => residual(shape, pairs),
        };
        count as f64
    }
}

fn residual(shape: &Transformer, pairs: usize) -> usize {
    let (d, k, t) = (shape.width, shape.states, shape.length);
    let positional = usize::from(shape.layers[0].v.is_some());
    let mut count = 3 * d * k * t;
    for (l, layer) in shape.layers.iter().enumerate() {
        let (attention, matrices) = match &shape.first {
            // Weight, average, slope and share of the value; shares of the tables.
            First::Placed(_) if l == 0 => (3 * d + (4 * k + 1) * layer.heads, 0),
            First::Coordinates(_) if l == 0 => (2 * k * layer.heads, 0),
            // Scores twice, average, slope, and shares for query, key and value; for positions, two more.
            _ => ((7 + 2 * positional) * d + 2 * EXPONENTIAL * layer.heads, 3),
        };
        let mixes = usize::from(layer.w_o.is_some());
        let mlp = if layer.mlp.is_some() { 2 * 4 } else { 0 };
        count += attention * pairs + 3 * (matrices + mixes + mlp) * d * d * t;
    }
    count
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
