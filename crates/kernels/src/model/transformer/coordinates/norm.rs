//! Layer norm of a position in coordinates.
//!
//! Let the stream be h_i = Y_i A with Y_i = (1, y_i), and Ã be A with every row centred over the d features.
//! The variance of h_i is then a quadratic form in Y_i,
//!
//! > σ_i² = Y_i S Y_iᵀ + ε,   S = Ã Ãᵀ / d,
//!
//! and n_i = b + h̃_i / σ_i ∘ g = b + z_i (Ã ∘ g) with z_i = Y_i / σ_i: one coordinate more than y_i.
//!
//! S is symmetric. Its table holds the coefficients C_rs of Y_r Y_s for r ≤ s, row by row: S_rr, or 2 S_rs.

use std::ops::Range;

use crate::lanes::{Lane, leveled};
use crate::model::ops::layer_norm::EPSILON;
use crate::scratch::Allocator;

/// Activations of a norm, and gradients of what it gives.
#[derive(Clone, Debug)]
pub(super) struct NormScratch {
    /// [t, 1 + m]
    pub z: Vec<Lane>,
    pub dz: Vec<Lane>,
    /// 1/σ, `[t]`
    inverse: Vec<Lane>,
}

impl NormScratch {
    /// Buffers for t = `length` and the 1 + m = `read` coordinates of z.
    pub fn new(read: usize, length: usize, buffers: &mut Allocator) -> Self {
        Self {
            z: buffers.lanes([length, read]),
            dz: buffers.lanes([length, read]),
            inverse: buffers.lanes([length]),
        }
    }
}

leveled!(
    /// Computes z of some rows of y ([t, m]), given the norm's table.
    pub(super) fn forward<const FUSED: bool>(
        form: &[f32],
        m: usize,
        y: &[Lane],
        rows: Range<usize>,
        work: &mut NormScratch,
    ) {
        let (first, squares) = form.split_at(1 + m);
        for i in rows {
            let y = &y[i * m..][..m];
            let mut variance = Lane::splat(first[0]);
            for s in 0..m {
                variance = y[s].times_plus::<FUSED>(Lane::splat(first[1 + s]), variance);
            }
            let mut at = 0;
            for r in 0..m {
                let mut sum = Lane::ZERO;
                for s in r..m {
                    sum = y[s].times_plus::<FUSED>(Lane::splat(squares[at]), sum);
                    at += 1;
                }
                variance = sum.times_plus::<FUSED>(y[r], variance);
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

leveled!(
    /// Adds the gradient of y ([t, m]) and of the table, by lane, given that of z.
    ///
    /// - z = Y / σ  ⟹  dY += dz / σ,  dσ² = −½ (dz · Y) / σ³
    /// - σ² = Σ_r≤s C_rs Y_r Y_s + ε  ⟹  dC_rs += dσ² Y_r Y_s,  dY_r += dσ² C_rs Y_s,  dY_s += dσ² C_rs Y_r
    pub(super) fn backward<const FUSED: bool>(
        form: &[f32],
        m: usize,
        y: &[Lane],
        rows: Range<usize>,
        work: &NormScratch,
        dy: &mut [Lane],
        d_form: &mut [Lane],
    ) {
        let (first, squares) = form.split_at(1 + m);
        let (d_first, d_squares) = d_form.split_at_mut(1 + m);
        for i in rows {
            let (y, dz) = (&y[i * m..][..m], &work.dz[i * (1 + m)..][..1 + m]);
            let (dy, inverse) = (&mut dy[i * m..][..m], work.inverse[i]);
            let mut along = dz[0];
            for s in 0..m {
                along = dz[1 + s].times_plus::<FUSED>(y[s], along);
            }
            let d_variance = along * (inverse * inverse * inverse) * -0.5;
            d_first[0] += d_variance;
            for s in 0..m {
                let through = d_variance * first[1 + s];
                dy[s] = dz[1 + s].times_plus::<FUSED>(inverse, dy[s] + through);
                d_first[1 + s] = y[s].times_plus::<FUSED>(d_variance, d_first[1 + s]);
            }
            let mut at = 0;
            for r in 0..m {
                let slope_r = y[r] * d_variance;
                let mut sum = Lane::ZERO;
                for s in r..m {
                    let factor = Lane::splat(squares[at]);
                    d_squares[at] = slope_r.times_plus::<FUSED>(y[s], d_squares[at]);
                    dy[s] = slope_r.times_plus::<FUSED>(factor, dy[s]);
                    sum = y[s].times_plus::<FUSED>(factor, sum);
                    at += 1;
                }
                dy[r] = sum.times_plus::<FUSED>(d_variance, dy[r]);
            }
        }
    }
);
