//! The parameters in coordinates, and the way back for gradients: small dense products, once per step.

use std::borrow::Cow;
use std::f32::consts::LOG2_E;

use super::basis::{NormedBasis, add, subtract};
use super::changed::{Share, share};
use super::dense::{View, ViewMut, add_product, add_product_with_transposed};
use super::one_hot::Factors;
use super::{Coordinates, Stage};
use crate::model::choose::{BOUNDED, Kernel};
use crate::model::intervention::Port;
use crate::model::ops::attention::RelativeTerm;
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
    /// Sources that some reader does not see.
    pub shares: Vec<Share>,
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
    pub(super) fn new_tables(&self, buffers: &mut Allocator) -> Tables {
        let (states, length, width) = (self.shape.states, self.shape.length, self.shape.width);
        let (normed, shares) = (self.new_normed(buffers), self.new_shares(buffers));
        let layers = &self.stages[..self.depth()];
        let mut basis = |m: usize| buffers.filled(0.0, [1 + m, width]);
        let mut streams = || -> Vec<Vec<f32>> {
            let stages = self.stages.iter();
            stages.map(|stage| basis(stage.stream)).collect()
        };
        let (bases, d_bases) = (streams(), streams());
        let mut projected = || -> Vec<Projected> {
            let of_layer = |stage: &Stage| Projected {
                q: basis(stage.m),
                k: basis(stage.m),
                v: basis(stage.m),
            };
            layers.iter().map(of_layer).collect()
        };
        let by_query = self.relative == RelativeTerm::Query;
        Tables {
            projected: projected(),
            d_projected: projected(),
            shares,
            data: buffers.filled(0.0, [self.size]),
            bases,
            d_bases,
            normed,
            bounded: (layers.iter())
                .map(|stage| vec![false; stage.heads.len()])
                .collect(),
            factors: (layers[0].heads.iter())
                .map(|_| Factors::new(states, length, by_query, buffers))
                .collect(),
        }
    }

    /// Computes the tables of `params`.
    pub(super) fn fill_tables(&self, params: &[f32], tables: &mut Tables) {
        let (shape, d, depth) = (&*self.shape, self.shape.width, self.depth());
        tables.data.fill(0.0);
        // A₀ = E₀, A_c = E_c − E₀
        let a = &mut tables.bases[0];
        a.copy_from_slice(&params[shape.embed.clone()]);
        let (first, rest) = a.split_at_mut(d);
        for row in rest.chunks_exact_mut(d) {
            subtract(row, first);
        }
        if let Some(share) = share(&mut tables.shares, Port::EMBED) {
            share.constant.copy_from_slice(first);
        }
        for l in 0..depth {
            self.fill_layer(params, l, tables);
        }
        self.hide(Port::LOGITS, &mut tables.shares, &mut tables.bases[depth]);
        if !self.ends {
            return tables.data[self.output.clone()].copy_from_slice(&tables.bases[depth]);
        }
        self.fill_norm(params, depth, tables);
        let last = View::new(read(&tables.bases, &tables.normed, depth), d);
        let p = View::new(&params[shape.unembed.clone()], shape.states);
        let output = ViewMut::new(&mut tables.data, shape.states, self.output.start);
        let sizes = (1 + self.stages[depth].m, d, shape.states);
        add_product(output, last, p, sizes, 1.0);
    }

    /// Fills one layer's tables and the basis after it.
    fn fill_layer(&self, params: &[f32], l: usize, tables: &mut Tables) {
        let (layer, stage) = (self.shape.attention(l), &self.stages[l]);
        let (d, m, size) = (layer.width, stage.m, layer.size());
        let scale = LOG2_E / (size as f32).sqrt();
        self.fill_norm(params, l, tables);
        let (below, above) = tables.bases.split_at_mut(l + 1);
        let (a, next) = (&below[l], &mut above[0]);
        let read = read(below, &tables.normed, l);
        let basis = &mut tables.projected[l];
        let projections = [
            (Port::new(l, "queries"), &layer.w_q, &mut basis.q),
            (Port::new(l, "keys"), &layer.w_k, &mut basis.k),
            (Port::new(l, "values"), &layer.w_v, &mut basis.v),
        ];
        for (reader, weight, projected) in projections {
            projected.fill(0.0);
            let w = View::new(&params[weight.clone()], d);
            let read = self.seen_by(reader, &mut tables.shares, read);
            let (into, read) = (ViewMut::new(projected, d, 0), View::new(&read, d));
            add_product(into, read, w, (1 + m, d, d), 1.0);
        }
        let (q, k, v) = (
            View::new(&basis.q, d),
            View::new(&basis.k, d),
            View::new(&basis.v, d),
        );
        next[..a.len()].copy_from_slice(a);
        next[a.len()..].fill(0.0);
        for (h, places) in stage.heads.iter().enumerate() {
            let column = h * size;
            let (q, k, v) = (q.from(0, column), k.from(0, column), v.from(0, column));
            let qk = ViewMut::new(&mut tables.data, stage.m, places.qk.start);
            let sizes = (1 + m, size, m);
            add_product_with_transposed(self.level, qk, q, k.from(1, 0), sizes, scale);
            let constant = ViewMut::new(&mut tables.data, 1, places.constant.start);
            add_product_with_transposed(self.level, constant, q, k, (1 + m, size, 1), scale);
            if let Some(v) = &layer.v {
                let positions = View::new(&params[v.clone()], d).from(0, column);
                let table = ViewMut::new(&mut tables.data, 1 + stage.m, places.positions.start);
                let other = match self.relative {
                    RelativeTerm::Query => q,
                    _ => k,
                };
                let sizes = (self.shape.length, size, 1 + m);
                add_product_with_transposed(self.level, table, positions, other, sizes, scale);
            }
            let (qk, positions) = (
                &tables.data[places.qk.clone()],
                &tables.data[places.positions.clone()],
            );
            tables.bounded[l][h] = if stage.uses(Kernel::OneHot) {
                tables.factors[h].fill(qk, positions)
            } else if let (Some(norm), Some(_)) = (&stage.norm, &stage.form) {
                let bias = (&basis.q[column..][..size], &basis.k[column..][..size]);
                let gain = &params[norm.gain.clone()];
                self.bound_after_norm(params, layer, column, gain, bias) < BOUNDED
            } else {
                self.bound(stage, qk, positions) * self.signed(l) < BOUNDED
            };
            // A′: the head's constant is added to row 0, its averages get rows of their own.
            if places.change.silent {
                continue;
            }
            let mut share = share(&mut tables.shares, Port::head(l, h));
            if let Some(share) = &mut share {
                share.constant.copy_from_slice(&next[..d]);
            }
            let rows = (1 + stage.stream + m * h) * d;
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
            if let Some(share) = share {
                for (own, &x) in share.constant.iter_mut().zip(&*next) {
                    *own = x - *own;
                }
            }
        }
    }

    /// Adds the gradient of every parameter to `grads`, given that of every table.
    pub fn add_pulled_back(
        &self,
        params: &[f32],
        tables: &mut Tables,
        d_tables: &[f32],
        grads: &mut [f32],
    ) {
        let (shape, d, depth) = (&*self.shape, self.shape.width, self.depth());
        for share in &mut tables.shares {
            share.withheld.fill(0.0);
        }
        let d_output = &d_tables[self.output.clone()];
        let d_last = &mut tables.d_bases[depth];
        if self.ends {
            // output = A P  ⟹  dA = doutput Pᵀ, dP = Aᵀ doutput
            let (k, rows) = (shape.states, 1 + self.stages[depth].m);
            let d_output = View::new(d_output, k);
            let d_unembed = ViewMut::new(grads, k, shape.unembed.start);
            let last = View::new(read(&tables.bases, &tables.normed, depth), d);
            add_product(d_unembed, last.transposed(), d_output, (d, rows, k), 1.0);
            d_last.fill(0.0);
            let d_read = match &mut tables.normed[depth] {
                Some(normed) => &mut normed.d_basis,
                None => d_last,
            };
            d_read.fill(0.0);
            let p = View::new(&params[shape.unembed.clone()], k);
            let d_read = ViewMut::new(d_read, d, 0);
            add_product_with_transposed(self.level, d_read, d_output, p, (rows, k, d), 1.0);
            self.pull_back_norm(params, depth, tables, d_tables, grads);
        } else {
            d_last.copy_from_slice(d_output);
        }
        let d_last = &mut tables.d_bases[depth];
        self.hide_backward(Port::LOGITS, &mut tables.shares, d_last);
        for l in (0..depth).rev() {
            self.pull_back_layer(params, l, tables, d_tables, grads);
        }
        // A₀ = E₀, A_c = E_c − E₀  ⟹  dE_c = dA_c, dE₀ = dA₀ − Σ_c dA_c
        let d_embed = &mut grads[shape.embed.clone()];
        add(d_embed, &tables.d_bases[0]);
        let first = &mut d_embed[..d];
        if let Some(share) = share(&mut tables.shares, Port::EMBED) {
            subtract(first, &share.withheld);
        }
        for row in tables.d_bases[0].chunks_exact(d).skip(1) {
            subtract(first, row);
        }
    }

    /// Adds the gradients of one layer's parameters, and sets that of the basis below it.
    fn pull_back_layer(
        &self,
        params: &[f32],
        l: usize,
        tables: &mut Tables,
        d_tables: &[f32],
        grads: &mut [f32],
    ) {
        let (layer, stage) = (self.shape.attention(l), &self.stages[l]);
        let (d, m, size) = (layer.width, stage.m, layer.size());
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
        for (h, places) in stage.heads.iter().enumerate() {
            let column = h * size;
            let (q, k) = (views(&basis.q, column), views(&basis.k, column));
            // qk = A_Q A_K,₁…ᵀ log₂ e / √d_head
            let d_qk = View::new(&d_tables[places.qk.clone()], stage.m);
            let d_q_own = ViewMut::new(d_q, d, column);
            add_product(d_q_own, d_qk, k.from(1, 0), (1 + m, m, size), scale);
            let d_k_own = ViewMut::new(d_k, d, d + column);
            add_product(d_k_own, d_qk.transposed(), q, (m, 1 + m, size), scale);
            // positions = v A_Kᵀ log₂ e / √d_head (or A_Q)
            if let Some(v) = &layer.v {
                let positions = View::new(&params[v.clone()], d).from(0, column);
                let d_table = View::new(&d_tables[places.positions.clone()], 1 + stage.m);
                let (other, d_other) = match self.relative {
                    RelativeTerm::Query => (q, &mut *d_q),
                    _ => (k, &mut *d_k),
                };
                let (t, d_other) = (self.shape.length, ViewMut::new(d_other, d, column));
                add_product(
                    d_other,
                    d_table.transposed(),
                    positions,
                    (1 + m, t, size),
                    scale,
                );
                let d_positions = ViewMut::new(grads, d, v.start + column);
                add_product(d_positions, d_table, other, (t, 1 + m, size), scale);
            }
            // A′₀ += A_V,₀ W_O, A′_own = A_V,₁… W_O
            let rows = 1 + stage.stream + m * h;
            let d_rows = View::new(d_next, d).from(rows, 0);
            if places.change.stopped {
                continue;
            }
            let mut d_constant = Cow::Borrowed(&d_next[..d]);
            if !places.change.adds_constant() {
                d_constant.to_mut().fill(0.0);
            } else if let Some(share) = share(&mut tables.shares, Port::head(l, h)) {
                subtract(d_constant.to_mut(), &share.withheld);
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
                    add_product(d_w, v.transposed(), d_next, (size, 1, d), 1.0);
                    let d_w = ViewMut::new(grads, d, start);
                    add_product(d_w, v.from(1, 0).transposed(), d_rows, (size, m, d), 1.0);
                }
                None => {
                    d_v[..d].copy_from_slice(&d_constant);
                    d_v[d..].copy_from_slice(&d_rows.data[..m * d]);
                }
            }
        }
        // A_Q = A W_Q and so on, or the same after a norm; A itself continues into A′.
        d_a.copy_from_slice(&d_next[..(1 + stage.stream) * d]);
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
            let own = self.seen_by(reader, shares, read);
            let d_w = ViewMut::new(grads, d, place.start);
            add_product(
                d_w,
                View::new(&own, d).transposed(),
                d_projected,
                (d, 1 + m, d),
                1.0,
            );
            if !self.plan.changes(reader) {
                let d_read = ViewMut::new(d_read, d, 0);
                add_product_with_transposed(self.level, d_read, d_projected, w, sizes, 1.0);
                continue;
            }
            let mut d_own = vec![0.0; d_read.len()];
            let d_into = ViewMut::new(&mut d_own, d, 0);
            add_product_with_transposed(self.level, d_into, d_projected, w, sizes, 1.0);
            self.hide_backward(reader, shares, &mut d_own);
            add(d_read, &d_own);
        }
        self.pull_back_norm(params, l, tables, d_tables, grads);
    }
}

/// The basis that stage `at` reads.
fn read<'x>(bases: &'x [Vec<f32>], normed: &'x [Option<NormedBasis>], at: usize) -> &'x [f32] {
    match &normed[at] {
        Some(normed) => &normed.basis,
        None => &bases[at],
    }
}
