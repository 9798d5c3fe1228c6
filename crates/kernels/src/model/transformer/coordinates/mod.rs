//! The transformer in coordinates: exact, and much smaller than its residual stream.
//!
//! Without MLP and absolute positions, everything in the stream is an affine function of a few numbers per
//! position. Write
//!
//! > h_i = A₀ + y_i A₁…
//!
//! where y_i ∈ Rᵐ depends on the data and A ∈ R^((1+m)×d) on the parameters only. At the bottom, y_i is the
//! one-hot symbol without its first entry (one-hot entries sum to one, so the first is redundant), A₀ = E₀
//! and A_c = E_c − E₀. Pushing A through W_Q, W_K and W_V gives each head two small tables,
//!
//! > qk = A_Q A_K,₁…ᵀ / √d_head   ((1+m)×m),   positions = v A_Kᵀ / √d_head   (t×(1+m)),
//!
//! from which the head's scores follow, up to terms that do not depend on j and cancel in the softmax:
//!
//! > w_i = qk₀ + y_i qk₁…,   s_ij = positions_δ0 + (w_i + positions_δ1…) · y_j,   δ = i − j.
//!
//! Both tables are kept in units of ln 2, because powers of two are cheaper than powers of e.
//!
//! (With relative-query positions, the second table has A_Q instead of A_K, and y_i instead of y_j beside
//! it.) The averages c_i = Σ_j p_ij y_j are m more coordinates: averages of numbers that sum to one sum to
//! one. So the layer's output has that form again, with y′ = [y, c¹ … c^H] and A′ = [A₀ + Σ_h A_V,₀ W_O; A₁…;
//! A_V,₁… W_O …], and logits = h P is one more table. (Where only the first layers are in coordinates, they end
//! in the stream, h = y′ A′.)
//!
//! With layer norm, attention and output read n_i = b + (h_i − mean) / σ_i ∘ g instead of h_i. That is affine
//! in z_i = (1, y_i) / σ_i, one number more per position, and σ_i² is a quadratic form in (1, y_i), whose
//! coefficients are one more table ([`norm`]). So a layer with a norm has z and the basis of n where others
//! have y and A: c_i = Σ_j p_ij z_j. In the first layer σ depends on the symbol alone. There the norm is a
//! matter of the tables, which have n(E) in place of E, and the coordinates stay one-hot ([`basis`]).
//!
//! A step computes the tables once ([`Coordinates::prepare`]), runs all blocks on them ([`block`]), and
//! carries the tables' gradients back to the parameters once ([`Coordinates::pull_back`]).

mod basis;
mod block;
mod bound;
mod changed;
pub mod dense;
mod engine;
mod head;
mod narrow;
mod norm;
mod observe;
mod one_hot;
mod output;
mod rows;
mod scratch;
mod tables;

use std::ops::Range;

use self::changed::{Change, Edges};
use self::norm::NormPlan;
use super::Transformer;
use crate::lanes::Level;
use crate::model::choose::{Choice, Kernel};
use crate::model::intervention::Plan;
use crate::model::ops::attention::EXPONENTIAL;
use crate::model::ops::attention::RelativeTerm;

pub use changed::takes;
pub use engine::InCoordinates;
pub use scratch::Scratch;
pub use tables::Tables;

/// How a transformer works in coordinates: its sizes and where its tables are.
#[derive(Clone, Debug)]
pub struct Coordinates {
    states: usize,
    length: usize,
    meets: Meets,
    level: Level,
    layers: Vec<LayerPlan>,
    /// Whether the first layer has a norm.
    first_norm: bool,
    /// Coordinates of the stream after the last layer.
    last: usize,
    /// The norm before the output.
    last_norm: Option<NormPlan>,
    /// Coordinates that the output reads: `last`, or one more after a norm.
    read_last: usize,
    /// Size of the output: k logits, or the d numbers of the stream, where it continues from there.
    outputs: usize,
    /// [1 + read_last, outputs]
    output: Range<usize>,
    /// Length of all tables together.
    size: usize,
    /// What single readers do not see, by interventions.
    edges: Edges,
}

/// Whether positions meet the key or the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meets {
    Key,
    Query,
}

/// One layer in coordinates.
#[derive(Clone, Debug)]
pub struct LayerPlan {
    /// Coordinates per position that attention reads, m.
    m: usize,
    /// Coordinates of the stream below it: the same, unless there is a norm in between.
    stream: usize,
    norm: Option<NormPlan>,
    kernels: Vec<Kernel>,
    heads: Vec<HeadPlan>,
}

impl LayerPlan {
    fn uses(&self, kernel: Kernel) -> bool {
        self.kernels.contains(&kernel)
    }
}

/// Coordinates per position of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Of the stream below it.
    pub stream: usize,
    /// Of what its attention reads: one more after a norm, except in the first layer.
    pub read: usize,
}

