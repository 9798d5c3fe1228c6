//! The transformer in coordinates: exact, and much smaller than its residual stream.
//!
//! Without layer norm, MLP and absolute positions, everything in the stream is an affine function of a few
//! numbers a position. Write
//!
//! > h_i = A₀ + y_i A₁…
//!
//! where y_i ∈ Rᵐ depends on the data and A ∈ R^((1+m)×d) on the parameters only. At the bottom y_i is the
//! one-hot symbol without its first entry (one-hot entries sum to one, so that one is redundant), A₀ = E₀ and
//! A_c = E_c − E₀. Pushing A through W_Q, W_K and W_V gives for each head two small tables,
//!
//! > asks = A_Q A_K,₁…ᵀ / √d_head   ((1+m)×m),   positions = v A_Kᵀ / √d_head   (t×(1+m)),
//!
//! from which the head's scores follow, up to terms that do not depend on j and cancel in the softmax:
//!
//! > w_i = asks₀ + y_i asks₁…,   s_ij = positions_δ0 + (w_i + positions_δ1…) · y_j,   δ = i − j.
//!
//! Both tables are kept in units of ln 2, because powers of two are cheaper than powers of e.
//!
//! (With relative-query positions it is A_Q instead of A_K in the second table, and y_i instead of y_j beside it.)
//! The averages c_i = Σ_j p_ij y_j are m more coordinates: averages of numbers that sum to one sum to one. So the
//! layer's output is again of that form, with y′ = [y, c¹ … c^H] and A′ = [A₀ + Σ_h A_V,₀ W_O; A₁…; A_V,₁… W_O …],
//! and logits = h P is one more table.
//!
//! A step computes the tables once ([`Coordinates::prepare`]), runs all blocks on them ([`block`]), and carries
//! the tables' gradients back to the parameters once ([`Coordinates::pull_back`]).

mod block;
mod dense;
mod kernel;
mod one_hot;

use std::f32::consts::LOG2_E;
use std::ops::Range;

use self::dense::{
    View, ViewMut, add_product, add_product_with_transposed, add_transposed_product,
};
use self::kernel::SIZES;
use self::one_hot::Factors;
use super::{Layer, Transformer};
use crate::model::level::Level;
use crate::model::ops::attention::RelativeTerm;

pub use block::Work;

/// How a transformer works in coordinates: sizes and the places of its tables.
#[derive(Clone, Debug)]
pub struct Coordinates {
    states: usize,
    length: usize,
    meets: Meets,
    level: Level,
    layers: Vec<LayerPlan>,
    /// Coordinates after the last layer.
    last: usize,
    /// [1 + last, k]
    output: Range<usize>,
    /// Length of all tables together.
    size: usize,
}

/// Whether positions meet the key or the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meets {
    Key,
    Query,
}

/// One layer in coordinates.
#[derive(Clone, Debug)]
struct LayerPlan {
    /// Coordinates a position, m.
    m: usize,
    /// The same, padded to a size that has a kernel.
    padded: usize,
    heads: Vec<HeadPlan>,
}

/// Places of a head's tables.
#[derive(Clone, Debug)]
struct HeadPlan {
    /// [1 + padded, padded]
    asks: Range<usize>,
    /// [t, 1 + padded]
    positions: Range<usize>,
    /// `[1 + padded]`: the part of a score that does not depend on j; for recorded scores only.
    constant: Range<usize>,
}

