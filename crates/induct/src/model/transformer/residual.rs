//! Forward and backward over one block of lanes, in the residual stream: works for every architecture.

use super::{Layer, MLP_FACTOR, Norm, Transformer};
use crate::chain::LANES;
use crate::model::lane::Lane;
use crate::model::level::{Level, at_level};
use crate::model::ops::attention::{AttnProbe, Gradients, Head, Inputs, RowScales};
use crate::model::ops::{gelu, layer_norm, linear};

impl Transformer {
    fn head(&self, layer: usize, index: usize) -> Head {
        let size = self.width / self.layers[layer].heads;
        Head {
            layer,
            index,
            columns: index * size..(index + 1) * size,
            width: self.width,
            relative: self.relative,
        }
    }

    /// Room for a forward and a backward over one block.
    pub fn work(&self) -> Work {
        let stream = || vec![Lane::ZERO; self.length * self.width];
        let hidden = |layer: &Layer| {
            let size = layer.mlp.as_ref().map_or(0, |_| MLP_FACTOR * self.width);
            vec![Lane::ZERO; self.length * size]
        };
        let layers: Vec<LayerWork> = self
            .layers
            .iter()
            .map(|layer| LayerWork {
                input: stream(),
                normed: stream(),
                queries: stream(),
                keys: stream(),
                values: stream(),
                mixed: stream(),
                middle: stream(),
                mlp_normed: stream(),
                hidden: hidden(layer),
                active: hidden(layer),
                scales: (0..layer.heads)
                    .map(|_| RowScales::new(self.length))
                    .collect(),
            })
            .collect();
        Work {
            layers,
            resid: stream(),
            final_normed: stream(),
            row: vec![Lane::ZERO; self.length],
            d_resid: stream(),
            d_normed: stream(),
            d_queries: stream(),
            d_keys: stream(),
            d_values: stream(),
            d_mixed: stream(),
            d_hidden: hidden(&self.layers[0]),
            d_active: hidden(&self.layers[0]),
        }
    }

