//! The minimal model: f(E) = mask(E W_k (M E)ᵀ) E, with M_ij = v_{i−j} (or its softmax over j ≤ i).
//!
//! In words: y_j = Σ_{s≤j} M_js z_s, with z_s = onehot(x_s), says what stood before position j; position p sums the symbols
//! x_j of all j ≤ p, each weighted by W_k[x_p] · y_j. With the running sum
//! S_p[c, i] = Σ_{j≤p} y_j[c] z_j[i] that is f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]: no t×t×t work.

use std::ops::Range;

use super::lane::{Lane, one_hot};
use super::layout::Layout;
use super::level::{Level, leveled};
use super::ops::convolution::{Planes, convolve, correlate, set_symbols};
use super::spec::{MinimalForm, MinimalSpec};
use crate::chain::LANES;

/// The minimal model's shape and the places of its parameters.
#[derive(Clone, Debug)]
pub struct Minimal {
    pub(super) states: usize,
    pub(super) length: usize,
    pub(super) form: MinimalForm,
    /// [k, k]
    pub(super) w_k: Range<usize>,
    /// `[t]`
    pub(super) v: Range<usize>,
    pub(super) layout: Layout,
}

impl Minimal {
    /// Lays out the parameters for k = `states` and t = `length`.
    pub fn new(spec: &MinimalSpec, states: usize, length: usize) -> Self {
        let mut layout = Layout::default();
        let w_k = layout.push("W_k".into(), &[states, states], true);
        let v = layout.push("v".into(), &[length], false);
        Self {
            states,
            length,
            form: spec.form,
            w_k,
            v,
            layout,
        }
    }

    /// Room for a forward and a backward over one block.
    pub fn work(&self) -> Work {
        let (t, k) = (self.length, self.states);
        let lanes = |size: usize| vec![Lane::ZERO; size];
        Work {
            weights: vec![0.0; t],
            kernel: Planes::new(t, k - 1, 0.0),
            z: lanes(t * k),
            others: Planes::new(t, k - 1, Lane::ZERO),
            convolved: Planes::new(t, k - 1, Lane::ZERO),
            y: lanes(t * k),
            counts: lanes(t * k * k),
            d_counts: lanes(k * k),
            dy: lanes(t * k),
            d_others: Planes::new(t, k - 1, Lane::ZERO),
        }
    }

    /// Writes the logits of every position into `logits` ([rows, k]).
    pub fn forward(
        &self,
        level: Level,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        one_hot(level, inputs, self.states, &mut work.z);
        let v = &params[self.v.clone()];
        match self.form {
            MinimalForm::Linear => self.sums_by_convolution(level, v, inputs, work),
            MinimalForm::Softmax => sums_by_softmax(level, self, v, inputs.len(), work),
        }
        count(level, self, params, inputs.len(), work, logits);
    }

    /// Adds the gradient of every parameter, by lane, given that of the logits of the last forward.
    pub fn backward(
        &self,
        level: Level,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (rows, v) = (inputs.len(), &params[self.v.clone()]);
        count_backward(level, self, params, rows, work, d_logits, grads);
        let d_v = &mut grads[self.v.clone()];
        match self.form {
            MinimalForm::Linear => self.convolution_backward(level, rows, work, d_v),
            MinimalForm::Softmax => softmax_backward(level, self, v, rows, work, d_v),
        }
    }

    /// y_j[c] = Σ_{s≤j} M_js z_s[c], with M_j = softmax(v).
    #[inline(always)]
    fn sums_by_softmax_any<const FUSED: bool>(&self, v: &[f32], rows: usize, work: &mut Work) {
        let k = self.states;
        for j in 0..rows {
            softmax(&v[..=j], &mut work.weights);
            let y = &mut work.y[j * k..][..k];
            y.fill(Lane::ZERO);
            let weights = work.weights[..=j].iter().rev();
            for (z, &weight) in work.z.chunks_exact(k).zip(weights) {
                for c in 0..k {
                    y[c] = z[c].times_plus::<FUSED>(Lane::splat(weight), y[c]);
                }
            }
        }
    }

