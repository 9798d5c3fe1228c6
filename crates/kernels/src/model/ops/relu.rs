//! y = max(x, 0): the rectified linear unit.

use crate::lanes::{Lane, leveled};

leveled!(
    /// Sets y to max(x, 0), and x to the slope there, 1 above zero and 0 elsewhere, for the backward.
    pub fn forward<const FUSED: bool>(x: &mut [Lane], y: &mut [Lane]) {
        for (x, y) in x.iter_mut().zip(y) {
            let slope = x.is_positive();
            // A maximum would turn NaN into 0, and hide that training has diverged.
            (*x, *y) = (slope, *x * slope);
        }
    }
);
