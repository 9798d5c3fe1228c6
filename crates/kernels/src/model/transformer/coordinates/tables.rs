//! The parameters in coordinates, and the way back for gradients: small dense products, once per step.

use std::borrow::Cow;
use std::f32::consts::LOG2_E;

use super::basis::{NormedBasis, add};
use super::changed::Shares;
use super::dense::{
    View, ViewMut, add_product, add_product_with_transposed, add_transposed_product,
};
use super::one_hot::Factors;
use super::{Coordinates, LayerPlan, Meets};
use crate::model::choose::{BOUNDED, Kernel};
use crate::model::intervention::Port;
use crate::model::transformer::Transformer;
use crate::scratch::Allocator;

/// One set of parameters in coordinates, with buffers for the way back.
#[derive(Clone, Debug)]
pub struct Tables {
    /// All tables, where [`Coordinates`] places them.
    pub data: Vec<f32>,
    /// The affine basis A of the stream below every layer and after the last: [1 + stream, d] each.
    pub bases: Vec<Vec<f32>>,
    /// The same after a norm, where there is one.
    pub normed: Vec<Option<NormedBasis>>,
    /// The same after W_Q, W_K and W_V, in every layer.
    pub projected: Vec<Projected>,
    /// Whether none of a head's scores can be large, `[layer][head]`.
    pub bounded: Vec<Vec<bool>>,
    /// The first layer's heads, where their scores are bounded.
    pub factors: Vec<Factors>,
    /// What sources that some reader does not see add to the constant.
    pub shares: Shares,
    /// Gradients of `bases` and `projected`.
    pub d_bases: Vec<Vec<f32>>,
    d_projected: Vec<Projected>,
}

/// A basis after W_Q, W_K and W_V, [1 + m, d] each.
#[derive(Clone, Debug)]
pub struct Projected {
    pub q: Vec<f32>,
    pub k: Vec<f32>,
    pub v: Vec<f32>,
}

impl Coordinates {
    /// Buffers for the tables.
    pub fn tables(&self, width: usize, buffers: &mut Allocator) -> Tables {
        let normed = self.normed_bases(width, buffers);
        let mut basis = |m: usize| buffers.filled(0.0, [1 + m, width]);
        let streams = || {
            self.layers
                .iter()
                .map(|plan| plan.stream)
                .chain([self.last])
        };
        let (bases, d_bases) = (
            streams().map(&mut basis).collect(),
            streams().map(&mut basis).collect(),
        );
        let mut projected = |plan: &LayerPlan| Projected {
            q: basis(plan.m),
            k: basis(plan.m),
            v: basis(plan.m),
        };
        Tables {
            projected: self.layers.iter().map(&mut projected).collect(),
            d_projected: self.layers.iter().map(&mut projected).collect(),
            shares: Shares::default(),
            data: buffers.filled(0.0, [self.size]),
            bases,
            d_bases,
            normed,
            bounded: (self.layers.iter())
                .map(|plan| vec![false; plan.heads.len()])
                .collect(),
            factors: (self.layers[0].heads.iter())
                .map(|_| Factors::new(self.states, self.length, buffers))
                .collect(),
        }
    }

    /// Computes the tables of `params`.
    pub fn prepare(&self, shape: &Transformer, params: &[f32], tables: &mut Tables) {
        let (d, top) = (shape.width, self.layers.len());
        tables.data.fill(0.0);
        // A₀ = E₀, A_c = E_c − E₀
        let a = &mut tables.bases[0];
        a.copy_from_slice(&params[shape.embed.clone()]);
        let (first, rest) = a.split_at_mut(d);
        for row in rest.chunks_exact_mut(d) {
            row.iter_mut()
                .zip(first.iter())
                .for_each(|(x, x0)| *x -= x0);
        }
        tables.keep_embed(self, d);
        for l in 0..self.layers.len() {
            self.prepare_layer(shape, params, l, tables);
        }
        self.hide(Port::LOGITS, &mut tables.shares, d, &mut tables.bases[top]);
        if self.ends_in_stream(shape) {
            tables.data[self.output.clone()].copy_from_slice(&tables.bases[top]);
            return;
        }
        self.fill_norm(params, top, &shape.final_norm, tables);
        let normed = tables.normed[top].as_ref();
        let last = normed.map_or(&tables.bases[top], |normed| &normed.basis);
        let p = View::new(&params[shape.unembed.clone()], self.states);
        let output = ViewMut::new(&mut tables.data, self.states, self.output.start);
        let sizes = (1 + self.read_last, d, self.states);
        add_product(output, View::new(last, d), p, sizes, 1.0);
    }