/// The affine bases of one layer: [1 + m, d] each.
#[derive(Clone, Debug)]
struct LayerBasis {
    a: Vec<f32>,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

/// What one set of parameters looks like in coordinates.
#[derive(Clone, Debug)]
pub struct Tables {
    /// All tables, at the places that [`Coordinates`] says.
    data: Vec<f32>,
    layers: Vec<LayerBasis>,
    /// After the last layer, [1 + last, d].
    last: Vec<f32>,
    /// Whether no score of a head can be large, `[layer][head]`.
    gentle: Vec<Vec<bool>>,
    /// The first layer's heads, where their scores are gentle.
    factors: Vec<Factors>,
}

/// Scores in units of ln 2 are gentle up to here: sums of their powers stay far from the ends of f32.
const GENTLE: f32 = 100.0;

impl Coordinates {
    /// The plan for `shape`, if coordinates are possible and no more work than the stream itself.
    pub fn new(shape: &Transformer) -> Option<Self> {
        let plain = |layer: &Layer| layer.norm.is_none() && layer.mlp.is_none();
        if !shape.layers.iter().all(plain) || shape.embed_positions.is_some() {
            return None;
        }
        let mut size = 0;
        let mut take = |length: usize| {
            size += length;
            size - length..size
        };
        let mut m = shape.states - 1;
        let (mut pair_work, mut layers) = (0, Vec::new());
        for layer in &shape.layers {
            let padded = *SIZES.iter().find(|&&size| size >= m)?;
            pair_work += layer.heads * padded;
            let heads = (0..layer.heads).map(|_| HeadPlan {
                asks: take((1 + padded) * padded),
                positions: take(shape.length * (1 + padded)),
                constant: take(1 + padded),
            });
            layers.push(LayerPlan {
                m,
                padded,
                heads: heads.collect(),
            });
            m *= 1 + layer.heads;
        }
        if pair_work > shape.width * shape.layers.len() {
            return None;
        }
        let output = take((1 + m) * shape.states);
        Some(Self {
            states: shape.states,
            length: shape.length,
            meets: match shape.relative {
                RelativeTerm::Query => Meets::Query,
                RelativeTerm::Key | RelativeTerm::Absent => Meets::Key,
            },
            level: Level::detect(),
            layers,
            last: m,
            output,
            size,
        })
    }

    /// The same plan without any vector instructions but what every machine has.
    pub fn portable(mut self) -> Self {
        self.level = Level::Portable;
        self
    }

    /// Number of entries of all tables: the length of a gradient by table.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Room for tables.
    pub fn tables(&self, width: usize) -> Tables {
        let basis = |m: usize| vec![0.0; (1 + m) * width];
        Tables {
            data: vec![0.0; self.size],
            layers: self
                .layers
                .iter()
                .map(|plan| LayerBasis {
                    a: basis(plan.m),
                    q: basis(plan.m),
                    k: basis(plan.m),
                    v: basis(plan.m),
                })
                .collect(),
            last: basis(self.last),
            gentle: self
                .layers
                .iter()
                .map(|plan| vec![false; plan.heads.len()])
                .collect(),
            factors: self.layers[0]
                .heads
                .iter()
                .map(|_| Factors::new(self.states, self.length))
                .collect(),
        }
    }

    /// Computes the tables of `params`.
    pub fn prepare(&self, shape: &Transformer, params: &[f32], tables: &mut Tables) {
        let d = shape.width;
        tables.data.fill(0.0);
        // A₀ = E₀, A_c = E_c − E₀
        let mut a = params[shape.embed.clone()].to_vec();
        let (first, rest) = a.split_at_mut(d);
        for row in rest.chunks_exact_mut(d) {
            row.iter_mut()
                .zip(first.iter())
                .for_each(|(x, x0)| *x -= x0);
        }
        for (l, (layer, plan)) in shape.layers.iter().zip(&self.layers).enumerate() {
            a = self.prepare_layer(shape, params, layer, plan, a, l, tables);
        }
        let p = View::new(&params[shape.unembed.clone()], self.states);
        let output = ViewMut::new(&mut tables.data, self.states, self.output.start);
        add_product(
            output,
            View::new(&a, d),
            p,
            (1 + self.last, d, self.states),
            1.0,
        );
        tables.last = a;
    }

