//! What a block is to the stream, and what the stream gives it.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::Invalid;
use crate::lanes::{Lane, Level};
use crate::model::dropout::DropoutKeys;
use crate::model::intervention::{Pattern, Plan, Port};
use crate::model::layout::{Layout, Start};
use crate::model::ops::attention::AttnProbe;
use crate::model::ops::attention::clamped::Table;
use crate::model::ops::dropout::{Mask, Rate, pairs};
use crate::model::ops::linear;
use crate::model::reference::{Run, Value};
use crate::model::spec::TransformerSpec;
use crate::scratch::Allocator;

/// A kind of block with its settings.
pub trait Design: Debug + Send + Sync {
    /// Whether a row of its output depends on other rows of the stream. It begins a layer then.
    fn gathers(&self) -> bool {
        true
    }

    /// How it meets the stream.
    fn ports(&self) -> Ports;

    /// Lays out its tensors.
    ///
    /// # Errors
    ///
    /// If a setting is impossible in this model.
    fn build(&self, tensors: &mut Tensors) -> Result<Arc<dyn Block>, Invalid>;
}

/// What stands between two states of the residual stream.
pub trait Block: Debug + Send + Sync {
    /// Turns its parameters into what the forward reads. `weights` are those of the whole model.
    fn prepare(&self, _weights: &mut [f32]) {}

    /// The backward of [`prepare`](Self::prepare), at the parameters before it.
    fn pull_back(&self, _params: &[f32], _grads: &mut [f32]) {}

    /// Buffers for eight sequences.
    fn pass(self: Arc<Self>, buffers: &mut Allocator) -> Box<dyn BlockPass>;

    /// The same by its formula: from what every reader sees, [rows, d], to what every source writes.
    fn reference<'t>(&self, run: &mut Run<'t>, read: &[Value<'t>]) -> Vec<Value<'t>>;

    /// Multiplications for the gradient of one sequence, counted from the formula.
    fn multiplications(&self) -> usize;
}

/// A block at work on eight sequences. Rows are positions, and d numbers in the stream.
///
/// ```text
/// forward:   read, by reader  →  gather  →  forward  →  write
/// backward:  read_backward  ←  gather_backward  ←  backward  ←  write_backward
/// ```
///
/// A block that gathers reads all rows, then gathers, and then computes and writes one group of rows after the
/// other; its backward meets the same groups in the same order, from row 0 on, and then all rows. A block that does
/// not gather takes every step with one group. A group has at most [`GROUP`](super::GROUP) rows.
pub trait BlockPass: Debug + Send {
    /// Takes in what reader number `reader` sees of some rows.
    fn read(&mut self, c: Context, reader: usize, rows: Range<usize>, x: &[Lane]);

    /// What needs all rows from 0 to `rows`.
    fn gather(&mut self, _c: Context, _rows: usize) {}

    /// Computes some rows, up to what is written.
    fn forward(&mut self, _c: Context, _rows: Range<usize>) {}

    /// Adds what source number `source` writes in some rows to `out`; what all write if there is no number.
    fn write(&self, c: Context, source: Option<usize>, rows: Range<usize>, out: &mut [Lane]);

    /// Computes once more what [`forward`](Self::forward) keeps of the last group only.
    fn repeat(&mut self, _c: Context, _rows: Range<usize>) {}

    /// The backward of [`write`](Self::write), for every source or for all together, right before that of
    /// [`forward`](Self::forward). Gradients of parameters are added to `grads`, which is that of the whole model.
    fn write_backward(
        &mut self,
        c: Context,
        source: Option<usize>,
        rows: Range<usize>,
        d_out: &[Lane],
        grads: &mut [f32],
    );

    /// The backward of [`forward`](Self::forward), right after it or after [`repeat`](Self::repeat).
    fn backward(&mut self, _c: Context, _rows: Range<usize>, _grads: &mut [f32]) {}

    /// The backward of [`gather`](Self::gather).
    fn gather_backward(&mut self, _c: Context, _rows: usize, _grads: &mut [f32]) {}

    /// The backward of [`read`](Self::read).
    fn read_backward(&mut self, c: Context, reader: usize, rows: Range<usize>, back: &mut ReadBack);

    /// Shows the pattern of every head in the last forward of `rows` rows.
    fn show(&self, _c: Context, _rows: usize, _probe: AttnProbe) {}
}

/// The backward of what one reader saw in some rows.
#[derive(Debug)]
pub struct ReadBack<'a> {
    /// What it saw, [rows, d].
    pub x: &'a [Lane],
    /// The gradient of that, to add to.
    pub dx: &'a mut [Lane],
    /// The gradient of the whole model's parameters, to which that of the block's is added.
    pub grads: &'a mut [f32],
}

impl ReadBack<'_> {
    /// y = x W  ⟹  dx += dy Wᵀ, dW += xᵀ dy, for a tensor W of [d, n].
    pub fn product(
        &mut self,
        level: Level,
        weights: &[f32],
        place: &Range<usize>,
        d: usize,
        dy: &[Lane],
    ) {
        let w = &weights[place.clone()];
        linear::input_backward(level, w, (d, w.len() / d), 0, dy, self.dx);
        linear::add_weight_gradient(level, self.x, dy, d, &mut self.grads[place.clone()]);
    }
}