    /// Whether the stream continues after the last of these layers, so that there is no unembedding yet.
    fn ends_in_stream(&self, shape: &Transformer) -> bool {
        let count = self.layers.len();
        count < shape.slots.len()
    }

    /// Fills one layer's tables and the basis after it.
    fn prepare_layer(&self, shape: &Transformer, params: &[f32], l: usize, tables: &mut Tables) {
        let (layer, plan) = (shape.attention(l), &self.layers[l]);
        let norm = &shape.layers[l].norm;
        let (d, m, heads) = (shape.width, plan.m, layer.heads);
        let size = d / heads;
        let scale = LOG2_E / (size as f32).sqrt();
        self.fill_norm(params, l, norm, tables);
        let (below, above) = tables.bases.split_at_mut(l + 1);
        let (a, next) = (&below[l], &mut above[0]);
        let read = tables.normed[l].as_ref().map_or(a, |normed| &normed.basis);
        let basis = &mut tables.projected[l];
        let projections = [
            (Port::new(l, "queries"), &layer.w_q, &mut basis.q),
            (Port::new(l, "keys"), &layer.w_k, &mut basis.k),
            (Port::new(l, "values"), &layer.w_v, &mut basis.v),
        ];
        for (reader, weight, projected) in projections {
            projected.fill(0.0);
            let w = View::new(&params[weight.clone()], d);
            let read = self.seen_by(reader, &mut tables.shares, d, read);
            add_product(
                ViewMut::new(projected, d, 0),
                View::new(&read, d),
                w,
                (1 + m, d, d),
                1.0,
            );
        }
        let (q, k, v) = (
            View::new(&basis.q, d),
            View::new(&basis.k, d),
            View::new(&basis.v, d),
        );
        next[..a.len()].copy_from_slice(a);
        next[a.len()..].fill(0.0);
        for (h, places) in plan.heads.iter().enumerate() {
            let column = h * size;
            let (q, k, v) = (q.from(0, column), k.from(0, column), v.from(0, column));
            let qk = ViewMut::new(&mut tables.data, plan.m, places.qk.start);
            let sizes = (1 + m, size, m);
            add_product_with_transposed(self.level, qk, q, k.from(1, 0), sizes, scale);
            let constant = ViewMut::new(&mut tables.data, 1, places.constant.start);
            add_product_with_transposed(self.level, constant, q, k, (1 + m, size, 1), scale);
            if let Some(v) = &layer.v {
                let positions = View::new(&params[v.clone()], d).from(0, column);
                let table = ViewMut::new(&mut tables.data, 1 + plan.m, places.positions.start);
                let other = if self.meets == Meets::Key { k } else { q };
                let sizes = (self.length, size, 1 + m);
                add_product_with_transposed(self.level, table, positions, other, sizes, scale);
            }
            let (qk, positions) = (
                &tables.data[places.qk.clone()],
                &tables.data[places.positions.clone()],
            );
            tables.bounded[l][h] = if plan.uses(Kernel::OneHot) {
                tables.factors[h].fill(self.meets, qk, positions)
            } else if let (Some(norm), Some(_)) = (norm, &plan.norm) {
                let bias = (&basis.q[column..][..size], &basis.k[column..][..size]);
                let gain = &params[norm.gain.clone()];
                self.bound_after_norm(params, layer, column, gain, bias) < BOUNDED
            } else {
                self.bound(plan, qk, positions) * self.signed(l) < BOUNDED
            };
            // A′: the head's constant is added to row 0, its averages get rows of their own.
            if places.change.silent {
                continue;
            }
            let source = Port::head(l, h);
            let watched = self.is_watched(source);
            let before = watched.then(|| next[..d].to_vec());
            let rows = (1 + plan.stream + m * h) * d;
            match &layer.w_o {
                Some(w_o) => {
                    let w = View::new(&params[w_o.clone()], d).from(column, 0);
                    if places.change.adds_constant() {
                        add_product(ViewMut::new(next, d, 0), v, w, (1, size, d), 1.0);
                    }
                    let own = ViewMut::new(next, d, rows);
                    add_product(own, v.from(1, 0), w, (m, size, d), 1.0);
                }
                None => {
                    if places.change.adds_constant() {
                        add(&mut next[..d], &basis.v[..d]);
                    }
                    next[rows..].copy_from_slice(&basis.v[d..]);
                }
            }
            if let Some(before) = before {
                let share = next.iter().zip(before).map(|(x, before)| x - before);
                tables.shares.set(source, &share.collect::<Vec<f32>>());
            }
        }
    }