    /// Fills one layer's tables and returns the basis after it.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them are plain parts of one formula"
    )]
    fn prepare_layer(
        &self,
        shape: &Transformer,
        params: &[f32],
        layer: &Layer,
        plan: &LayerPlan,
        a: Vec<f32>,
        l: usize,
        tables: &mut Tables,
    ) -> Vec<f32> {
        let (d, m, heads) = (shape.width, plan.m, layer.heads);
        let size = d / heads;
        let scale = LOG2_E / (size as f32).sqrt();
        let basis = &mut tables.layers[l];
        let projections = [
            (&layer.w_q, &mut basis.q),
            (&layer.w_k, &mut basis.k),
            (&layer.w_v, &mut basis.v),
        ];
        for (weight, projected) in projections {
            projected.fill(0.0);
            let w = View::new(&params[weight.clone()], d);
            add_product(
                ViewMut::new(projected, d, 0),
                View::new(&a, d),
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
        let mut next = vec![0.0; (1 + m * (1 + heads)) * d];
        next[..a.len()].copy_from_slice(&a);
        for (h, places) in plan.heads.iter().enumerate() {
            let column = h * size;
            let (q, k, v) = (q.from(0, column), k.from(0, column), v.from(0, column));
            let asks = ViewMut::new(&mut tables.data, plan.padded, places.asks.start);
            let sizes = (1 + m, size, m);
            add_product_with_transposed(asks, q, k.from(1, 0), sizes, scale);
            let constant = ViewMut::new(&mut tables.data, 1, places.constant.start);
            add_product_with_transposed(constant, q, k, (1 + m, size, 1), scale);
            if let Some(v) = &layer.v {
                let positions = View::new(&params[v.clone()], d).from(0, column);
                let table = ViewMut::new(&mut tables.data, 1 + plan.padded, places.positions.start);
                let other = if self.meets == Meets::Key { k } else { q };
                let sizes = (self.length, size, 1 + m);
                add_product_with_transposed(table, positions, other, sizes, scale);
            }
            let gentle = self.bound(plan, places, &tables.data) < GENTLE;
            tables.gentle[l][h] = gentle;
            if l == 0 && gentle {
                let (asks, positions) = (
                    &tables.data[places.asks.clone()],
                    &tables.data[places.positions.clone()],
                );
                tables.factors[h].fill(asks, positions, plan.padded);
            }
            // A′: the head's constant goes to row 0, its averages get rows of their own.
            let rows = (1 + m * (1 + h)) * d;
            match &layer.w_o {
                Some(w_o) => {
                    let w = View::new(&params[w_o.clone()], d).from(column, 0);
                    add_product(ViewMut::new(&mut next, d, 0), v, w, (1, size, d), 1.0);
                    let own = ViewMut::new(&mut next, d, rows);
                    add_product(own, v.from(1, 0), w, (m, size, d), 1.0);
                }
                None => {
                    next[..d]
                        .iter_mut()
                        .zip(&basis.v[..d])
                        .for_each(|(x, v0)| *x += v0);
                    next[rows..].copy_from_slice(&basis.v[d..]);
                }
            }
        }
        tables.layers[l].a = a;
        next
    }

    /// A bound on the size of a head's scores. Coordinates are shares: within each block of k−1 they are at least
    /// zero and sum to at most one, so a block contributes at most its largest factor.
    fn bound(&self, plan: &LayerPlan, places: &HeadPlan, data: &[f32]) -> f32 {
        let block = self.states - 1;
        let largest = |values: &[f32]| values.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
        let blocks = |row: &[f32]| row[..plan.m].chunks_exact(block).map(largest).sum::<f32>();
        let mut asks = data[places.asks.clone()]
            .chunks_exact(plan.padded)
            .map(blocks);
        let base = asks.next().unwrap_or(0.0);
        let asks: Vec<f32> = asks.take(plan.m).collect();
        let asked = base + asks.chunks_exact(block).map(largest).sum::<f32>();
        let positions = data[places.positions.clone()].chunks_exact(1 + plan.padded);
        let placed = positions.map(|row| row[0].abs() + blocks(&row[1..]));
        asked + placed.fold(0.0, f32::max)
    }

    /// Writes the gradient of every parameter into `grads`, given that of every table.
    pub fn pull_back(
        &self,
        shape: &Transformer,
        params: &[f32],
        tables: &Tables,
        d_tables: &[f32],
        grads: &mut [f32],
    ) {
        let (d, states) = (shape.width, self.states);
        grads.fill(0.0);
        // output = A P  ⟹  dA = doutput Pᵀ, dP = Aᵀ doutput
        let d_output = View::new(&d_tables[self.output.clone()], states);
        let sizes = (d, 1 + self.last, states);
        let d_unembed = ViewMut::new(grads, states, shape.unembed.start);
        add_transposed_product(d_unembed, View::new(&tables.last, d), d_output, sizes, 1.0);
        let mut d_next = vec![0.0; (1 + self.last) * d];
        let p = View::new(&params[shape.unembed.clone()], states);
        let sizes = (1 + self.last, states, d);
        add_product_with_transposed(ViewMut::new(&mut d_next, d, 0), d_output, p, sizes, 1.0);
        for (l, layer) in shape.layers.iter().enumerate().rev() {
            let (plan, basis) = (&self.layers[l], &tables.layers[l]);
            d_next =
                self.pull_back_layer(shape, params, layer, plan, basis, d_tables, &d_next, grads);
        }
        // A₀ = E₀, A_c = E_c − E₀  ⟹  dE_c = dA_c, dE₀ = dA₀ − Σ_c dA_c
        let d_embed = &mut grads[shape.embed.clone()];
        d_embed.copy_from_slice(&d_next);
        let (first, rest) = d_embed.split_at_mut(d);
        for row in rest.chunks_exact(d) {
            first.iter_mut().zip(row).for_each(|(x0, x)| *x0 -= x);
        }
    }

    /// Adds the gradients of one layer's parameters and returns that of its basis A.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them are plain parts of one formula"
    )]
    fn pull_back_layer(
        &self,
        shape: &Transformer,
        params: &[f32],
        layer: &Layer,
        plan: &LayerPlan,
        basis: &LayerBasis,
        d_tables: &[f32],
        d_next: &[f32],
        grads: &mut [f32],
    ) -> Vec<f32> {
        let (d, m) = (shape.width, plan.m);
        let size = d / layer.heads;
        let scale = LOG2_E / (size as f32).sqrt();
        let [mut d_q, mut d_k, mut d_v] = [(); 3].map(|()| vec![0.0; (1 + m) * d]);
        let views = |data, column| View::new(data, d).from(0, column);
        for (h, places) in plan.heads.iter().enumerate() {
            let column = h * size;
            let (q, k) = (views(&basis.q, column), views(&basis.k, column));
            // asks = A_Q A_K,₁…ᵀ / √m_h
            let d_asks = View::new(&d_tables[places.asks.clone()], plan.padded);
            let d_q_own = ViewMut::new(&mut d_q, d, column);
            add_product(d_q_own, d_asks, k.from(1, 0), (1 + m, m, size), scale);
            let d_k_own = ViewMut::new(&mut d_k, d, d + column);
            add_transposed_product(d_k_own, d_asks, q, (m, 1 + m, size), scale);
            // positions = v A_Kᵀ / √m_h (or A_Q)
            if let Some(v) = &layer.v {
                let positions = View::new(&params[v.clone()], d).from(0, column);
                let d_table = View::new(&d_tables[places.positions.clone()], 1 + plan.padded);
                let (other, d_other) = match self.meets {
                    Meets::Key => (k, &mut d_k),
                    Meets::Query => (q, &mut d_q),
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
            let rows = 1 + m * (1 + h);
            let d_rows = View::new(d_next, d).from(rows, 0);
            match &layer.w_o {
                Some(w_o) => {
                    let w = View::new(&params[w_o.clone()], d).from(column, 0);
                    let v = views(&basis.v, column);
                    let d_next = View::new(d_next, d);
                    let d_first = ViewMut::new(&mut d_v, d, column);
                    add_product_with_transposed(d_first, d_next, w, (1, d, size), 1.0);
                    let d_rest = ViewMut::new(&mut d_v, d, d + column);
                    add_product_with_transposed(d_rest, d_rows, w, (m, d, size), 1.0);
                    let start = w_o.start + column * d;
                    let d_w = ViewMut::new(grads, d, start);
                    add_transposed_product(d_w, v, d_next, (size, 1, d), 1.0);
                    let d_w = ViewMut::new(grads, d, start);
                    add_transposed_product(d_w, v.from(1, 0), d_rows, (size, m, d), 1.0);
                }
                None => {
                    d_v[..d].copy_from_slice(&d_next[..d]);
                    d_v[d..].copy_from_slice(&d_rows.data[..m * d]);
                }
            }
        }
        // A_Q = A W_Q and so on; A itself goes on into A′.
        let mut d_a = d_next[..(1 + m) * d].to_vec();
        let a = View::new(&basis.a, d);
        for (place, d_projected) in [(&layer.w_q, &d_q), (&layer.w_k, &d_k), (&layer.w_v, &d_v)] {
            let d_projected = View::new(d_projected, d);
            let w = View::new(&params[place.clone()], d);
            let sizes = (1 + m, d, d);
            add_product_with_transposed(ViewMut::new(&mut d_a, d, 0), d_projected, w, sizes, 1.0);
            let d_w = ViewMut::new(grads, d, place.start);
            add_transposed_product(d_w, a, d_projected, (d, 1 + m, d), 1.0);
        }
        d_a
    }
}