/// How a block meets the stream.
#[derive(Clone, Debug)]
pub struct Ports {
    /// The name of its norm, if the model has norms: `attn_norm`.
    pub norm: String,
    /// The names of its readers.
    pub readers: Vec<&'static str>,
    /// The name of its sources: `heads`, one for each head, or `mlp`.
    pub sources: &'static str,
    /// What they write, as an activation: `head_out`.
    pub output: String,
    /// Number of heads: each has a pattern and is a source of its own. A block without heads is one source.
    pub heads: usize,
}

impl Ports {
    /// Of a block without heads that reads and writes under one name: `mlp`, with `mlp_norm` and `mlp_out`.
    pub fn single(name: &'static str) -> Self {
        Self {
            norm: format!("{name}_norm"),
            readers: vec![name],
            sources: name,
            output: format!("{name}_out"),
            heads: 0,
        }
    }
}

/// A block in its place.
#[derive(Clone, Debug)]
pub struct Slot {
    pub block: Arc<dyn Block>,
    pub gathers: bool,
    pub layer: usize,
    pub norm: Option<Norm>,
    pub ports: Ports,
    pub readers: Vec<Port>,
    pub sources: Vec<Port>,
    /// Where dropout's numbers of the patterns of its heads start, and of what it writes.
    pub pattern_pairs: u32,
    pub written_pairs: u32,
}

impl Slot {
    /// Its number of heads.
    pub fn heads(&self) -> usize {
        self.ports.heads
    }

    /// The name of what it writes.
    pub fn output_name(&self) -> String {
        let copy = self.sources[0].index.filter(|_| self.heads() == 0);
        let copy = copy.map_or(String::new(), |copy| format!(".{copy}"));
        format!("layers.{}.{}{copy}", self.layer, self.ports.output)
    }
}

/// Where a normalisation's gain and bias are, `[d]` each.
#[derive(Clone, Debug)]
pub struct Norm {
    pub gain: Range<usize>,
    pub bias: Range<usize>,
}

/// The sizes of a model, and the place for a block's tensors.
#[derive(Debug)]
pub struct Tensors<'a> {
    pub states: usize,
    /// Longest context, t.
    pub length: usize,
    /// Width of the stream, d.
    pub width: usize,
    /// What the whole transformer is set to: blocks without a setting of their own follow it.
    pub spec: &'a TransformerSpec,
    pub(in crate::model) layout: &'a mut Layout,
    pub(in crate::model) layer: usize,
    /// Which block of this kind it is, in its layer.
    pub(in crate::model) copy: usize,
    /// How often entries of relative positions are dropped.
    pub(in crate::model) positions_dropped: Option<Rate>,
}

impl Tensors<'_> {
    /// Adds a tensor of this block that starts from random weights, and returns its place. Weight decay applies to
    /// matrices that multiply activations.
    pub fn add(&mut self, name: &str, shape: &[usize], decays: bool) -> Range<usize> {
        self.push(name, shape, decays, Start::Normal)
    }

    /// Adds a tensor that starts at one number, such as a gain or a bias, and returns its place. It does not decay.
    pub fn add_constant(&mut self, name: &str, shape: &[usize], start: f32) -> Range<usize> {
        self.push(name, shape, false, Start::Constant(start))
    }

    fn push(&mut self, name: &str, shape: &[usize], decays: bool, from: Start) -> Range<usize> {
        let name = match (self.copy, name.split_once('.')) {
            (copy @ 1.., Some((part, rest))) => format!("{part}.{copy}.{rest}"),
            _ => name.to_owned(),
        };
        let name = format!("layers.{}.{name}", self.layer);
        self.layout.push_from(name, shape, decays, from)
    }
}

/// What a block may know when it computes.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The instruction level to use.
    pub level: Level,
    /// The model's parameters, as blocks prepared them.
    pub weights: &'a [f32],
    pub(in crate::model) layer: usize,
    /// The keys of masks, in training with dropout.
    pub(in crate::model) dropout: Option<&'a DropoutKeys>,
    /// How often entries of patterns are dropped, and where their numbers start.
    pub(in crate::model) pattern_rate: Option<Rate>,
    pub(in crate::model) pattern_pairs: u32,
    pub(in crate::model) plan: Option<&'a Plan>,
    /// Patterns by lane, in the order of the plan's.
    pub(in crate::model) given: &'a [Vec<Lane>],
    /// From one row of them to the next.
    pub(in crate::model) length: usize,
}

impl<'a> Context<'a> {
    /// A tensor.
    pub fn weight(&self, place: &Range<usize>) -> &'a [f32] {
        &self.weights[place.clone()]
    }

    /// Dropout's mask of a head's pattern.
    pub fn mask(&self, head: usize) -> Option<Mask> {
        let (keys, rate) = self.dropout.zip(self.pattern_rate)?;
        let before = pairs(head * self.length, self.length);
        let first = self.pattern_pairs.wrapping_add(before);
        Some(Mask::new(keys, rate, first, self.length))
    }

    /// What an intervention does to a head's pattern.
    pub(in crate::model) fn change(&self, head: usize) -> Option<Pattern> {
        self.plan?.pattern(self.layer, head)
    }

    /// The pattern that a head is given, if it is.
    pub(in crate::model) fn table(&self, head: usize) -> Option<Table<'a>> {
        let mut patterns = self.plan?.patterns.iter();
        let index = patterns.position(|(l, h, _)| (*l, *h) == (self.layer, head))?;
        let (weights, stride) = (&self.given[index][..], self.length);
        match self.change(head)? {
            Pattern::Target(target) => Some(Table::of(target, weights, stride)),
            Pattern::Data(_) => Some(Table::Lanes { weights, stride }),
            _ => None,
        }
    }
}
