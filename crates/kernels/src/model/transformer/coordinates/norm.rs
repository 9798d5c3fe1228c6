//! Layer norm of a position in coordinates.
//!
//! Let the stream be h_i = Y_i A with Y_i = (1, y_i), and Ã be A with every row centred over the d features.
//! The variance of h_i is then a quadratic form in Y_i,
//!
//! > σ_i² = Y_i S Y_iᵀ + ε,   S = Ã Ãᵀ / d,
//!
//! and n_i = b + h̃_i / σ_i ∘ g = b + z_i (Ã ∘ g) with z_i = Y_i / σ_i: one coordinate more than y_i.
//!
//! S is a table, [1 + m, 1 + m], through which the rows u_i = Y_i S go like any other affine map.

use std::ops::Range;

use super::rows::{affine, affine_backward};
use crate::lanes::{Lane, Level, leveled};
use crate::model::ops::layer_norm::EPSILON;
use crate::scratch::Allocator;

/// Activations of a norm, and gradients of what it gives.
#[derive(Clone, Debug)]
pub(super) struct NormScratch {
    /// [t, 1 + m]
    pub z: Vec<Lane>,
    pub dz: Vec<Lane>,
    /// Y S and, after its backward, the gradient of that: [t, 1 + m]
    u: Vec<Lane>,
    /// 1/σ, `[t]`
    inverse: Vec<Lane>,
}

impl NormScratch {
    /// Buffers for t = `length` and the 1 + m = `read` coordinates of z.
    pub fn new(read: usize, length: usize, buffers: &mut Allocator) -> Self {
        Self {
            z: buffers.lanes([length, read]),
            dz: buffers.lanes([length, read]),
            u: buffers.lanes([length, read]),
            inverse: buffers.lanes([length]),
        }
    }
}

/// Computes z of some rows of y ([t, m]), given the norm's table.
pub(super) fn forward(
    level: Level,
    form: &[f32],
    m: usize,
    y: &[Lane],
    rows: Range<usize>,
    work: &mut NormScratch,
) {
    let y = &y[rows.start * m..rows.end * m];
    let u = &mut work.u[rows.start * (1 + m)..rows.end * (1 + m)];
    affine(level, y, form, (m, 1 + m), u);
    divide(level, m, y, rows, work);
}

leveled!(
    /// z = Y / σ, σ² = u · Y + ε
    fn divide<const FUSED: bool>(m: usize, y: &[Lane], rows: Range<usize>, work: &mut NormScratch) {
        for (i, y) in rows.zip(y.chunks_exact(m)) {
            let u = &work.u[i * (1 + m)..][..1 + m];
            let mut variance = u[0];
            for s in 0..m {
                variance = y[s].times_plus::<FUSED>(u[1 + s], variance);
            }
            // Where all features are equal, rounding may have left less than nothing.
            let epsilon = Lane::splat(EPSILON as f32);
            let inverse = epsilon.larger(variance + epsilon).inverse_root();
            work.inverse[i] = inverse;
            let z = &mut work.z[i * (1 + m)..][..1 + m];
            z[0] = inverse;
            for s in 0..m {
                z[1 + s] = y[s] * inverse;
            }
        }
    }
);

/// Adds the gradient of y ([t, m]) and of the table, by lane, given that of z.
#[expect(clippy::too_many_arguments, reason = "each is a buffer of its own")]
pub(super) fn backward(
    level: Level,
    form: &[f32],
    m: usize,
    y: &[Lane],
    rows: Range<usize>,
    work: &mut NormScratch,
    dy: &mut [Lane],
    d_form: &mut [Lane],
) {
    let part = rows.start * m..rows.end * m;
    let (y, dy) = (&y[part.clone()], &mut dy[part]);
    divide_backward(level, m, y, rows.clone(), work, dy);
    let du = &work.u[rows.start * (1 + m)..rows.end * (1 + m)];
    affine_backward(level, y, form, (m, 1 + m), 0, du, dy, d_form);
}

leveled!(
    /// - z = Y / σ       ⟹  dY += dz / σ,  dσ² = −½ (dz · Y) / σ³
    /// - σ² = u · Y + ε  ⟹  dY += dσ² u,  du = dσ² Y, which takes the place of u
    fn divide_backward<const FUSED: bool>(
        m: usize,
        y: &[Lane],
        rows: Range<usize>,
        work: &mut NormScratch,
        dy: &mut [Lane],
    ) {
        for (i, (y, dy)) in rows.zip(y.chunks_exact(m).zip(dy.chunks_exact_mut(m))) {
            let (dz, inverse) = (&work.dz[i * (1 + m)..][..1 + m], work.inverse[i]);
            let u = &mut work.u[i * (1 + m)..][..1 + m];
            let mut along = dz[0];
            for s in 0..m {
                along = dz[1 + s].times_plus::<FUSED>(y[s], along);
            }
            let d_variance = along * (inverse * inverse * inverse) * -0.5;
            u[0] = d_variance;
            for s in 0..m {
                let through = u[1 + s].times_plus::<FUSED>(d_variance, dy[s]);
                dy[s] = dz[1 + s].times_plus::<FUSED>(inverse, through);
                u[1 + s] = y[s] * d_variance;
            }
        }
    }
);
