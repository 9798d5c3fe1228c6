//! Buffers for a forward and a backward over one block, in the residual stream.

use super::changed::Changed;
use super::engine::Residual;
use super::layer::{LayerScratch, Read};
use super::read::Normed;
use crate::lanes::Lane;
use crate::model::ops::attention::fast::{GROUP, TileRows};
use crate::model::transformer::{Layer, MLP_FACTOR, coordinates};

/// Activations of one block, kept from the forward for the backward, and the backward's own scratch buffers.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// One-hot, [t, k]
    pub(super) symbols: Vec<Lane>,
    pub(super) layers: Vec<LayerScratch>,
    /// Output of the last layer, [t, d]
    pub(super) resid: Vec<Lane>,
    pub(super) final_normed: Normed,
    /// Output of attention and its gradient by head, [heads, t, d / heads]: used where there are several.
    pub(super) by_head: [Vec<Lane>; 2],
    /// What the current group of rows keeps, by head.
    pub(super) groups: Vec<TileRows>,
    /// What is below the first MLP, where that part is in coordinates.
    pub(super) below: Option<coordinates::Scratch>,
    /// For interventions.
    pub(super) changed: Option<Box<Changed>>,
    pub(super) slopes: Slopes,
}

/// Gradients of activations, [t, d] each.
#[derive(Clone, Debug)]
pub(super) struct Slopes {
    /// Of the residual stream: after a layer, then below it.
    pub(super) resid: Vec<Lane>,
    pub(super) normed: Vec<Lane>,
    pub(super) read: Read,
    pub(super) mixed: Vec<Lane>,
    /// Of the positions, by lane
    pub(super) positions: Vec<Lane>,
    /// [t, 4d]
    pub(super) hidden: Vec<Lane>,
    /// Of what a group of rows adds to the stream, where that has a mask: [GROUP, d]
    pub(super) added: Vec<Lane>,
}

impl Slopes {
    /// Clears the gradients to which later rows add.
    pub fn begin(&mut self) {
        self.read.keys.fill(Lane::ZERO);
        self.read.values.fill(Lane::ZERO);
        self.positions.fill(Lane::ZERO);
    }
}

impl Residual {
    /// Scratch buffers for a forward and a backward over one block.
    pub(super) fn new_scratch(&self) -> Scratch {
        let changed = self.plan.as_ref().map(|plan| {
            let changed = Changed::new(&self.shape, plan, || self.plain_scratch());
            Box::new(changed)
        });
        Scratch {
            changed,
            ..self.plain_scratch()
        }
    }

    /// The same without interventions.
    fn plain_scratch(&self) -> Scratch {
        let stream = || vec![Lane::ZERO; self.shape.length * self.shape.width];
        let normed = || Normed::new(self.shape.length, self.shape.width);
        let by_symbol = || vec![Lane::ZERO; self.shape.length * self.shape.states];
        let hidden = |layer: &Layer| {
            let size = layer
                .mlp
                .as_ref()
                .map_or(0, |_| MLP_FACTOR * self.shape.width);
            vec![Lane::ZERO; self.shape.length * size]
        };
        let layer = |layer| LayerScratch {
            input: stream(),
            normed: normed(),
            read: Read::new(self.shape.length * self.shape.width),
            mixed: stream(),
            middle: stream(),
            mlp_normed: normed(),
            hidden: hidden(layer),
            active: hidden(layer),
        };
        let heads = self.shape.layers.iter().map(|layer| layer.heads).max();
        Scratch {
            symbols: by_symbol(),
            layers: self.shape.layers.iter().map(layer).collect(),
            resid: stream(),
            final_normed: normed(),
            by_head: [stream(), stream()],
            groups: vec![TileRows::new(self.shape.length, self.shape.width); heads.unwrap_or(0)],
            below: self.below.as_ref().map(coordinates::Coordinates::work),
            changed: None,
            slopes: Slopes {
                resid: stream(),
                normed: stream(),
                read: Read::new(self.shape.length * self.shape.width),
                mixed: stream(),
                positions: stream(),
                hidden: hidden(&self.shape.layers[0]),
                added: match self.shape.dropout.residual {
                    Some(_) => vec![Lane::ZERO; GROUP * self.shape.width],
                    None => Vec::new(),
                },
            },
        }
    }
}
