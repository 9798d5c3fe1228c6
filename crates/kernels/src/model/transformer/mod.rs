//! The transformer: a residual stream and a list of blocks. Two engines compute it: [`stream`] for every list, and
//! [`coordinates`] for those (or for the first layers of those) that need only a few numbers per position.
//!
//! ```text
//! h⁰_i = E[x_i] (+ absolute position)
//! h′   = h + block(norm h)               for every block
//! logits = norm(h) P (+ b)
//! ```
//!
//! `norm` is the identity unless `layer_norm` is set. Row vectors multiply matrices from the left.
//!
//! A layer is a block that gathers, such as attention, and those up to the next one that do not, such as MLPs.

pub mod coordinates;
pub(super) mod stream;

use std::ops::Range;
use std::sync::Arc;

use super::block::{Attention, Block, BlockSpec, Norm, Positions, Slot, Tensors};
use super::dropout::{Dropout, Rates};
use super::intervention::Port;
use super::layout::{Layout, Start};
use super::ops::dropout::pairs;
use super::spec::TransformerSpec;
use crate::{Invalid, require};

/// A transformer's shape and where its parameters are.
#[derive(Clone, Debug)]
pub struct Transformer {
    #[doc(hidden)]
    pub states: usize,
    #[doc(hidden)]
    pub length: usize,
    #[doc(hidden)]
    pub width: usize,
    /// [k, d]
    #[doc(hidden)]
    pub embed: Range<usize>,
    /// [t, d], for absolute positions
    #[doc(hidden)]
    pub embed_positions: Option<Range<usize>>,
    #[doc(hidden)]
    pub slots: Vec<Slot>,
    #[doc(hidden)]
    pub layers: Vec<Layer>,
    /// What training drops
    #[doc(hidden)]
    pub dropout: Rates,
    #[doc(hidden)]
    pub final_norm: Option<Norm>,
    /// [d, k]. If it is tied to the embedding, no parameters are there: see [`tied`](Self::tied).
    #[doc(hidden)]
    pub unembed: Range<usize>,
    /// Whether it is the embedding turned over. It stands behind all parameters then, where engines prepare it.
    #[doc(hidden)]
    pub tied: bool,
    /// `[k]`, if the output has a bias
    #[doc(hidden)]
    pub unembed_bias: Option<Range<usize>>,
    #[doc(hidden)]
    pub layout: Layout,
}

/// One layer: what fast paths and descriptions of weights look at.
#[derive(Clone, Debug)]
pub struct Layer {
    pub slots: Range<usize>,
    /// Its first block, if that is attention.
    pub attention: Option<Arc<Attention>>,
    /// The norm of its first block.
    pub norm: Option<Norm>,
}

impl Layer {
    /// Whether it is attention and nothing else.
    pub fn is_attention_only(&self) -> bool {
        self.attention.is_some() && self.slots.len() == 1
    }
}

const MAX_WIDTH: usize = 4096;

impl Transformer {
    /// Checks the settings and lays out the parameters for k = `states` and t = `length`.
    pub fn new(spec: &TransformerSpec, states: usize, length: usize) -> Result<Self, Invalid> {
        let width = spec.width;
        require(
            (1..=MAX_WIDTH).contains(&width),
            "width",
            width,
            &format!("a width from 1 to {MAX_WIDTH}"),
        )?;
        let blocks = spec.block_list()?;
        let mut layout = Layout::default();
        let mut shape = Self {
            states,
            length,
            width,
            embed: layout.push("embed.E".into(), &[states, width], false),
            embed_positions: (spec.positions == Positions::Absolute)
                .then(|| layout.push("embed.positions".into(), &[length, width], false)),
            slots: Vec::new(),
            layers: Vec::new(),
            dropout: spec.dropout.resolve()?,
            final_norm: None,
            unembed: 0..0,
            tied: spec.tied,
            unembed_bias: None,
            layout,
        };
        // Dropout numbers pairs of entries from place to place, whether or not anything is dropped there.
        let mut next_pair = pairs(length, width);
        for (index, block) in blocks.iter().enumerate() {
            let pushed = shape.push(block, spec, &mut next_pair);
            pushed.map_err(|error| match spec.blocks.is_empty() {
                true => error,
                false => error.within(&format!("blocks[{index}]")),
            })?;
        }
        if let Dropout::ByPlace(rates) = spec.dropout {
            let has_table = |own: &Arc<Attention>| own.v.is_some();
            let mut blocks = shape
                .layers
                .iter()
                .filter_map(|layer| layer.attention.as_ref());
            let fits = rates.positions == 0.0 || blocks.any(has_table);
            let allowed = "nothing but 0: no attention of this model has relative positions";
            require(fits, "dropout.positions", rates.positions, allowed)?;
        }
        let layout = &mut shape.layout;
        shape.final_norm = spec.layer_norm.then(|| {
            let mut constant = |name: &str, value| {
                layout.push_from(name.into(), &[width], false, Start::Constant(value))
            };
            Norm {
                gain: constant("final_norm.gain", 1.0),
                bias: constant("final_norm.bias", 0.0),
            }
        });
        if !spec.tied {
            shape.unembed = layout.push("unembed.P".into(), &[width, states], true);
        }
        let biases = spec.biases;
        shape.unembed_bias = biases.then(|| {
            let zero = Start::Constant(0.0);
            layout.push_from("unembed.bias".into(), &[states], false, zero)
        });
        if spec.tied {
            shape.unembed = layout.len()..layout.len() + width * states;
        }
        spec.init_std.check(layout)?;
        Ok(shape)
    }

