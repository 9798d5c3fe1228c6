//! Buffers for a forward and a backward over one block, in coordinates.

use super::{Coordinates, LayerPlan, by_row, narrow, one_hot};
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
    /// The last layer's heads, where its rows are lanes.
    pub(super) by_row: Vec<by_row::ByRowHead>,
}

#[derive(Clone, Debug)]
pub(super) struct LayerScratch {
    /// [t, m]
    pub(super) y: Vec<Lane>,
    pub(super) dy: Vec<Lane>,
    pub(super) heads: Vec<HeadScratch>,
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
}

/// The rows that a head is working on.
#[derive(Clone, Debug)]
pub(super) enum HeadRows {
    Narrow(narrow::NarrowRows),
    Wide(fast::TileRows),
}

impl Coordinates {
    /// Scratch buffers for a forward and a backward over one block.
    pub fn work(&self) -> Scratch {
        let lanes = |width: usize| vec![Lane::ZERO; self.length * width];
        let head = |plan: &LayerPlan, m: usize| HeadScratch {
            w: lanes(m),
            c: lanes(m),
            dw: lanes(m),
            dc: lanes(m),
            group: match plan.uses(Kernel::Narrow) {
                true => HeadRows::Narrow(narrow::NarrowRows::new(self.length)),
                false => HeadRows::Wide(fast::TileRows::new(self.length, m)),
            },
            convolution: plan
                .uses(Kernel::OneHot)
                .then(|| one_hot::OneHotScratch::new(self.states, self.length)),
        };
        let layer = |plan: &LayerPlan| LayerScratch {
            y: lanes(plan.m),
            dy: lanes(plan.m),
            heads: plan.heads.iter().map(|_| head(plan, plan.m)).collect(),
        };
        Scratch {
            symbols: Planes::new(self.length, self.states, Lane::ZERO),
            layers: self.layers.iter().map(layer).collect(),
            by_row: self
                .heads_by_row()
                .map(|(m, _)| by_row::ByRowHead::new(self.states, m, self.length))
                .collect(),
        }
    }
}
