//! The minimal model: f(E) = mask(E W_k (M E)ᵀ) E, with M_ij = v_{i−j} (or its softmax over j ≤ i).
//!
//! In words: y_j = Σ_{s≤j} M_js z_s, with z_s = onehot(x_s), says what stood before position j; position p sums the symbols
//! x_j of all j ≤ p, each weighted by W_k[x_p] · y_j. With the running sum
//! S_p[c, i] = Σ_{j≤p} y_j[c] z_j[i] that is f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]: no t×t×t work.

use std::ops::Range;

use super::lane::Lane;
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
            others: Planes::new(t, k - 1, Lane::ZERO),
            sums: Planes::new(t, k - 1, Lane::ZERO),
            z: lanes(k),
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
        let (rows, v) = (inputs.len(), &params[self.v.clone()]);
        set_symbols(inputs, 1, &mut work.others);
        match self.form {
            MinimalForm::Linear => {
                for r in 0..self.states - 1 {
                    work.kernel.column_mut(r).copy_from_slice(v);
                }
                convolve(level, &work.kernel, &work.others, rows, &mut work.sums);
            }
            MinimalForm::Softmax => sums_by_softmax(level, self, v, rows, work),
        }
        match self.states {
            2 => count::<2>(level, self, params, rows, work, logits),
            3 => count::<3>(level, self, params, rows, work, logits),
            _ => count::<ANY>(level, self, params, rows, work, logits),
        }
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
        match self.states {
            2 => count_backward::<2>(level, self, params, rows, work, d_logits, grads),
            3 => count_backward::<3>(level, self, params, rows, work, d_logits, grads),
            _ => count_backward::<ANY>(level, self, params, rows, work, d_logits, grads),
        }
        let d_v = &mut grads[self.v.clone()];
        match self.form {
            MinimalForm::Linear => self.convolution_backward(level, rows, work, d_v),
            MinimalForm::Softmax => softmax_backward(level, self, v, rows, work, d_v),
        }
    }

    /// The k of a loop: K, which the compiler knows, or, if that is [`ANY`], what it is.
    #[inline(always)]
    fn k<const K: usize>(&self) -> usize {
        if K == ANY { self.states } else { K }
    }

    /// Σ_{s≤j} M_js z_s[c], with M_j = softmax(v), for every symbol c but the first.
    #[inline(always)]
    fn sums_by_softmax_any<const FUSED: bool>(&self, v: &[f32], rows: usize, work: &mut Work) {
        for j in 0..rows {
            softmax(&v[..=j], &mut work.weights);
            for r in 0..self.states - 1 {
                let mut sum = Lane::ZERO;
                let weights = work.weights[..=j].iter().rev();
                for (z, &weight) in work.others.column(r).iter().zip(weights) {
                    sum = z.times_plus::<FUSED>(Lane::splat(weight), sum);
                }
                work.sums.column_mut(r)[j] = sum;
            }
        }
    }

    /// S_p[c, i] = S_{p−1}[c, i] + y_p[c] z_p[i], then f_p[i] = Σ_c W_k[x_p, c] S_p[c, i].
    ///
    /// All y_p[c] together are the sum of row p of M, so that symbol 0 needs no sums of its own.
    #[inline(always)]
    fn count_any<const FUSED: bool, const K: usize>(
        &self,
        params: &[f32],
        rows: usize,
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        let (k, w_k, v) = (
            self.k::<K>(),
            &params[self.w_k.clone()],
            &params[self.v.clone()],
        );
        let Work {
            others,
            sums,
            z,
            y,
            counts,
            d_counts: running,
            ..
        } = work;
        let (z, running) = (&mut z[..k], &mut running[..k * k]);
        running.fill(Lane::ZERO);
        let mut total = 0.0;
        for (p, f) in logits.chunks_exact_mut(k).take(rows).enumerate() {
            total = match self.form {
                MinimalForm::Linear => total + v[p],
                MinimalForm::Softmax => 1.0,
            };
            symbols_at(others, p, z);
            let y = &mut y[p * k..][..k];
            y[0] = Lane::splat(total);
            for c in 1..k {
                y[c] = sums.column(c - 1)[p];
                y[0] = y[0] - y[c];
            }
            f.fill(Lane::ZERO);
            for c in 0..k {
                let weight = chosen::<FUSED>(z, w_k, c);
                for i in 0..k {
                    let count = &mut running[c * k + i];
                    *count = y[c].times_plus::<FUSED>(z[i], *count);
                    f[i] = weight.times_plus::<FUSED>(*count, f[i]);
                }
            }
            counts[p * k * k..][..k * k].copy_from_slice(running);
        }
    }

    /// f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]  ⟹  dW_k[x_p, c] += Σ_i g[i] S_p[c, i], dS_p[c, i] = W_k[x_p, c] g[i]
    #[inline(always)]
    fn count_backward_any<const FUSED: bool, const K: usize>(
        &self,
        params: &[f32],
        rows: usize,
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (k, w_k) = (self.k::<K>(), &params[self.w_k.clone()]);
        let Work {
            others,
            z,
            counts,
            d_counts,
            dy,
            ..
        } = work;
        let (z, d_counts) = (&mut z[..k], &mut d_counts[..k * k]);
        let d_w_k = &mut grads[self.w_k.clone()][..k * k];
        d_counts.fill(Lane::ZERO);
        for p in (0..rows).rev() {
            let g = &d_logits[p * k..][..k];
            symbols_at(others, p, z);
            let (counts, dy) = (&counts[p * k * k..][..k * k], &mut dy[p * k..][..k]);
            for c in 0..k {
                let weight = chosen::<FUSED>(z, w_k, c);
                let (mut through_w, mut through_y) = (Lane::ZERO, Lane::ZERO);
                for i in 0..k {
                    let d_count = &mut d_counts[c * k + i];
                    through_w = g[i].times_plus::<FUSED>(counts[c * k + i], through_w);
                    *d_count = weight.times_plus::<FUSED>(g[i], *d_count);
                    // S_q[c, x_p] holds y_p[c] for every q ≥ p, and d_counts is their sum
                    through_y = z[i].times_plus::<FUSED>(*d_count, through_y);
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
        correlate(level, d_others, others, rows, &mut work.sums);
        for r in 0..m {
            for (d_v, &sum) in d_v.iter_mut().zip(work.sums.column(r)).take(rows) {
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
            for (s, (d_v, &weight)) in lags.enumerate() {
                symbols_at(&work.others, s, &mut work.z);
                let mut d_m = below_centre;
                for (&z, &dy) in work.z.iter().zip(dy) {
                    d_m = z.times_plus::<FUSED>(dy, d_m);
                }
                *d_v = d_m.times_plus::<FUSED>(Lane::splat(weight), *d_v);
            }
        }
    }
}

/// Says that k is not known to the compiler.
const ANY: usize = 0;

/// One-hot symbols of position p, `[k]`.
#[inline(always)]
fn symbols_at(others: &Planes<Lane>, p: usize, z: &mut [Lane]) {
    z[0] = Lane::splat(1.0);
    for c in 1..z.len() {
        z[c] = others.column(c - 1)[p];
        z[0] = z[0] - z[c];
    }
}

/// W_k[x_p, c], by lane.
#[inline(always)]
fn chosen<const FUSED: bool>(z: &[Lane], w_k: &[f32], c: usize) -> Lane {
    let mut weight = Lane::ZERO;
    for a in 0..z.len() {
        weight = z[a].times_plus::<FUSED>(Lane::splat(w_k[a * z.len() + c]), weight);
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
    fn count[K: usize](
        shape: &Minimal,
        params: &[f32],
        rows: usize,
        work: &mut Work,
        logits: &mut [Lane],
    ) = Minimal::count_any
);

leveled!(
    fn count_backward[K: usize](
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
    /// Indicators of every symbol but the first, and what M sums of them: k − 1 planes of t
    others: Planes<Lane>,
    sums: Planes<Lane>,
    /// One-hot symbols of one position, `[k]`
    z: Vec<Lane>,
    /// [t, k]
    y: Vec<Lane>,
    /// S, [t, k, k]
    counts: Vec<Lane>,
    /// [k, k]; the forward's running S
    d_counts: Vec<Lane>,
    /// [t, k]
    dy: Vec<Lane>,
    /// k − 1 planes of t
    d_others: Planes<Lane>,
}