    /// Adds the gradient of every parameter to `grads`, given that of every table.
    pub fn pull_back(
        &self,
        shape: &Transformer,
        params: &[f32],
        tables: &mut Tables,
        d_tables: &[f32],
        grads: &mut [f32],
    ) {
        let (d, states, top) = (shape.width, self.states, self.layers.len());
        tables.shares.begin();
        let d_output = &d_tables[self.output.clone()];
        if self.ends_in_stream(shape) {
            tables.d_bases[top].copy_from_slice(d_output);
        } else {
            // output = A P  ⟹  dA = doutput Pᵀ, dP = Aᵀ doutput
            let d_output = View::new(d_output, states);
            let sizes = (d, 1 + self.read_last, states);
            let d_unembed = ViewMut::new(grads, states, shape.unembed.start);
            let normed = tables.normed[top].as_ref();
            let last = normed.map_or(&tables.bases[top], |normed| &normed.basis);
            let last = View::new(last, d);
            add_transposed_product(d_unembed, last, d_output, sizes, 1.0);
            let d_last = tables.d_read(top);
            d_last.fill(0.0);
            let p = View::new(&params[shape.unembed.clone()], states);
            let sizes = (1 + self.read_last, states, d);
            add_product_with_transposed(
                self.level,
                ViewMut::new(d_last, d, 0),
                d_output,
                p,
                sizes,
                1.0,
            );
            if shape.final_norm.is_some() {
                tables.d_bases[top].fill(0.0);
                self.pull_back_norm(params, top, &shape.final_norm, tables, d_tables, grads);
            }
        }
        self.hide_backward(
            Port::LOGITS,
            &mut tables.shares,
            d,
            &mut tables.d_bases[top],
        );
        for l in (0..top).rev() {
            self.pull_back_layer(shape, params, l, tables, d_tables, grads);
        }
        // A₀ = E₀, A_c = E_c − E₀  ⟹  dE_c = dA_c, dE₀ = dA₀ − Σ_c dA_c
        let d_embed = &mut grads[shape.embed.clone()];
        add(d_embed, &tables.d_bases[0]);
        let first = &mut d_embed[..d];
        tables.shares.withhold(Port::EMBED, first);
        for row in tables.d_bases[0].chunks_exact(d).skip(1) {
            first.iter_mut().zip(row).for_each(|(x0, x)| *x0 -= x);
        }
    }