    /// Appends a block.
    fn push(
        &mut self,
        block: &BlockSpec,
        spec: &TransformerSpec,
        next_pair: &mut u32,
    ) -> Result<(), Invalid> {
        let (design, place) = (block.design()?, self.slots.len());
        let (ports, gathers) = (design.ports(), design.gathers());
        if gathers || self.layers.is_empty() {
            self.layers.push(Layer {
                slots: place..place,
                attention: None,
                norm: None,
            });
        }
        let layer = self.layers.len() - 1;
        let own = &mut self.layers[layer];
        let same = |slot: &&Slot| slot.ports.sources == ports.sources;
        let copy = self.slots[own.slots.clone()].iter().filter(same).count();
        let mut tensors = Tensors {
            states: self.states,
            length: self.length,
            width: self.width,
            spec,
            layout: &mut self.layout,
            layer,
            copy,
            positions_dropped: self.dropout.positions,
        };
        let norm = spec.layer_norm.then(|| Norm {
            gain: tensors.add_constant(&format!("{}.gain", ports.norm), &[self.width], 1.0),
            bias: tensors.add_constant(&format!("{}.bias", ports.norm), &[self.width], 0.0),
        });
        let block: Arc<dyn Block> = match block {
            BlockSpec::Attention(attention) => {
                let attention = Arc::new(attention.attention(&mut tensors)?);
                own.attention = Some(attention.clone());
                attention
            }
            _ => design.build(&mut tensors)?,
        };
        if own.slots.is_empty() {
            own.norm = norm.clone();
        }
        own.slots.end += 1;
        let port = |part, index| Port {
            layer: Some(layer),
            part,
            index,
        };
        let one = (copy > 0).then_some(copy);
        let stream = pairs(self.length, self.width);
        let pattern_pairs = *next_pair;
        let patterns = pairs(self.length, self.length).wrapping_mul(ports.heads as u32);
        let written_pairs = pattern_pairs.wrapping_add(patterns);
        *next_pair = written_pairs.wrapping_add(stream);
        self.slots.push(Slot {
            block,
            gathers,
            layer,
            norm,
            readers: ports.readers.iter().map(|name| port(name, one)).collect(),
            sources: match ports.heads {
                0 => vec![port(ports.sources, one)],
                heads => (0..heads).map(|h| port(ports.sources, Some(h))).collect(),
            },
            ports,
            pattern_pairs,
            written_pairs,
        });
        Ok(())
    }

    /// Number of layers, L.
    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// The length of the parameters as engines prepare them: with the unembedding, if it is tied.
    pub(in crate::model) fn prepared_len(&self) -> usize {
        self.layout.len().max(self.unembed.end)
    }

    /// Writes the unembedding behind all parameters, if it is tied: P = Eᵀ.
    pub(in crate::model) fn untie(&self, weights: &mut [f32]) {
        if self.tied {
            let (own, unembed) = weights.split_at_mut(self.unembed.start);
            let embed = &own[self.embed.clone()];
            for (symbol, row) in embed.chunks_exact(self.width).enumerate() {
                for (column, &value) in row.iter().enumerate() {
                    unembed[column * self.states + symbol] = value;
                }
            }
        }
    }

    /// The backward of [`untie`](Self::untie): adds the gradient of a tied unembedding to that of the embedding.
    pub(in crate::model) fn untie_backward(&self, d_unembed: &[f32], grads: &mut [f32]) {
        let d_embed = &mut grads[self.embed.clone()];
        for (symbol, row) in d_embed.chunks_exact_mut(self.width).enumerate() {
            for (column, sum) in row.iter_mut().enumerate() {
                *sum += d_unembed[column * self.states + symbol];
            }
        }
    }

    /// Whether the first layer is attention with a table of vectors by lag.
    pub fn begins_with_lags(&self) -> bool {
        let first = self.layers[0].attention.as_ref();
        first.is_some_and(|attention| attention.v.is_some())
    }

    /// Heads of layer `l`.
    pub fn heads(&self, l: usize) -> usize {
        self.layers[l]
            .attention
            .as_ref()
            .map_or(0, |attention| attention.heads)
    }

    /// Whether a source is a head.
    pub(in crate::model) fn is_head(&self, source: Port) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|slot| slot.heads() > 0 && slot.sources.contains(&source))
    }

    /// The attention of a layer that begins with attention.
    pub(in crate::model) fn attention(&self, l: usize) -> &Attention {
        let attention = self.layers[l].attention.as_ref();
        attention.expect("only asked for layers that begin with attention")
    }
}

/// Rows in groups of at most `size`.
fn groups(rows: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(size)
        .map(move |first| first..(first + size).min(end))
}