/// The coordinates of each of the first `layers` layers, and of the stream after them. They stop growing at a
/// number that is too large for any use.
pub fn growth(shape: &Transformer, layers: usize) -> (Vec<Size>, usize) {
    const TOO_MANY: usize = 1 << 16;
    let mut stream = shape.states - 1;
    let sizes = shape.layers[..layers].iter().enumerate().map(|(l, layer)| {
        let size = Size {
            stream,
            read: stream + usize::from(l > 0 && layer.norm.is_some()),
        };
        stream = (stream + shape.heads(l) * size.read).min(TOO_MANY);
        size
    });
    let sizes = sizes.collect();
    (sizes, stream)
}

/// Where a head's tables are.
#[derive(Clone, Debug)]
pub struct HeadPlan {
    /// [1 + m, m]
    qk: Range<usize>,
    /// [t, 1 + m]
    positions: Range<usize>,
    /// `[1 + m]`: the part of a score that does not depend on j; only needed for recorded scores.
    constant: Range<usize>,
    /// What interventions do to it.
    change: Change,
}

impl Coordinates {
    /// The plan for the layers of `shape` that are in coordinates, under interventions that [`changed`] can make.
    pub fn new(shape: &Transformer, choice: &Choice, level: Level, plan: &Plan) -> Self {
        let mut size = 0;
        let mut take = |length: usize| {
            size += length;
            size - length..size
        };
        let mut layers = Vec::new();
        let (growth, last) = growth(shape, choice.layers.len());
        for ((l, layer), (kernels, Size { stream, read: m })) in shape
            .layers
            .iter()
            .enumerate()
            .zip(choice.layers.iter().zip(growth))
        {
            let norm = layer.norm.as_ref().filter(|_| l > 0);
            let norm = norm.map(|_| NormPlan::new(stream, &mut take));
            let heads = (0..shape.heads(l)).map(|h| HeadPlan {
                change: Change::of(plan, l, h),
                qk: take((1 + m) * m),
                positions: take(shape.length * (1 + m)),
                constant: take(1 + m),
            });
            layers.push(LayerPlan {
                m,
                stream,
                norm,
                kernels: kernels.clone(),
                heads: heads.collect(),
            });
        }
        let ends = choice.engine == Kernel::Coordinates;
        let last_norm = shape.final_norm.as_ref().filter(|_| ends);
        let last_norm = last_norm.map(|_| NormPlan::new(last, &mut take));
        let read_last = last + usize::from(last_norm.is_some());
        let outputs = if ends { shape.states } else { shape.width };
        let output = take((1 + read_last) * outputs);
        Self {
            states: shape.states,
            length: shape.length,
            meets: match shape.attention(0).scheme.relative {
                RelativeTerm::Query => Meets::Query,
                RelativeTerm::Key | RelativeTerm::Absent => Meets::Key,
            },
            level,
            layers,
            first_norm: shape.layers[0].norm.is_some(),
            last,
            last_norm,
            read_last,
            outputs,
            output,
            size,
            edges: Edges::of(plan),
        }
    }

    /// How many layers are in coordinates.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// Multiplications for the gradient of one sequence. This is an upper bound: it includes gradients of
    /// data and a second pass over the last layer's scores, which are never computed.
    pub fn multiplications(&self) -> usize {
        let (t, k) = (self.length, self.states);
        let (pairs, top) = (t * (t + 1) / 2, self.layers.len() - 1);
        let mut count = 0;
        for (l, plan) in self.layers.iter().enumerate() {
            let (m, heads) = (plan.m, plan.heads.len());
            // A score and an average forward; a slope, and shares for row, key (two) and lag backward.
            let forward = 2 * m + EXPONENTIAL;
            let again = if l == 0 || l == top { 0 } else { forward };
            let attention = match l {
                0 => 2 * k,
                _ => forward + again + 5 * m + 1,
            };
            let last = plan.stream + m * heads;
            count += heads * (attention * pairs + 3 * m * m * t) + 3 * last * k * t;
        }
        let norms = self.layers.iter().filter_map(|plan| plan.norm.as_ref());
        // A quadratic form forward; its gradient by coordinate and by coefficient backward.
        let squares = norms.chain(&self.last_norm).map(|norm| 3 * norm.size());
        count + squares.sum::<usize>() * t
    }

    /// How many leading coordinates of the stream are data, and need no gradient: the symbols.
    fn data(&self) -> usize {
        self.states - 1
    }

    /// Coordinates of the stream below layer `at`, or after the last.
    fn stream(&self, at: usize) -> usize {
        self.layers.get(at).map_or(self.last, |plan| plan.stream)
    }

    /// The norm of positions before layer `at`, or before the output.
    fn norm(&self, at: usize) -> Option<&NormPlan> {
        match self.layers.get(at) {
            Some(plan) => plan.norm.as_ref(),
            None => self.last_norm.as_ref(),
        }
    }

    /// The same of the coordinates that attention of layer `l` reads: after a norm, all depend on σ.
    fn data_read(&self, l: usize) -> usize {
        match self.layers[l].norm {
            Some(_) => 0,
            None => self.data(),
        }
    }

    /// Number of entries of all tables: the length of a gradient by table.
    pub fn size(&self) -> usize {
        self.size
    }
}
