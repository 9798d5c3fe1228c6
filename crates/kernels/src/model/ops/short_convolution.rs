//! y_i = Σ_{l<w} k_l ⊙ x_{i−l}: a short causal convolution of every column with a kernel of its own. What is before
//! row 0 counts as zero.
//!
//! Shapes: x, dx, y, dy [rows, columns], kernel and its gradient [w, columns]. Rows are all rows of a sequence.

use crate::lanes::cross_lane::add_sums;
use crate::lanes::{LANES, Lane, Level, leveled};

/// Sets y to the convolution of x.
pub fn forward(level: Level, kernel: &[f32], columns: usize, x: &[Lane], y: &mut [Lane]) {
    convolve::<false>(level, kernel, columns, x, y);
}

/// dx_j += Σ_l k_l ⊙ dy_{j+l}
pub fn input_backward(level: Level, kernel: &[f32], columns: usize, dy: &[Lane], dx: &mut [Lane]) {
    convolve::<true>(level, kernel, columns, dy, dx);
}

/// dk_l += Σ_i x_{i−l} ⊙ dy_i, summed over lanes.
pub fn add_kernel_gradient(
    level: Level,
    x: &[Lane],
    dy: &[Lane],
    columns: usize,
    d_kernel: &mut [f32],
) {
    for (l, d_tap) in d_kernel.chunks_exact_mut(columns).enumerate() {
        let used = x.len().saturating_sub(l * columns);
        let (x, dy) = (&x[..used], &dy[dy.len() - used..]);
        for (n, d_tap) in d_tap.chunks_mut(LANES).enumerate() {
            let mut sums = [Lane::ZERO; LANES];
            sum_products(level, x, dy, columns, n * LANES, &mut sums[..d_tap.len()]);
            add_sums(level, &sums, d_tap);
        }
    }
}

leveled!(
    /// Sets y to the convolution of x. Backward, rows meet those after them, and what comes of it is added.
    fn convolve<const FUSED: bool, const BACKWARD: bool>(
        kernel: &[f32],
        columns: usize,
        x: &[Lane],
        y: &mut [Lane],
    ) {
        for i in 0..y.len() / columns {
            along!(columns, |c| tile::<FUSED, BACKWARD>(
                kernel,
                columns,
                (i, c),
                x,
                y
            ));
        }
    }
);

/// Columns from `c` on of row i.
#[inline(always)]
fn tile<const FUSED: bool, const BACKWARD: bool, const C: usize>(
    kernel: &[f32],
    columns: usize,
    (i, c): (usize, usize),
    x: &[Lane],
    y: &mut [Lane],
) {
    let mut sums = [Lane::ZERO; C];
    let reach = if BACKWARD {
        y.len() / columns - i
    } else {
        i + 1
    };
    for (l, tap) in kernel.chunks_exact(columns).enumerate().take(reach) {
        let met = if BACKWARD { i + l } else { i - l };
        let (x, tap) = (&x[met * columns + c..][..C], &tap[c..][..C]);
        for s in 0..C {
            sums[s] = x[s].times_plus::<FUSED>(Lane::splat(tap[s]), sums[s]);
        }
    }
    let y = &mut y[i * columns + c..][..C];
    for s in 0..C {
        y[s] = if BACKWARD { y[s] + sums[s] } else { sums[s] };
    }
}

leveled!(
    /// Adds the sums over rows of the products of x and y, for the columns from `first` on.
    fn sum_products<const FUSED: bool>(
        x: &[Lane],
        y: &[Lane],
        columns: usize,
        first: usize,
        sums: &mut [Lane],
    ) {
        along!(sums.len(), |c| product_sums::<FUSED>(
            x,
            y,
            columns,
            first + c,
            &mut sums[c..]
        ));
    }
);

#[inline(always)]
fn product_sums<const FUSED: bool, const C: usize>(
    x: &[Lane],
    y: &[Lane],
    columns: usize,
    first: usize,
    out: &mut [Lane],
) {
    let mut sums = [Lane::ZERO; C];
    for (x, y) in x.chunks_exact(columns).zip(y.chunks_exact(columns)) {
        let (x, y) = (&x[first..][..C], &y[first..][..C]);
        for s in 0..C {
            sums[s] = x[s].times_plus::<FUSED>(y[s], sums[s]);
        }
    }
    for s in 0..C {
        out[s] += sums[s];
    }
}
