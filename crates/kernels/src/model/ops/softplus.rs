//! y = ln(1 + e^x): a positive number for every x.

use crate::lanes::{Lane, leveled};

leveled!(
    /// Sets y to softplus(x), and x to the slope 1 / (1 + e^−x) there, for the backward.
    pub fn forward<const FUSED: bool>(x: &mut [Lane], y: &mut [Lane]) {
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = slope_and_value::<FUSED>(*x);
        }
    }
);

#[inline(always)]
fn slope_and_value<const FUSED: bool>(x: Lane) -> (Lane, Lane) {
    let (one, positive) = (Lane::splat(1.0), x.is_positive());
    // With e = e^−|x| nothing overflows: y = max(x, 0) + ln(1 + e).
    let above = x * positive;
    let e = (x - above * 2.0).exp::<FUSED>();
    let sum = one + e;
    let share = sum.inverse();
    let slope = share.where_one(positive, e * share);
    // What rounding does to 1 + e, it does to the logarithm too: e over what is left of it there takes that out.
    let left = sum - one;
    let tail = sum.ln::<FUSED>() * e * left.inverse();
    (slope, above + tail.where_one(left.is_positive(), e))
}