    /// Adds the gradients of one layer's parameters, and sets that of the basis below it.
    fn pull_back_layer(
        &self,
        shape: &Transformer,
        params: &[f32],
        l: usize,
        tables: &mut Tables,
        d_tables: &[f32],
        grads: &mut [f32],
    ) {
        let (layer, plan) = (shape.attention(l), &self.layers[l]);
        let (d, m) = (shape.width, plan.m);
        let size = d / layer.heads;
        let scale = LOG2_E / (size as f32).sqrt();
        let basis = &tables.projected[l];
        let (d_below, d_above) = tables.d_bases.split_at_mut(l + 1);
        let (d_a, d_next) = (&mut d_below[l], &d_above[0][..]);
        let Projected {
            q: d_q,
            k: d_k,
            v: d_v,
        } = &mut tables.d_projected[l];
        for gradient in [&mut *d_q, &mut *d_k, &mut *d_v] {
            gradient.fill(0.0);
        }
        let views = |data, column| View::new(data, d).from(0, column);
        for (h, places) in plan.heads.iter().enumerate() {
            let column = h * size;
            let (q, k) = (views(&basis.q, column), views(&basis.k, column));
            // qk = A_Q A_K,₁…ᵀ log₂ e / √d_head
            let d_qk = View::new(&d_tables[places.qk.clone()], plan.m);
            let d_q_own = ViewMut::new(d_q, d, column);
            add_product(d_q_own, d_qk, k.from(1, 0), (1 + m, m, size), scale);
            let d_k_own = ViewMut::new(d_k, d, d + column);
            add_transposed_product(d_k_own, d_qk, q, (m, 1 + m, size), scale);
            // positions = v A_Kᵀ log₂ e / √d_head (or A_Q)
            if let Some(v) = &layer.v {
                let positions = View::new(&params[v.clone()], d).from(0, column);
                let d_table = View::new(&d_tables[places.positions.clone()], 1 + plan.m);
                let (other, d_other) = match self.meets {
                    Meets::Key => (k, &mut *d_k),
                    Meets::Query => (q, &mut *d_q),
                };
                let d_other = ViewMut::new(d_other, d, column);
                add_transposed_product(
                    d_other,
                    d_table,
                    positions,
                    (1 + m, self.length, size),
                    scale,
                );
                let d_positions = ViewMut::new(grads, d, v.start + column);
                add_product(
                    d_positions,
                    d_table,
                    other,
                    (self.length, 1 + m, size),
                    scale,
                );
            }
            // A′₀ += A_V,₀ W_O, A′_own = A_V,₁… W_O
            let rows = 1 + plan.stream + m * h;
            let d_rows = View::new(d_next, d).from(rows, 0);
            if places.change.stopped {
                continue;
            }
            let source = Port::head(l, h);
            let mut d_constant = Cow::Borrowed(&d_next[..d]);
            if !places.change.adds_constant() {
                d_constant.to_mut().fill(0.0);
            } else if self.is_watched(source) {
                tables.shares.withhold(source, d_constant.to_mut());
            }
            match &layer.w_o {
                Some(w_o) => {
                    let w = View::new(&params[w_o.clone()], d).from(column, 0);
                    let v = views(&basis.v, column);
                    let d_next = View::new(&d_constant, d);
                    let d_first = ViewMut::new(d_v, d, column);
                    add_product_with_transposed(self.level, d_first, d_next, w, (1, d, size), 1.0);
                    let d_rest = ViewMut::new(d_v, d, d + column);
                    add_product_with_transposed(self.level, d_rest, d_rows, w, (m, d, size), 1.0);
                    let start = w_o.start + column * d;
                    let d_w = ViewMut::new(grads, d, start);
                    add_transposed_product(d_w, v, d_next, (size, 1, d), 1.0);
                    let d_w = ViewMut::new(grads, d, start);
                    add_transposed_product(d_w, v.from(1, 0), d_rows, (size, m, d), 1.0);
                }
                None => {
                    d_v[..d].copy_from_slice(&d_constant);
                    d_v[d..].copy_from_slice(&d_rows.data[..m * d]);
                }
            }
        }
        // A_Q = A W_Q and so on, or the same after a norm; A itself continues into A′.
        d_a.copy_from_slice(&d_next[..(1 + plan.stream) * d]);
        let (read, d_read) = match &mut tables.normed[l] {
            Some(normed) => {
                normed.d_basis.fill(0.0);
                (&normed.basis, &mut normed.d_basis)
            }
            None => (&tables.bases[l], d_a),
        };
        let projections = [
            (Port::new(l, "queries"), &layer.w_q, d_q),
            (Port::new(l, "keys"), &layer.w_k, d_k),
            (Port::new(l, "values"), &layer.w_v, d_v),
        ];
        for (reader, place, d_projected) in projections {
            let d_projected = View::new(d_projected, d);
            let w = View::new(&params[place.clone()], d);
            let (sizes, shares) = ((1 + m, d, d), &mut tables.shares);
            let own = self.seen_by(reader, shares, d, read);
            let d_w = ViewMut::new(grads, d, place.start);
            add_transposed_product(d_w, View::new(&own, d), d_projected, (d, 1 + m, d), 1.0);
            if self.edges.none(reader) {
                let d_read = ViewMut::new(d_read, d, 0);
                add_product_with_transposed(self.level, d_read, d_projected, w, sizes, 1.0);
                continue;
            }
            let mut d_own = vec![0.0; d_read.len()];
            let d_into = ViewMut::new(&mut d_own, d, 0);
            add_product_with_transposed(self.level, d_into, d_projected, w, sizes, 1.0);
            self.hide_backward(reader, shares, d, &mut d_own);
            add(d_read, &d_own);
        }
        self.pull_back_norm(params, l, &shape.layers[l].norm, tables, d_tables, grads);
    }
}

impl Tables {
    /// The gradient of the basis that layer `at`, or the output, reads.
    fn d_read(&mut self, at: usize) -> &mut [f32] {
        match &mut self.normed[at] {
            Some(normed) => &mut normed.d_basis,
            None => &mut self.d_bases[at],
        }
    }
}
