//! Buffers for a forward and a backward over one block, in coordinates.

use super::norm::NormScratch;
use super::{Coordinates, HeadPlan, LayerPlan, narrow, one_hot};
use crate::lanes::Lane;
use crate::model::choose::Kernel;
use crate::model::ops::attention::fast;
use crate::model::ops::convolution::Planes;

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
    pub fn work(&self) -> Scratch {
        let lanes = |width: usize| vec![Lane::ZERO; self.length * width];
        let head = |plan: &LayerPlan, own: &HeadPlan, m: usize| HeadScratch {
            given: own.change.buffer(self.length, m),
            w: lanes(m),
            c: lanes(m),
            dw: lanes(m),
            dc: lanes(m),
            group: match plan.uses(Kernel::Narrow) {
                true => HeadRows::Narrow(narrow::NarrowRows::new(self.length)),
                false => HeadRows::Wide(Box::new(fast::TileRows::new(self.length, m))),
            },
            convolution: plan
                .uses(Kernel::OneHot)
                .then(|| one_hot::OneHotScratch::new(self.states, self.length, self.meets)),
        };
        let layer = |plan: &LayerPlan| LayerScratch {
            y: lanes(plan.stream),
            dy: lanes(plan.stream),
            norm: plan
                .norm
                .as_ref()
                .map(|norm| NormScratch::new(norm, self.length)),
            heads: (plan.heads.iter())
                .map(|own| head(plan, own, plan.m))
                .collect(),
        };
        Scratch {
            symbols: Planes::new(self.length, self.states, Lane::ZERO),
            layers: self.layers.iter().map(layer).collect(),
            last: self.last_norm.as_ref().map(|norm| LastScratch {
                y: lanes(self.last),
                dy: lanes(self.last),
                norm: NormScratch::new(norm, self.length),
            }),
        }
    }
}