    /// S_p[c, i] = S_{p−1}[c, i] + y_p[c] z_p[i], then f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]
    #[inline(always)]
    fn count_any<const FUSED: bool>(
        &self,
        params: &[f32],
        rows: usize,
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        let (k, w_k) = (self.states, &params[self.w_k.clone()]);
        for p in 0..rows {
            if p > 0 {
                work.counts
                    .copy_within((p - 1) * k * k..p * k * k, p * k * k);
            } else {
                work.counts[..k * k].fill(Lane::ZERO);
            }
            let counts = &mut work.counts[p * k * k..][..k * k];
            let (z, y) = (&work.z[p * k..][..k], &work.y[p * k..][..k]);
            let f = &mut logits[p * k..][..k];
            f.fill(Lane::ZERO);
            for (c, row) in counts.chunks_exact_mut(k).enumerate() {
                let weight = chosen::<FUSED>(z, w_k, c);
                for i in 0..k {
                    row[i] = y[c].times_plus::<FUSED>(z[i], row[i]);
                    f[i] = weight.times_plus::<FUSED>(row[i], f[i]);
                }
            }
        }
    }

    /// y_j[c] = Σ_{s≤j} v_{j−s} z_s[c] is a convolution. All c together give the running sum of v, so that symbol 0 needs none
    /// of its own.
    fn sums_by_convolution(
        &self,
        level: Level,
        v: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
    ) {
        let (k, m) = (self.states, self.states - 1);
        for r in 0..m {
            work.kernel.column_mut(r).copy_from_slice(v);
        }
        set_symbols(inputs, 1, &mut work.others);
        let (kernel, others) = (&work.kernel, &work.others);
        convolve(level, kernel, others, inputs.len(), &mut work.convolved);
        let mut total = 0.0;
        for (j, (y, &weight)) in work
            .y
            .chunks_exact_mut(k)
            .zip(v)
            .take(inputs.len())
            .enumerate()
        {
            total += weight;
            y[0] = Lane::splat(total);
            for r in 0..m {
                y[1 + r] = work.convolved.column(r)[j];
                y[0] = y[0] - y[1 + r];
            }
        }
    }

    /// f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]  ⟹  dW_k[x_p, c] += Σ_i g[i] S_p[c, i], dS_p[c, i] = W_k[x_p, c] g[i]
    #[inline(always)]
    fn count_backward_any<const FUSED: bool>(
        &self,
        params: &[f32],
        rows: usize,
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (k, w_k) = (self.states, &params[self.w_k.clone()]);
        work.d_counts.fill(Lane::ZERO);
        for p in (0..rows).rev() {
            let g = &d_logits[p * k..][..k];
            let (z, dy) = (&work.z[p * k..][..k], &mut work.dy[p * k..][..k]);
            let d_w_k = &mut grads[self.w_k.clone()];
            let counts = work.counts[p * k * k..][..k * k].chunks_exact(k);
            for (c, (row, d_row)) in counts.zip(work.d_counts.chunks_exact_mut(k)).enumerate() {
                let weight = chosen::<FUSED>(z, w_k, c);
                let (mut through_w, mut through_y) = (Lane::ZERO, Lane::ZERO);
                for i in 0..k {
                    through_w = g[i].times_plus::<FUSED>(row[i], through_w);
                    d_row[i] = weight.times_plus::<FUSED>(g[i], d_row[i]);
                    // S_q[c, x_p] holds y_p[c] for every q ≥ p, and d_counts is their sum
                    through_y = z[i].times_plus::<FUSED>(d_row[i], through_y);
                }
                for a in 0..k {
                    d_w_k[a * k + c] = z[a].times_plus::<FUSED>(through_w, d_w_k[a * k + c]);
                }
                dy[c] = through_y;
            }
        }
    }

