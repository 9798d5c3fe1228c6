//! Buffers for a forward and a backward over eight sequences, in the residual stream.

use super::edits::Edits;
use super::engine::Stream;
use crate::lanes::Lane;
use crate::model::block::{Allocator, BlockPass, GROUP};
use crate::model::engine::Engine;
use crate::model::ops::layer_norm::Statistics;
use crate::model::transformer::Transformer;
use crate::model::transformer::coordinates::{self, Coordinates};

/// Activations of eight sequences, kept from the forward for the backward, and the backward's own scratch buffers.
#[derive(Debug)]
pub struct Scratch {
    /// One-hot, [t, k]
    pub(super) symbols: Vec<Lane>,
    /// The stream below every block, and above the last: [t, d] each.
    pub(super) streams: Vec<Vec<Lane>>,
    /// The same after a norm, where there is one.
    pub(super) normed: Vec<Normed>,
    /// The blocks at work, by slot.
    pub(super) passes: Vec<Box<dyn BlockPass>>,
    /// What is in coordinates.
    pub(super) below: Option<coordinates::Scratch>,
    /// Patterns by lane that interventions give, in the order of the plan's: [t, t], or empty.
    pub(super) given: Vec<Vec<Lane>>,
    /// For interventions on what is read and written.
    pub(super) edits: Option<Box<Edits>>,
    /// Gradients of the stream and of what is read after a norm, [t, d].
    pub(super) d_stream: Vec<Lane>,
    pub(super) d_normed: Vec<Lane>,
    /// Of what a group of rows adds to the stream, where that has a mask: [GROUP, d]
    pub(super) masked: Vec<Lane>,
}

/// The stream after a norm.
#[derive(Debug)]
pub(super) struct Normed {
    /// [t, d]
    pub result: Vec<Lane>,
    /// `[t]`
    pub statistics: Vec<Statistics>,
}

impl Normed {
    /// Buffers for a stream, if it has a norm.
    pub fn new(shape: &Transformer, has_norm: bool, buffers: &mut Allocator) -> Self {
        let rows = if has_norm { shape.length } else { 0 };
        Self {
            result: buffers.lanes([rows, shape.width]),
            statistics: buffers.filled([Lane::ZERO; 2], [rows]),
        }
    }
}

impl Stream {
    /// Buffers with interventions.
    pub(super) fn new_scratch(&self, buffers: &mut Allocator) -> Scratch {
        let mut scratch = self.plain_scratch(buffers);
        if let Some(plan) = &self.plan {
            let shape = &*self.shape;
            scratch.given = (plan.patterns.iter())
                .map(|(.., pattern)| match pattern.is_by_lane() {
                    true => buffers.lanes([shape.length, shape.length]),
                    false => Vec::new(),
                })
                .collect();
            let clean = plan.needs_clean();
            let clean = clean.then(|| Box::new(self.plain_scratch(buffers)));
            scratch.edits = Some(Box::new(Edits::new(shape, plan, clean, buffers)));
        }
        scratch
    }

    /// Buffers without interventions.
    fn plain_scratch(&self, buffers: &mut Allocator) -> Scratch {
        let shape = &*self.shape;
        let stream = [shape.length, shape.width];
        let depth = self.below.as_ref().map_or(0, Coordinates::depth);
        let norms = shape.slots.iter().map(|slot| &slot.norm);
        let norms = norms.chain([&shape.final_norm]);
        Scratch {
            symbols: match self.below {
                Some(_) => Vec::new(),
                None => buffers.lanes([shape.length, shape.states]),
            },
            streams: (0..=shape.slots.len())
                .map(|s| match s < depth {
                    true => Vec::new(),
                    false => buffers.lanes(stream),
                })
                .collect(),
            normed: (norms.enumerate())
                .map(|(s, norm)| Normed::new(shape, norm.is_some() && s >= depth, buffers))
                .collect(),
            passes: (shape.slots.iter().enumerate())
                .map(|(s, slot)| match s < depth {
                    true => slot.block.clone().pass(&mut Allocator::counting()),
                    false => {
                        let pass = slot.block.clone().pass(buffers);
                        buffers.count_value(&*pass);
                        pass
                    }
                })
                .collect(),
            below: (self.below.as_ref()).map(|plan| plan.scratch(buffers)),
            given: Vec::new(),
            edits: None,
            d_stream: buffers.lanes(stream),
            d_normed: buffers.lanes(stream),
            masked: match shape.dropout.residual {
                Some(_) => buffers.lanes([GROUP, shape.width]),
                None => Vec::new(),
            },
        }
    }
}
