//! Uniform draws from the Birkhoff polytope: the doubly stochastic k×k tables.
//!
//! There are two methods, which agree where both are quick (a test compares their moments):
//!
//! - *Rejection.* Draw the first k−1 rows uniformly from the simplex; the last row is what the columns
//!   still lack. It sums to one automatically; accept if none of its entries is negative. The density on
//!   the free coordinates is constant, so accepted tables are uniform. Acceptance falls quickly: 1, 1/2,
//!   0.21, 0.075, 0.024 for k = 2 … 6.
//! - *Hit-and-run* along rectangles: pick two rows and two columns, and shift mass around the rectangle's
//!   corners by an amount uniform over what keeps all four corners non-negative. Row and column sums never
//!   change, and the uniform law is the only one left invariant.

use rand_core::Rng;
use rand_distr::{Distribution, Exp1};

use crate::chain::{Generator, open_unit};

/// The largest k for which rejection is used: it needs fewer than 15 tries on average.
const REJECTION_UP_TO: usize = 5;

/// Rectangle moves per cell of the table, starting from the centre of the polytope. Four times as many change
/// no moment beyond sampling error (tested for k = 8).
const MOVES_PER_CELL: usize = 32;

/// Fills `table` ([k, k]) with a uniform doubly stochastic matrix.
pub(super) fn draw(rng: &mut Generator, states: usize, table: &mut [f64]) {
    if states <= REJECTION_UP_TO {
        reject(rng, states, table);
    } else {
        hit_and_run(rng, states, table, MOVES_PER_CELL);
    }
}

fn reject(rng: &mut Generator, states: usize, table: &mut [f64]) {
    loop {
        let (rows, last) = table.split_at_mut((states - 1) * states);
        last.fill(1.0);
        for row in rows.chunks_exact_mut(states) {
            for entry in row.iter_mut() {
                *entry = Exp1.sample(rng);
            }
            let sum: f64 = row.iter().sum();
            for (entry, lacking) in row.iter_mut().zip(last.iter_mut()) {
                *entry /= sum;
                *lacking -= *entry;
            }
        }
        if last.iter().all(|&entry| entry >= 0.0) {
            return;
        }
    }
}

fn hit_and_run(rng: &mut Generator, states: usize, table: &mut [f64], moves_per_cell: usize) {
    table.fill(1.0 / states as f64);
    for _ in 0..moves_per_cell * states * states {
        for (corner, value) in rectangle_move(rng, states, table) {
            table[corner] = value;
        }
    }
    // Thousands of roundings leave row sums off by about 1e-15, and a row must be a distribution.
    for row in table.chunks_exact_mut(states) {
        let sum: f64 = row.iter().sum();
        for entry in row {
            *entry /= sum;
        }
    }
}

/// One rectangle move: the four corners and what they would become, in the order + + − −.
pub(crate) fn rectangle_move(
    rng: &mut Generator,
    states: usize,
    table: &[f64],
) -> [(usize, f64); 4] {
    let (top, bottom) = distinct_pair(rng, states);
    let (left, right) = distinct_pair(rng, states);
    let corners = [
        top * states + left,
        bottom * states + right,
        top * states + right,
        bottom * states + left,
    ];
    let room = |a: usize, b: usize| table[a].min(table[b]);
    let (low, high) = (-room(corners[0], corners[1]), room(corners[2], corners[3]));
    let shift = low + (high - low) * open_unit(rng);
    // Rounding may end an ulp below zero.
    let moved = |corner: usize, by: f64| (corner, f64::max(0.0, table[corner] + by));
    [
        moved(corners[0], shift),
        moved(corners[1], shift),
        moved(corners[2], -shift),
        moved(corners[3], -shift),
    ]
}

/// Two different indices below `count`, uniform over ordered pairs (up to 2⁻³² per pair).
fn distinct_pair(rng: &mut Generator, count: usize) -> (usize, usize) {
    let mut below = |n: usize| ((u64::from(rng.next_u32()) * n as u64) >> 32) as usize;
    let first = below(count);
    let other = below(count - 1);
    (first, if other < first { other } else { other + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Purpose, address};
    use crate::probe::{Estimate, Moments};

    /// Means of P₀₀², P₀₀P₁₁ and P₀₀³ over `draws` tables, with standard errors.
    fn moments(
        draws: u64,
        states: usize,
        draw: impl Fn(&mut Generator, &mut [f64]),
    ) -> [Estimate; 3] {
        let mut sums = [Moments::default(); 3];
        let mut table = vec![0.0; states * states];
        let address = address(Purpose::Particles, 11, states as u64);
        for index in 0..draws {
            draw(&mut address.generator(index), &mut table);
            let (first, second) = (table[0], table[states + 1]);
            let values = [first * first, first * second, first.powi(3)];
            for (sum, value) in sums.iter_mut().zip(values) {
                sum.push(value);
            }
        }
        sums.map(|sum| sum.estimate())
    }

    fn assert_alike(ours: [Estimate; 3], others: [Estimate; 3]) {
        for (a, b) in ours.iter().zip(&others) {
            let error = a.se.hypot(b.se);
            assert!((a.mean - b.mean).abs() < 4.0 * error, "{a:?} {b:?}");
        }
    }

    #[test]
    fn rejection_and_hit_and_run_agree_in_moments() {
        for (states, draws) in [(3, 5_000), (4, 5_000), (5, 4_000)] {
            let rejected = moments(draws, states, |rng, table| reject(rng, states, table));
            let walked = moments(draws, states, |rng, table| {
                hit_and_run(rng, states, table, MOVES_PER_CELL);
            });
            assert_alike(rejected, walked);
        }
    }

    #[test]
    fn more_moves_change_nothing_beyond_rejection() {
        let short = moments(1_000, 8, |rng, table| {
            hit_and_run(rng, 8, table, MOVES_PER_CELL)
        });
        let long = moments(1_000, 8, |rng, table| {
            hit_and_run(rng, 8, table, 4 * MOVES_PER_CELL);
        });
        assert_alike(short, long);
    }

    #[test]
    fn two_states_are_uniform_on_the_diagonal() {
        let [second_moment, ..] = moments(20_000, 2, |rng, table| draw(rng, 2, table));
        assert!((second_moment.mean - 1.0 / 3.0).abs() < 4.0 * second_moment.se);
    }
}
