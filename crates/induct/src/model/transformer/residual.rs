//! Forward and backward over one block of lanes, in the residual stream: works for every architecture.

use std::f32::consts::LOG2_E;
use std::ops::Range;

use super::{Layer, MLP_FACTOR, Norm, Transformer};
use crate::chain::LANES;
use crate::model::lane::Lane;
use crate::model::level::Level;
use crate::model::ops::attention::fast::{self, Asking, Columns, GROUP, Gradients, Group, Inputs};
use crate::model::ops::attention::{AttnProbe, RelativeTerm};
use crate::model::ops::{gelu, layer_norm, linear};

impl Transformer {
    /// What head `h` of a layer reads.
    fn head<'a>(
        &self,
        layer: &Layer,
        h: usize,
        params: &'a [f32],
        (queries, keys, values): (&'a [Lane], &'a [Lane], &'a [Lane]),
    ) -> Inputs<'a> {
        let size = self.width / layer.heads;
        let columns = Columns {
            stride: self.width,
            offset: h * size,
            size,
        };
        Inputs {
            queries,
            keys,
            values,
            asking: Asking::Query,
            data: 0,
            columns,
            relative: self.relative,
            positions: layer.v.clone().map_or(&[], |v| &params[v]),
            lag_columns: columns,
            bias: false,
        }
    }

    /// What the parameters are multiplied by before they are used: where, and by how much. Scores are computed in units of
    /// ln 2 and without the division by √d_head, which the queries (and positions beside them) have in them already.
    fn scales(&self) -> impl Iterator<Item = (Range<usize>, f32)> {
        self.layers.iter().flat_map(|layer| {
            let scale = LOG2_E / ((self.width / layer.heads) as f32).sqrt();
            let beside = layer
                .v
                .clone()
                .filter(|_| self.relative == RelativeTerm::Key);
            [Some(layer.w_q.clone()), beside]
                .into_iter()
                .flatten()
                .map(move |place| (place, scale))
        })
    }

    /// Writes the parameters as the forward reads them into `prepared`.
    pub fn prepare(&self, params: &[f32], prepared: &mut [f32]) {
        prepared.copy_from_slice(params);
        self.scale(prepared);
    }

    /// Multiplies what is scaled: parameters before they are used, and their gradients afterwards.
    pub fn scale(&self, values: &mut [f32]) {
        for (place, scale) in self.scales() {
            values[place].iter_mut().for_each(|value| *value *= scale);
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
            })
            .collect();
        Work {
            layers,
            resid: stream(),
            final_normed: stream(),
            group: Group::new(self.length, self.width),
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
    /// `inputs` are the tokens of one block, at most t rows.
    pub fn forward(
        &self,
        level: Level,
        params: &[f32],
        inputs: &[[u8; LANES]],
        work: &mut Work,
        logits: &mut [Lane],
    ) {
        let (rows, d) = (inputs.len(), self.width);
        let n = rows * d;
        self.embed(params, inputs, &mut work.resid[..n]);
        for (layer, saved) in self.layers.iter().zip(&mut work.layers) {
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
            let source = apply_norm(
                level,
                &layer.norm,
                params,
                &saved.input[..n],
                &mut normed[..n],
            );
            for (weight, target) in [
                (&layer.w_q, &mut *queries),
                (&layer.w_k, keys),
                (&layer.w_v, values),
            ] {
                linear_forward(
                    level,
                    source,
                    &params[weight.clone()],
                    d,
                    d,
                    &mut target[..n],
                );
            }
            for h in 0..layer.heads {
                let head = self.head(layer, h, params, (queries, keys, values));
                work.group.turn_to(&head);
                for first in (0..rows).step_by(GROUP) {
                    let group = first..(first + GROUP).min(rows);
                    fast::forward(level, &head, group, &mut work.group, mixed);
                }
            }
            match &layer.w_o {
                Some(w_o) => {
                    linear::add_forward(level, &mixed[..n], &params[w_o.clone()], d, d, resid)
                }
                None => add(resid, &mixed[..n]),
            }
            if let Some(mlp) = &layer.mlp {
                saved.middle[..n].copy_from_slice(resid);
                let source = apply_norm(
                    level,
                    &mlp.norm,
                    params,
                    &saved.middle[..n],
                    &mut saved.mlp_normed[..n],
                );
                let wide = MLP_FACTOR * d;
                let hidden = &mut saved.hidden[..rows * wide];
                linear_forward(level, source, &params[mlp.w_in.clone()], d, wide, hidden);
                linear::add_bias(&params[mlp.b_in.clone()], hidden);
                let active = &mut saved.active[..rows * wide];
                gelu::forward(level, hidden, active);
                linear::add_forward(level, active, &params[mlp.w_out.clone()], wide, d, resid);
                linear::add_bias(&params[mlp.b_out.clone()], resid);
            }
        }
        let source = apply_norm(
            level,
            &self.final_norm,
            params,
            &work.resid[..n],
            &mut work.final_normed[..n],
        );
        linear_forward(
            level,
            source,
            &params[self.unembed.clone()],
            d,
            self.states,
            logits,
        );
    }

    /// Shows the attention of the last forward.
    pub fn show(&self, level: Level, params: &[f32], rows: usize, work: &Work, probe: AttnProbe) {
        for (l, (layer, saved)) in self.layers.iter().zip(&work.layers).enumerate() {
            for h in 0..layer.heads {
                let rows_of = (&saved.queries[..], &saved.keys[..], &saved.values[..]);
                let inputs = self.head(layer, h, params, rows_of);
                fast::show(level, &inputs, rows, (l, h), |_| Lane::ZERO, probe);
            }
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
        let (rows, d, k) = (inputs.len(), self.width, self.states);
        let n = rows * d;
        work.d_resid[..n].fill(Lane::ZERO);
        let (d_normed, d_resid) = (&mut work.d_normed[..n], &mut work.d_resid[..n]);
        let source = after_norm(&self.final_norm, &work.resid[..n], &work.final_normed[..n]);
        let d_source = gradient_after_norm(&self.final_norm, d_normed, d_resid);
        let p = &params[self.unembed.clone()];
        let dp = &mut grads[self.unembed.clone()];
        linear_backward(level, source, p, d, k, d_logits, d_source, dp);
        norm_backward(
            level,
            &self.final_norm,
            params,
            &work.resid[..n],
            d_normed,
            d_resid,
            grads,
        );
        for (layer, saved) in self.layers.iter().zip(&work.layers).rev() {
            if let Some(mlp) = &layer.mlp {
                let wide = MLP_FACTOR * d;
                let (hidden, active) = (&saved.hidden[..rows * wide], &saved.active[..rows * wide]);
                let d_hidden = &mut work.d_hidden[..rows * wide];
                let d_active = &mut work.d_active[..rows * wide];
                linear::bias_backward(d_resid, &mut grads[mlp.b_out.clone()]);
                d_active.fill(Lane::ZERO);
                let (w, dw) = (&params[mlp.w_out.clone()], &mut grads[mlp.w_out.clone()]);
                linear_backward(level, active, w, wide, d, d_resid, d_active, dw);
                gelu::backward(hidden, d_active, d_hidden);
                linear::bias_backward(d_hidden, &mut grads[mlp.b_in.clone()]);
                let source = after_norm(&mlp.norm, &saved.middle[..n], &saved.mlp_normed[..n]);
                let d_source = gradient_after_norm(&mlp.norm, d_normed, d_resid);
                let (w, dw) = (&params[mlp.w_in.clone()], &mut grads[mlp.w_in.clone()]);
                linear_backward(level, source, w, d, wide, d_hidden, d_source, dw);
                norm_backward(
                    level,
                    &mlp.norm,
                    params,
                    &saved.middle[..n],
                    d_normed,
                    d_resid,
                    grads,
                );
            }
            let d_mixed = &mut work.d_mixed[..n];
            match &layer.w_o {
                Some(w_o) => {
                    d_mixed.fill(Lane::ZERO);
                    let (w, dw) = (&params[w_o.clone()], &mut grads[w_o.clone()]);
                    linear_backward(level, &saved.mixed[..n], w, d, d, d_resid, d_mixed, dw);
                }
                None => d_mixed.copy_from_slice(d_resid),
            }
            for buffer in [&mut work.d_keys, &mut work.d_values] {
                buffer[..n].fill(Lane::ZERO);
            }
            let mut attention_grads = Gradients {
                queries: &mut work.d_queries,
                keys: &mut work.d_keys,
                values: Some(&mut work.d_values),
                positions: layer.v.clone().map_or(&mut [], |v| &mut grads[v]),
            };
            let (mixed, heads) = (&saved.mixed, layer.heads);
            for h in 0..heads {
                let rows_of = (&saved.queries[..], &saved.keys[..], &saved.values[..]);
                let head = self.head(layer, h, params, rows_of);
                work.group.turn_to(&head);
                for first in (0..rows).step_by(GROUP) {
                    let (part, group) = (first..(first + GROUP).min(rows), &mut work.group);
                    fast::weights(level, &head, part.clone(), group);
                    let own = &mut attention_grads;
                    fast::backward(level, &head, part, group, mixed, d_mixed, own);
                }
            }
            let source = after_norm(&layer.norm, &saved.input[..n], &saved.normed[..n]);
            let d_source = gradient_after_norm(&layer.norm, d_normed, d_resid);
            for (weight, d_projected) in [
                (&layer.w_q, &work.d_queries),
                (&layer.w_k, &work.d_keys),
                (&layer.w_v, &work.d_values),
            ] {
                let (w, dw) = (&params[weight.clone()], &mut grads[weight.clone()]);
                linear_backward(level, source, w, d, d, &d_projected[..n], d_source, dw);
            }
            norm_backward(
                level,
                &layer.norm,
                params,
                &saved.input[..n],
                d_normed,
                d_resid,
                grads,
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

/// Sets y to x W.
fn linear_forward(level: Level, x: &[Lane], w: &[f32], inner: usize, outer: usize, y: &mut [Lane]) {
    y.fill(Lane::ZERO);
    linear::add_forward(level, x, w, inner, outer, y);
}

/// y += x W  ⟹  dx += dy Wᵀ, dW += xᵀ dy.
#[expect(
    clippy::too_many_arguments,
    reason = "each is a buffer or a size of its own"
)]
fn linear_backward(
    level: Level,
    x: &[Lane],
    w: &[f32],
    inner: usize,
    outer: usize,
    dy: &[Lane],
    dx: &mut [Lane],
    dw: &mut [Lane],
) {
    linear::input_backward(level, w, inner, outer, dy, dx);
    linear::weight_backward(level, x, inner, outer, dy, dw);
}

fn add(target: &mut [Lane], other: &[Lane]) {
    for (a, &b) in target.iter_mut().zip(other) {
        *a += b;
    }
}

/// What comes after the (optional) norm: x itself, or its normalised copy in `normed`.
fn apply_norm<'a>(
    level: Level,
    norm: &Option<Norm>,
    params: &[f32],
    x: &'a [Lane],
    normed: &'a mut [Lane],
) -> &'a [Lane] {
    match norm {
        None => x,
        Some(norm) => {
            let (gain, bias) = (&params[norm.gain.clone()], &params[norm.bias.clone()]);
            layer_norm::forward(level, x, gain, bias, normed);
            normed
        }
    }
}

/// What the forward read after the (optional) norm.
fn after_norm<'a>(norm: &Option<Norm>, x: &'a [Lane], normed: &'a [Lane]) -> &'a [Lane] {
    if norm.is_some() { normed } else { x }
}

/// Where the gradient of what came after the (optional) norm is added up: in dx itself, or apart.
fn gradient_after_norm<'a>(
    norm: &Option<Norm>,
    d_normed: &'a mut [Lane],
    dx: &'a mut [Lane],
) -> &'a mut [Lane] {
    if norm.is_none() {
        return dx;
    }
    d_normed.fill(Lane::ZERO);
    d_normed
}

/// Carries the gradient of what came after the (optional) norm on to `dx`.
fn norm_backward(
    level: Level,
    norm: &Option<Norm>,
    params: &[f32],
    x: &[Lane],
    d_normed: &[Lane],
    dx: &mut [Lane],
    grads: &mut [Lane],
) {
    if let Some(norm) = norm {
        let gain = &params[norm.gain.clone()];
        let (d_gain, d_bias) = grads[norm.gain.start..norm.bias.end].split_at_mut(gain.len());
        layer_norm::backward(level, x, gain, d_normed, dx, d_gain, d_bias);
    }
}

/// Activations of one block, kept from the forward for the backward, and the backward's own scratch.
#[derive(Clone, Debug)]
pub struct Work {
    layers: Vec<LayerWork>,
    /// [t, d]
    resid: Vec<Lane>,
    final_normed: Vec<Lane>,
    group: Group,
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
}
