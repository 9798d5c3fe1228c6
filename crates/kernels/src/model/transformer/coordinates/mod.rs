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
//! matter of the tables, which have n(E) in place of E, and the coordinates stay one-hot.
//!
//! A step computes the tables once ([`tables`]), runs all blocks on them ([`block`]), and carries the tables'
//! gradients back to the parameters once ([`steps`]).

mod block;
mod bound;
mod changed;
pub mod dense;
mod engine;
mod head;
mod narrow;
mod norm;
mod one_hot;
mod rows;
mod scratch;
mod steps;
mod tables;

use std::ops::Range;
use std::sync::Arc;

use self::changed::Change;
use self::steps::Steps;
use super::{Norm, Transformer};
use crate::lanes::Level;
use crate::model::choose::{Choice, Kernel};
use crate::model::intervention::Plan;
use crate::model::ops::attention::RelativeTerm;

pub use changed::takes;
pub use scratch::Scratch;
pub use tables::Tables;

/// How a transformer, or its first layers, work in coordinates: their sizes and where their tables are.
#[derive(Debug)]
pub struct Coordinates {
    shape: Arc<Transformer>,
    level: Level,
    /// What positions meet; the key if there are none, whose tables are zero.
    relative: RelativeTerm,
    /// The layers, and the output or the stream that goes on after them, which has no heads.
    stages: Vec<Stage>,
    /// Whether all layers are in coordinates, and so is the output: k logits, or else the d numbers of the stream.
    ends: bool,
    /// [1 + m of the last stage, outputs]
    output: Range<usize>,
    /// Length of all tables together.
    size: usize,
    /// From the parameters to the tables.
    steps: Steps,
    plan: Arc<Plan>,
}

/// One layer in coordinates, or what is after the last one.
#[derive(Debug)]
struct Stage {
    /// Coordinates per position of the stream below it.
    stream: usize,
    /// Those that it reads, m: one more after a norm, except in the first layer.
    m: usize,
    /// The norm of what it reads.
    norm: Option<Norm>,
    /// Where the table of that is, if it is one of positions: see [`norm`].
    form: Option<Range<usize>>,
    kernels: Vec<Kernel>,
    heads: Vec<HeadPlan>,
}

impl Stage {
    fn uses(&self, kernel: Kernel) -> bool {
        self.kernels.contains(&kernel)
    }
}

/// Coordinates per position that each of the first `layers` layers reads, and those of the stream after them. They
/// stop growing at a number that is too large for any use.
pub fn growth(shape: &Transformer, layers: usize) -> (Vec<usize>, usize) {
    const TOO_MANY: usize = 1 << 16;
    let mut stream = shape.states - 1;
    let sizes = shape.layers[..layers].iter().enumerate().map(|(l, layer)| {
        let read = stream + usize::from(l > 0 && layer.norm.is_some());
        stream = (stream + shape.heads(l) * read).min(TOO_MANY);
        read
    });
    (sizes.collect(), stream)
}

/// Where a head's tables are.
#[derive(Debug)]
struct HeadPlan {
    /// [1 + m, m]
    qk: Range<usize>,
    /// [t, 1 + m]
    positions: Range<usize>,
    /// What interventions do to it.
    change: Change,
}

impl Coordinates {
    /// The plan for the layers of `shape` that are in coordinates, under interventions that [`changed`] can make.
    pub fn new(shape: Arc<Transformer>, choice: &Choice, level: Level, plan: &Arc<Plan>) -> Self {
        let mut size = 0;
        let mut take = |length: usize| {
            size += length;
            size - length..size
        };
        let ends = choice.engine.kernel == Kernel::Coordinates;
        let (depth, mut stream) = (choice.layers.len(), shape.states - 1);
        let stages = (0..=depth).map(|l| {
            let norm = match shape.layers[..depth].get(l) {
                Some(layer) => layer.norm.clone(),
                None => shape.final_norm.clone().filter(|_| ends),
            };
            let form = norm.as_ref().filter(|_| l > 0);
            let form = form.map(|_| take((1 + stream) * (1 + stream)));
            let m = stream + usize::from(form.is_some());
            let heads = if l < depth { shape.heads(l) } else { 0 };
            let heads = (0..heads).map(|h| HeadPlan {
                change: Change::of(plan, l, h),
                qk: take((1 + m) * m),
                positions: take(shape.length * (1 + m)),
            });
            let rules = choice.layers.get(l).into_iter().flatten();
            let stage = Stage {
                stream,
                m,
                norm,
                form,
                kernels: rules.map(|rule| rule.kernel).collect(),
                heads: heads.collect(),
            };
            stream += m * stage.heads.len();
            stage
        });
        let stages: Vec<Stage> = stages.collect();
        let outputs = if ends { shape.states } else { shape.width };
        let output = take((1 + stages[depth].m) * outputs);
        let mut all = Self {
            level,
            relative: match shape.attention(0).scheme.relative {
                RelativeTerm::Query => RelativeTerm::Query,
                RelativeTerm::Key | RelativeTerm::Absent => RelativeTerm::Key,
            },
            stages,
            ends,
            output,
            size,
            steps: Steps::new(0, 0),
            plan: plan.clone(),
            shape,
        };
        all.steps = all.list_steps();
        all
    }

    /// How many layers are in coordinates.
    pub fn depth(&self) -> usize {
        self.stages.len() - 1
    }

    /// Numbers per position of the output.
    fn outputs(&self) -> usize {
        self.output.len() / (1 + self.stages[self.depth()].m)
    }

    /// How many leading coordinates that stage `at` reads are data, and need no gradient: the symbols. After a norm,
    /// all depend on σ.
    fn data(&self, at: usize) -> usize {
        match self.stages[at].form {
            Some(_) => 0,
            None => self.shape.states - 1,
        }
    }
}
