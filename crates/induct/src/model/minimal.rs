//! The minimal model: f(E) = mask(E W_k (M E)ᵀ) E, with M_ij = v_{i−j} (or its softmax over j ≤ i).
//!
//! In words: y_j = Σ_{s≤j} M_js onehot(x_s) says what stood before position j; position p sums the symbols
//! x_j of all j ≤ p, each weighted by W_k[x_p] · y_j. With the running sum
//! S_p[c, i] = Σ_{j≤p} y_j[c] 1{x_j = i} that is f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]: no t×t×t work.

use std::ops::Range;

use super::lane::Lane;
use super::layout::Layout;
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
        Work {
            weights: vec![0.0; t],
            sums: vec![Lane::ZERO; t * k],
            counts: vec![Lane::ZERO; t * k * k],
            d_counts: vec![Lane::ZERO; k * k],
            d_sums: vec![Lane::ZERO; k],
        }
    }

    /// Writes the logits of every position into `logits` ([rows, k]).
    pub fn forward(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        let (rows, k) = (inputs.len(), self.states);
        let (w_k, v) = (&params[self.w_k.clone()], &params[self.v.clone()]);
        // y_j[c] = Σ_{s≤j} M_js 1{x_s = c}
        for j in 0..rows {
            self.lag_weights(&v[..=j], &mut work.weights);
            let y = &mut work.sums[j * k..][..k];
            y.fill(Lane::ZERO);
            for s in 0..=j {
                let weight = work.weights[j - s];
                for lane in 0..LANES {
                    y[inputs[s][lane] as usize].0[lane] += weight;
                }
            }
        }
        // S_p[c, i] = S_{p−1}[c, i] + y_p[c] 1{x_p = i}, then f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]
        for p in 0..rows {
            if p > 0 {
                work.counts
                    .copy_within((p - 1) * k * k..p * k * k, p * k * k);
            } else {
                work.counts[..k * k].fill(Lane::ZERO);
            }
            let counts = &mut work.counts[p * k * k..][..k * k];
            let f = &mut logits[p * k..][..k];
            f.fill(Lane::ZERO);
            for lane in 0..LANES {
                let symbol = inputs[p][lane] as usize;
                for c in 0..k {
                    counts[c * k + symbol].0[lane] += work.sums[p * k + c].0[lane];
                    for i in 0..k {
                        f[i].0[lane] += w_k[symbol * k + c] * counts[c * k + i].0[lane];
                    }
                }
            }
        }
    }

    /// Adds the gradient of every parameter, by lane, given that of the logits of the last forward.
    pub fn backward(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (rows, k) = (inputs.len(), self.states);
        let (w_k, v) = (&params[self.w_k.clone()], &params[self.v.clone()]);
        work.d_counts.fill(Lane::ZERO);
        for p in (0..rows).rev() {
            let g = &d_logits[p * k..][..k];
            // f_p[i] = Σ_c W_k[x_p, c] S_p[c, i]  ⟹  dW_k[x_p, c] += Σ_i g[i] S_p[c, i], dS_p[c, i] = W_k[x_p, c] g[i]
            let counts = &work.counts[p * k * k..][..k * k];
            let d_w_k = &mut grads[self.w_k.clone()];
            for lane in 0..LANES {
                let symbol = inputs[p][lane] as usize;
                for c in 0..k {
                    let mut through_w = 0.0;
                    for i in 0..k {
                        through_w += g[i].0[lane] * counts[c * k + i].0[lane];
                        work.d_counts[c * k + i].0[lane] += w_k[symbol * k + c] * g[i].0[lane];
                    }
                    d_w_k[symbol * k + c].0[lane] += through_w;
                    // S_q[c, x_p] holds y_p[c] for every q ≥ p, and d_counts is their sum
                    work.d_sums[c].0[lane] = work.d_counts[c * k + symbol].0[lane];
                }
            }
            // y_p[c] = Σ_s M_ps 1{x_s = c}  ⟹  dM_ps = dy_p[x_s]
            let d_v = &mut grads[self.v.clone()];
            match self.form {
                // M_ps = v_{p−s}
                MinimalForm::Linear => {
                    for s in 0..=p {
                        for lane in 0..LANES {
                            let d_m = work.d_sums[inputs[s][lane] as usize].0[lane];
                            d_v[p - s].0[lane] += d_m;
                        }
                    }
                }
                // M_p = softmax(v)  ⟹  dv_{p−s} += M_ps (dM_ps − Σ_l M_pl dM_pl), and the sum is dy_p · y_p
                MinimalForm::Softmax => {
                    self.lag_weights(&v[..=p], &mut work.weights);
                    let y = &work.sums[p * k..][..k];
                    let products = work.d_sums.iter().zip(y).map(|(&dy, &y)| dy * y);
                    let centre = products.fold(Lane::ZERO, |sum, product| sum + product);
                    for s in 0..=p {
                        for lane in 0..LANES {
                            let d_m = work.d_sums[inputs[s][lane] as usize].0[lane];
                            d_v[p - s].0[lane] += work.weights[p - s] * (d_m - centre.0[lane]);
                        }
                    }
                }
            }
        }
    }

    /// Writes one row of M, by lag: the weights themselves, or their softmax.
    fn lag_weights(&self, v: &[f32], row: &mut [f32]) {
        let row = &mut row[..v.len()];
        row.copy_from_slice(v);
        if self.form == MinimalForm::Softmax {
            let largest = v.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter_mut()
                .for_each(|weight| *weight = libm::expf(*weight - largest));
            let sum: f32 = row.iter().sum();
            row.iter_mut().for_each(|weight| *weight /= sum);
        }
    }
}

/// Activations of one block, kept from the forward for the backward.
#[derive(Clone, Debug)]
pub struct Work {
    /// One row of M, by lag, `[t]`
    weights: Vec<f32>,
    /// y, [t, k]
    sums: Vec<Lane>,
    /// S, [t, k, k]
    counts: Vec<Lane>,
    /// [k, k]
    d_counts: Vec<Lane>,
    /// dy of one position, `[k]`
    d_sums: Vec<Lane>,
}
