//! Buffers for a forward and a backward over one block, in coordinates.

use super::norm::NormScratch;
use super::{Coordinates, HeadPlan, LayerPlan, narrow, one_hot};
use crate::lanes::Lane;
use crate::model::choose::Kernel;
use crate::model::ops::attention::fast;
use crate::model::ops::convolution::Planes;
use crate::scratch::Allocator;

/// Activations of one block and scratch buffers for its backward.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// One-hot, k planes of t.
    pub(super) symbols: Planes<Lane>,
    pub(super) layers: Vec<LayerScratch>,
    pub(super) last: Option<LastScratch>,
}

#[derive(Clone, Debug)]
pub(super) struct LayerScratch {
    /// The stream below it, [t, stream]
    pub(super) y: Vec<Lane>,
    pub(super) dy: Vec<Lane>,
    pub(super) norm: Option<NormScratch>,
    pub(super) heads: Vec<HeadScratch>,
}

impl LayerScratch {
    /// What attention reads, [t, m].
    pub(super) fn read(&self) -> &[Lane] {
        self.norm.as_ref().map_or(&self.y, |norm| &norm.z)
    }
}

/// The stream after the last layer, where a norm follows.
#[derive(Clone, Debug)]
pub(super) struct LastScratch {
    /// [t, last]
    pub(super) y: Vec<Lane>,
    pub(super) dy: Vec<Lane>,
    pub(super) norm: NormScratch,
}

#[derive(Clone, Debug)]
pub(super) struct HeadScratch {
    /// [t, m]
    pub(super) w: Vec<Lane>,
    pub(super) c: Vec<Lane>,
    pub(super) dw: Vec<Lane>,
    pub(super) dc: Vec<Lane>,
    pub(super) group: HeadRows,
    /// Of the first layer.
    pub(super) convolution: Option<one_hot::OneHotScratch>,
    /// What interventions on its pattern need.
    pub(super) given: Vec<Lane>,
}

/// The rows that a head is working on.
#[derive(Clone, Debug)]
pub(super) enum HeadRows {
    Narrow(narrow::NarrowRows),
    Wide(Box<fast::TileRows>),
}

impl Scratch {
    /// Clears what gradients are added to.
    pub(super) fn start_backward(&mut self) {
        for layer in &mut self.layers {
            layer.dy.fill(Lane::ZERO);
            if let Some(norm) = &mut layer.norm {
                norm.dz.fill(Lane::ZERO);
            }
        }
    }
}

impl Coordinates {
    /// Scratch buffers for a forward and a backward over one block.
    pub fn work(&self, buffers: &mut Allocator) -> Scratch {
        let t = self.length;
        let layers = self.layers.iter().map(|plan| LayerScratch {
            y: buffers.lanes([t, plan.stream]),
            dy: buffers.lanes([t, plan.stream]),
            norm: (plan.norm.as_ref()).map(|norm| NormScratch::new(norm, t, buffers)),
            heads: (plan.heads.iter())
                .map(|own| self.head_scratch(plan, own, buffers))
                .collect(),
        });
        let layers = layers.collect();
        Scratch {
            symbols: Planes::new(t, self.states, Lane::ZERO, buffers),
            layers,
            last: self.last_norm.as_ref().map(|norm| LastScratch {
                y: buffers.lanes([t, self.last]),
                dy: buffers.lanes([t, self.last]),
                norm: NormScratch::new(norm, t, buffers),
            }),
        }
    }

    fn head_scratch(
        &self,
        plan: &LayerPlan,
        own: &HeadPlan,
        buffers: &mut Allocator,
    ) -> HeadScratch {
        let (t, m) = (self.length, plan.m);
        let scratch = HeadScratch {
            given: own.change.buffer(t, buffers),
            w: buffers.lanes([t, m]),
            c: buffers.lanes([t, m]),
            dw: buffers.lanes([t, m]),
            dc: buffers.lanes([t, m]),
            group: match plan.uses(Kernel::Narrow) {
                true => HeadRows::Narrow(narrow::NarrowRows::new(t, buffers)),
                false => HeadRows::Wide(Box::new(fast::TileRows::new(t, m, buffers))),
            },
            convolution: plan
                .uses(Kernel::OneHot)
                .then(|| one_hot::OneHotScratch::new(self.states, t, self.meets, buffers)),
        };
        buffers.count_value(&scratch);
        scratch
    }
}
