//! Buffers for a forward and a backward over one block, in coordinates.

use super::norm::NormScratch;
use super::{Coordinates, HeadPlan, Stage, narrow, one_hot};
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
    /// What every stage reads.
    pub(super) layers: Vec<LayerScratch>,
    /// `[layer][head]`
    pub(super) heads: Vec<Vec<HeadScratch>>,
}

#[derive(Clone, Debug)]
pub(super) struct LayerScratch {
    /// The stream below it, [t, stream]
    pub(super) y: Vec<Lane>,
    pub(super) dy: Vec<Lane>,
    pub(super) norm: Option<NormScratch>,
}

impl LayerScratch {
    /// What attention reads, [t, m].
    pub(super) fn read(&self) -> &[Lane] {
        self.norm.as_ref().map_or(&self.y, |norm| &norm.z)
    }

    /// The same, and its gradient.
    pub(super) fn read_mut(&mut self) -> (&[Lane], &mut [Lane]) {
        match &mut self.norm {
            Some(norm) => (&norm.z, &mut norm.dz),
            None => (&self.y, &mut self.dy),
        }
    }
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
    pub(super) fn new_scratch(&self, buffers: &mut Allocator) -> Scratch {
        let t = self.shape.length;
        let layers = self.stages.iter().map(|stage| LayerScratch {
            y: buffers.lanes([t, stage.stream]),
            dy: buffers.lanes([t, stage.stream]),
            norm: (stage.form.as_ref()).map(|_| NormScratch::new(stage.m, t, buffers)),
        });
        let layers = layers.collect();
        let heads = self.stages.iter().map(|stage| {
            let heads = stage.heads.iter();
            let heads = heads.map(|own| self.head_scratch(stage, own, buffers));
            heads.collect()
        });
        Scratch {
            layers,
            heads: heads.collect(),
            symbols: Planes::new(t, self.shape.states, Lane::ZERO, buffers),
        }
    }

    fn head_scratch(&self, stage: &Stage, own: &HeadPlan, buffers: &mut Allocator) -> HeadScratch {
        let (t, m) = (self.shape.length, stage.m);
        let scratch = HeadScratch {
            given: own.change.buffer(t, buffers),
            w: buffers.lanes([t, m]),
            c: buffers.lanes([t, m]),
            dw: buffers.lanes([t, m]),
            dc: buffers.lanes([t, m]),
            group: match stage.uses(Kernel::Narrow) {
                true => HeadRows::Narrow(narrow::NarrowRows::new(t, buffers)),
                false => HeadRows::Wide(Box::new(fast::TileRows::new(t, m, buffers))),
            },
            convolution: (stage.uses(Kernel::OneHot))
                .then(|| one_hot::OneHotScratch::new(self.shape.states, t, buffers)),
        };
        buffers.count_value(&scratch);
        scratch
    }
}