    /// Writes the logits of every position into `logits` ([rows, k]).
    ///
    /// `inputs` are the tokens of one block, at most t rows. `probe`, if given, is shown all attention.
    pub fn forward(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
        probe: Option<AttnProbe>,
    ) {
        at_level!(
            Level::detect(),
            self.forward_avx2(params, inputs, work, logits, probe),
            self.forward_any(params, inputs, work, logits, probe)
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn forward_avx2(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
        probe: Option<AttnProbe>,
    ) {
        self.forward_any(params, inputs, work, logits, probe);
    }

    #[inline(always)]
    fn forward_any(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
        mut probe: Option<AttnProbe>,
    ) {
        let (rows, d) = (inputs.len(), self.width);
        let n = rows * d;
        self.embed(params, inputs, &mut work.resid[..n]);
        for (l, (layer, saved)) in self.layers.iter().zip(&mut work.layers).enumerate() {
            let resid = &mut work.resid[..n];
            saved.input[..n].copy_from_slice(resid);
            let LayerWork {
                normed,
                queries,
                keys,
                values,
                mixed,
                ..
            } = saved;
            let source = apply_norm(&layer.norm, params, &saved.input[..n], &mut normed[..n]);
            for (weight, target) in [
                (&layer.w_q, &mut *queries),
                (&layer.w_k, keys),
                (&layer.w_v, values),
            ] {
                linear::forward(source, &params[weight.clone()], d, d, &mut target[..n]);
            }
            let attention_inputs = Inputs {
                queries,
                keys,
                values,
                positions: layer.v.clone().map_or(&[], |v| &params[v]),
            };
            for (h, scales) in saved.scales.iter_mut().enumerate() {
                self.head(l, h).forward(
                    &attention_inputs,
                    &mut work.row[..rows],
                    scales,
                    &mut mixed[..n],
                    probe.as_mut().map(|probe| &mut **probe as AttnProbe),
                );
            }
            match &layer.w_o {
                Some(w_o) => linear::add_forward(&mixed[..n], &params[w_o.clone()], d, d, resid),
                None => add(resid, &mixed[..n]),
            }
            if let Some(mlp) = &layer.mlp {
                saved.middle[..n].copy_from_slice(resid);
                let source = apply_norm(
                    &mlp.norm,
                    params,
                    &saved.middle[..n],
                    &mut saved.mlp_normed[..n],
                );
                let wide = MLP_FACTOR * d;
                let hidden = &mut saved.hidden[..rows * wide];
                linear::forward(source, &params[mlp.w_in.clone()], d, wide, hidden);
                linear::add_bias(&params[mlp.b_in.clone()], hidden);
                let active = &mut saved.active[..rows * wide];
                gelu::forward(hidden, active);
                linear::add_forward(active, &params[mlp.w_out.clone()], wide, d, resid);
                linear::add_bias(&params[mlp.b_out.clone()], resid);
            }
        }
        let source = apply_norm(
            &self.final_norm,
            params,
            &work.resid[..n],
            &mut work.final_normed[..n],
        );
        linear::forward(
            source,
            &params[self.unembed.clone()],
            d,
            self.states,
            logits,
        );
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
        at_level!(
            Level::detect(),
            self.backward_avx2(params, inputs, work, d_logits, grads),
            self.backward_any(params, inputs, work, d_logits, grads)
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn backward_avx2(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        self.backward_any(params, inputs, work, d_logits, grads);
    }

    #[inline(always)]
    fn backward_any(
        &self,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        d_logits: &[Lane],
        grads: &mut [Lane],
    ) {
        let (rows, d, k) = (inputs.len(), self.width, self.states);
        let n = rows * d;
        work.d_resid[..n].fill(Lane::ZERO);
        let source = after_norm(&self.final_norm, &work.resid[..n], &work.final_normed[..n]);
        backward_through_norm(
            &self.final_norm,
            params,
            &work.resid[..n],
            &mut work.d_normed[..n],
            &mut work.d_resid[..n],
            grads,
            |d_source, grads| {
                let (p, dp) = (
                    &params[self.unembed.clone()],
                    &mut grads[self.unembed.clone()],
                );
                linear::backward(source, p, d, k, d_logits, d_source, dp);
            },
        );
        for (l, (layer, saved)) in self.layers.iter().zip(&work.layers).enumerate().rev() {
            if let Some(mlp) = &layer.mlp {
                let wide = MLP_FACTOR * d;
                let (hidden, active) = (&saved.hidden[..rows * wide], &saved.active[..rows * wide]);
                let d_hidden = &mut work.d_hidden[..rows * wide];
                let d_active = &mut work.d_active[..rows * wide];
                linear::bias_backward(&work.d_resid[..n], &mut grads[mlp.b_out.clone()]);
                d_active.fill(Lane::ZERO);
                linear::backward(
                    active,
                    &params[mlp.w_out.clone()],
                    wide,
                    d,
                    &work.d_resid[..n],
                    d_active,
                    &mut grads[mlp.w_out.clone()],
                );
                gelu::backward(hidden, d_active, d_hidden);
                linear::bias_backward(d_hidden, &mut grads[mlp.b_in.clone()]);
                let source = after_norm(&mlp.norm, &saved.middle[..n], &saved.mlp_normed[..n]);
                backward_through_norm(
                    &mlp.norm,
                    params,
                    &saved.middle[..n],
                    &mut work.d_normed[..n],
                    &mut work.d_resid[..n],
                    grads,
                    |d_source, grads| {
                        let (w, dw) = (&params[mlp.w_in.clone()], &mut grads[mlp.w_in.clone()]);
                        linear::backward(source, w, d, wide, d_hidden, d_source, dw);
                    },
                );
            }
            let d_mixed = &mut work.d_mixed[..n];
            match &layer.w_o {
                Some(w_o) => {
                    d_mixed.fill(Lane::ZERO);
                    linear::backward(
                        &saved.mixed[..n],
                        &params[w_o.clone()],
                        d,
                        d,
                        &work.d_resid[..n],
                        d_mixed,
                        &mut grads[w_o.clone()],
                    );
                }
                None => d_mixed.copy_from_slice(&work.d_resid[..n]),
            }
            for buffer in [&mut work.d_queries, &mut work.d_keys, &mut work.d_values] {
                buffer[..n].fill(Lane::ZERO);
            }
            let attention_inputs = Inputs {
                queries: &saved.queries,
                keys: &saved.keys,
                values: &saved.values,
                positions: layer.v.clone().map_or(&[], |v| &params[v]),
            };
            let mut attention_grads = Gradients {
                queries: &mut work.d_queries,
                keys: &mut work.d_keys,
                values: &mut work.d_values,
                positions: layer.v.clone().map_or(&mut [], |v| &mut grads[v]),
            };
            for (h, scales) in saved.scales.iter().enumerate() {
                self.head(l, h).backward(
                    &attention_inputs,
                    scales,
                    &saved.mixed,
                    d_mixed,
                    &mut work.row[..rows],
                    &mut attention_grads,
                );
            }
            let source = after_norm(&layer.norm, &saved.input[..n], &saved.normed[..n]);
            let projections = [
                (&layer.w_q, &work.d_queries),
                (&layer.w_k, &work.d_keys),
                (&layer.w_v, &work.d_values),
            ];
            backward_through_norm(
                &layer.norm,
                params,
                &saved.input[..n],
                &mut work.d_normed[..n],
                &mut work.d_resid[..n],
                grads,
                |d_source, grads| {
                    for (weight, d_projected) in projections {
                        let (w, dw) = (&params[weight.clone()], &mut grads[weight.clone()]);
                        linear::backward(source, w, d, d, &d_projected[..n], d_source, dw);
                    }
                },
            );
        }
        self.embed_backward(inputs, &work.d_resid[..n], grads);
    }

    /// h⁰_i = E[x_i] (+ positions_i)
    fn embed(&self, params: &[f32], inputs: &[[u8; LANES]], resid: &mut [Lane]) {
        let (d, table) = (self.width, &params[self.embed.clone()]);
        for (i, (symbols, h)) in inputs.iter().zip(resid.chunks_exact_mut(d)).enumerate() {
            for (lane, &symbol) in symbols.iter().enumerate() {
                for (h_c, &e_c) in h.iter_mut().zip(&table[symbol as usize * d..][..d]) {
                    h_c.0[lane] = e_c;
                }
            }
            if let Some(positions) = &self.embed_positions {
                linear::add_bias(&params[positions.clone()][i * d..][..d], h);
            }
        }
    }

    /// h⁰_i = E[x_i] + positions_i  ⟹  dE[x_i] += dh⁰_i, dpositions_i += dh⁰_i
    fn embed_backward(&self, inputs: &[[u8; LANES]], d_resid: &[Lane], grads: &mut [Lane]) {
        let d = self.width;
        for (i, (symbols, dh)) in inputs.iter().zip(d_resid.chunks_exact(d)).enumerate() {
            let d_table = &mut grads[self.embed.clone()];
            for (lane, &symbol) in symbols.iter().enumerate() {
                for (de_c, dh_c) in d_table[symbol as usize * d..].iter_mut().zip(dh) {
                    de_c.0[lane] += dh_c.0[lane];
                }
            }
            if let Some(positions) = &self.embed_positions {
                linear::bias_backward(dh, &mut grads[positions.clone()][i * d..][..d]);
            }
        }
    }
}

#[inline(always)]
fn add(target: &mut [Lane], other: &[Lane]) {
    for (a, &b) in target.iter_mut().zip(other) {
        *a += b;
    }
}

/// What comes after the (optional) norm: x itself, or its normalised copy in `normed`.
#[inline(always)]
fn apply_norm<'a>(
    norm: &Option<Norm>,
    params: &[f32],
    x: &'a [Lane],
    normed: &'a mut [Lane],
) -> &'a [Lane] {
    match norm {
        None => x,
        Some(norm) => {
            let (gain, bias) = (&params[norm.gain.clone()], &params[norm.bias.clone()]);
            layer_norm::forward(x, gain, bias, normed);
            normed
        }
    }
}

/// What the forward read after the (optional) norm.
fn after_norm<'a>(norm: &Option<Norm>, x: &'a [Lane], normed: &'a [Lane]) -> &'a [Lane] {
    if norm.is_some() { normed } else { x }
}

/// Lets `add_gradient` add to the gradient of what came after the norm, and carries it on to `dx`.
#[inline(always)]
fn backward_through_norm(
    norm: &Option<Norm>,
    params: &[f32],
    x: &[Lane],
    d_normed: &mut [Lane],
    dx: &mut [Lane],
    grads: &mut [Lane],
    add_gradient: impl FnOnce(&mut [Lane], &mut [Lane]),
) {
    match norm {
        None => add_gradient(dx, grads),
        Some(norm) => {
            d_normed.fill(Lane::ZERO);
            add_gradient(d_normed, grads);
            let gain = &params[norm.gain.clone()];
            let (d_gain, d_bias) = grads[norm.gain.start..norm.bias.end].split_at_mut(gain.len());
            layer_norm::backward(x, gain, d_normed, dx, d_gain, d_bias);
        }
    }
}

/// Activations of one block, kept from the forward for the backward, and the backward's own scratch.
#[derive(Clone, Debug)]
pub struct Work {
    layers: Vec<LayerWork>,
    /// [t, d]
    resid: Vec<Lane>,
    final_normed: Vec<Lane>,
    /// `[t]`
    row: Vec<Lane>,
    /// [t, d]
    d_resid: Vec<Lane>,
    d_normed: Vec<Lane>,
    d_queries: Vec<Lane>,
    d_keys: Vec<Lane>,
    d_values: Vec<Lane>,
    d_mixed: Vec<Lane>,
    /// [t, 4d]
    d_hidden: Vec<Lane>,
    d_active: Vec<Lane>,
}

/// Activations of one layer.
#[derive(Clone, Debug)]
struct LayerWork {
    /// [t, d]
    input: Vec<Lane>,
    normed: Vec<Lane>,
    queries: Vec<Lane>,
    keys: Vec<Lane>,
    values: Vec<Lane>,
    mixed: Vec<Lane>,
    middle: Vec<Lane>,
    mlp_normed: Vec<Lane>,
    /// [t, 4d]
    hidden: Vec<Lane>,
    active: Vec<Lane>,
    /// One a head.
    scales: Vec<RowScales>,
}