    /// y_p[c] = Σ_s v_{p−s} z_s[c]  ⟹  dv_δ = Σ_p dy_p · z_{p−δ}: a correlation, where z_s[0] = 1 − Σ_c≥1 z_s[c].
    fn convolution_backward(&self, level: Level, rows: usize, work: &mut Work, d_v: &mut [Lane]) {
        let (k, m) = (self.states, self.states - 1);
        let mut below = Lane::ZERO;
        for (p, dy) in work.dy.chunks_exact(k).take(rows).enumerate().rev() {
            below += dy[0];
            d_v[p] += below;
            for r in 0..m {
                work.d_others.column_mut(r)[p] = dy[1 + r] - dy[0];
            }
        }
        work.d_others.end_after(rows, Lane::ZERO);
        let (d_others, others) = (&work.d_others, &work.others);
        correlate(level, d_others, others, rows, &mut work.convolved);
        for r in 0..m {
            for (d_v, &sum) in d_v.iter_mut().zip(work.convolved.column(r)).take(rows) {
                *d_v += sum;
            }
        }
    }

    /// M_p = softmax(v)  ⟹  dv_{p−s} += M_ps (dM_ps − Σ_l M_pl dM_pl), with dM_ps = dy_p · z_s, and the sum is dy_p · y_p
    #[inline(always)]
    fn softmax_backward_any<const FUSED: bool>(
        &self,
        v: &[f32],
        rows: usize,
        work: &mut Work,
        d_v: &mut [Lane],
    ) {
        let k = self.states;
        for p in 0..rows {
            softmax(&v[..=p], &mut work.weights);
            let (y, dy) = (&work.y[p * k..][..k], &work.dy[p * k..][..k]);
            let mut below_centre = Lane::ZERO;
            for c in 0..k {
                below_centre = below_centre - dy[c] * y[c];
            }
            let lags = d_v[..=p].iter_mut().zip(&work.weights).rev();
            for ((d_v, &weight), z) in lags.zip(work.z.chunks_exact(k)) {
                let mut d_m = below_centre;
                for c in 0..k {
                    d_m = z[c].times_plus::<FUSED>(dy[c], d_m);
                }
                *d_v = d_m.times_plus::<FUSED>(Lane::splat(weight), *d_v);
            }
        }
    }
}

/// W_k[x_p, c], by lane.
#[inline(always)]
fn chosen<const FUSED: bool>(z: &[Lane], w_k: &[f32], c: usize) -> Lane {
    let mut weight = Lane::ZERO;
    for (&z, row) in z.iter().zip(w_k.chunks_exact(z.len())) {
        weight = z.times_plus::<FUSED>(Lane::splat(row[c]), weight);
    }
    weight
}

/// Writes one row of M, by lag: the softmax of v.
#[inline(always)]
fn softmax(v: &[f32], row: &mut [f32]) {
    let row = &mut row[..v.len()];
    let largest = v.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for (weight, &v) in row.iter_mut().zip(v) {
        *weight = libm::expf(v - largest);
    }
    let sum: f32 = row.iter().sum();
    for weight in row {
        *weight /= sum;
    }
}

leveled!(fn sums_by_softmax(shape: &Minimal, v: &[f32], rows: usize, work: &mut Work) =
    Minimal::sums_by_softmax_any);

leveled!(
    fn count(
        shape: &Minimal,
        params: &[f32],
        rows: usize,
        work: &mut Work,
        logits: &mut [Lane],
    ) = Minimal::count_any
);

leveled!(
    fn count_backward(
        shape: &Minimal,
        params: &[f32],
        rows: usize,
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) = Minimal::count_backward_any
);

leveled!(
    fn softmax_backward(
        shape: &Minimal,
        v: &[f32],
        rows: usize,
        work: &mut Work,
        d_v: &mut [Lane],
    ) = Minimal::softmax_backward_any
);

/// Activations of one block, kept from the forward for the backward.
#[derive(Clone, Debug)]
pub struct Work {
    /// One row of M, by lag, `[t]`
    weights: Vec<f32>,
    /// v, once for every symbol but the first: k − 1 planes of t
    kernel: Planes<f32>,
    /// One-hot symbols, [t, k], and the same without the first: k − 1 planes of t
    z: Vec<Lane>,
    others: Planes<Lane>,
    /// k − 1 planes of t
    convolved: Planes<Lane>,
    /// [t, k]
    y: Vec<Lane>,
    /// S, [t, k, k]
    counts: Vec<Lane>,
    /// [k, k]
    d_counts: Vec<Lane>,
    /// [t, k]
    dy: Vec<Lane>,
    /// k − 1 planes of t
    d_others: Planes<Lane>,
}
