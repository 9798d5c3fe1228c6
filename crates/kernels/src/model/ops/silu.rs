//! y = x σ(x), σ(x) = 1 / (1 + e^−x): the sigmoid linear unit.

use std::f32::consts::LOG2_E;

use crate::lanes::{Lane, leveled};

leveled!(
    /// Sets y to silu(x), and x to the slope σ(x) (1 + x (1 − σ(x))) there, for the backward.
    pub fn forward<const FUSED: bool>(x: &mut [Lane], y: &mut [Lane]) {
        // Two at a time: the compiler would interchange a loop over single lanes, to
        // vectors of one lane's numbers.
        let (mut x, mut y) = (x.chunks_exact_mut(2), y.chunks_exact_mut(2));
        for (x, y) in (&mut x).zip(&mut y) {
            for u in 0..2 {
                (x[u], y[u]) = slope_and_value::<FUSED>(x[u]);
            }
        }
        for (x, y) in x.into_remainder().iter_mut().zip(y.into_remainder()) {
            (*x, *y) = slope_and_value::<FUSED>(*x);
        }
    }
);

#[inline(always)]
fn slope_and_value<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let one = Lane::splat(1.0);
    let share = (one + (x * -LOG2_E).exp2_saturated::<FUSED>()).inverse();
    let y = x * share;
    (y.times_plus::<FUSED>(one - share, share), y)
}

leveled!(
    /// dx = dy · slope, in place.
    pub fn backward<const FUSED: bool>(slope: &[Lane], d: &mut [Lane]) {
        for (d, &slope) in d.iter_mut().zip(slope) {
            *d = *d * slope;
        }
    }
);
