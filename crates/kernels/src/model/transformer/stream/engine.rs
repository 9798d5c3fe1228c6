//! The residual stream as an engine: for every architecture.

use std::sync::Arc;

use super::Pass;
use super::scratch::Scratch;
use crate::lanes::{LANES, Lane, Level};
use crate::model::choose::Choice;
use crate::model::engine::{BlockGradient, Engine, InTraining, LogitBuffers, LossRows};
use crate::model::intervention::{Origin, Plan};
use crate::model::ops::attention::AttnProbe;
use crate::model::transformer::Transformer;
use crate::model::transformer::coordinates::{Coordinates, Tables};
use crate::scratch::Allocator;

/// A transformer in its residual stream.
#[derive(Debug)]
pub struct Stream {
    pub(super) shape: Arc<Transformer>,
    /// The first layers, where they are in coordinates.
    pub(super) below: Option<Coordinates>,
    /// Interventions, if there are any.
    pub(super) plan: Option<Arc<Plan>>,
    /// The other weights that they name, as blocks read them.
    others: Vec<Vec<f32>>,
    level: Level,
}

impl Stream {
    /// The engine for `shape`, with the chosen kernels.
    pub fn new(shape: Arc<Transformer>, choice: &Choice, level: Level, plan: &Arc<Plan>) -> Self {
        let is_below = !choice.layers.is_empty();
        let below = is_below.then(|| Coordinates::new(shape.clone(), choice, level, plan));
        let prepared = |own: &Arc<[f32]>| {
            let mut own = own.to_vec();
            own.resize(shape.prepared_len(), 0.0);
            prepare_blocks(&shape, &mut own);
            own
        };
        let others = plan.others.iter().map(prepared).collect();
        Self {
            shape,
            below,
            plan: (!plan.is_empty()).then(|| plan.clone()),
            others,
            level,
        }
    }
}

/// Turns parameters into what blocks and the output read.
fn prepare_blocks(shape: &Transformer, weights: &mut [f32]) {
    shape.untie(weights);
    for slot in &shape.slots {
        slot.block.prepare(weights);
    }
}

/// Parameters as the forward reads them.
#[derive(Clone, Debug)]
pub struct Weights {
    params: Vec<f32>,
    below: Option<Tables>,
    /// Of interventions: means over the batch, [t, d] by slot.
    means: Vec<Vec<f32>>,
}

impl Stream {
    /// What runs over blocks.
    pub(super) fn pass<'a>(&'a self, weights: &'a Weights) -> Pass<'a> {
        Pass {
            shape: &self.shape,
            weights: &weights.params,
            below: self.below.as_ref().zip(weights.below.as_ref()),
            dropout: None,
            plan: self.plan.as_deref(),
            means: &weights.means,
            others: &self.others,
            level: self.level,
        }
    }
}

impl Engine for Stream {
    type Prepared = Weights;
    type Scratch = Scratch;

    fn level(&self) -> Level {
        self.level
    }

    fn shape(&self) -> [usize; 2] {
        [self.shape.length, self.shape.states]
    }

    fn prepared(&self, buffers: &mut Allocator) -> Weights {
        let stream = [self.shape.length, self.shape.width];
        let slots = self.plan.as_ref().map_or(0, |plan| plan.written.len());
        Weights {
            means: (0..slots).map(|_| buffers.filled(0.0, stream)).collect(),
            params: buffers.filled(0.0, [self.shape.prepared_len()]),
            below: (self.below.as_ref()).map(|plan| plan.prepared(buffers)),
        }
    }

    fn prepare(&self, params: &[f32], weights: &mut Weights) {
        weights.params[..params.len()].copy_from_slice(params);
        prepare_blocks(&self.shape, &mut weights.params);
        if let (Some(plan), Some(tables)) = (&self.below, &mut weights.below) {
            plan.prepare(params, tables);
        }
    }

    fn scratch(&self, buffers: &mut Allocator) -> Scratch {
        self.new_scratch(buffers)
    }

    fn forward(
        &self,
        weights: &Weights,
        inputs: &[[u8; LANES]],
        first: usize,
        scratch: &mut Scratch,
        logits: &mut [Lane],
    ) {
        self.pass(weights).forward(inputs, first, scratch, logits);
    }

    fn gradient(
        &self,
        weights: &Weights,
        (inputs, dropout): InTraining,
        scratch: &mut Scratch,
        logits: LogitBuffers,
        loss: LossRows,
        grads: BlockGradient,
    ) {
        let mut pass = self.pass(weights);
        pass.dropout = dropout;
        pass.gradient(inputs, scratch, logits, loss, grads);
    }

    fn means_len(&self) -> usize {
        let has_means = |plan: &&Arc<Plan>| plan.takes_from(Origin::Mean);
        let plan = self.plan.as_ref().filter(has_means);
        plan.map_or(0, |plan| {
            plan.written.len() * self.shape.length * self.shape.width
        })
    }

    fn add_written(
        &self,
        weights: &Weights,
        inputs: &[[u8; LANES]],
        used: usize,
        scratch: &mut Scratch,
        sums: &mut [f64],
    ) {
        self.pass(weights).add_written(inputs, used, scratch, sums);
    }

    fn set_means(&self, means: &[f32], weights: &mut Weights) {
        let size = self.shape.length * self.shape.width;
        for (own, means) in weights.means.iter_mut().zip(means.chunks_exact(size)) {
            own.copy_from_slice(means);
        }
    }

    fn gradient_len(&self) -> usize {
        self.shape.prepared_len() + self.below.as_ref().map_or(0, Engine::gradient_len)
    }

    fn summed_len(&self) -> usize {
        self.shape.prepared_len()
    }

    fn pull_back(
        &self,
        params: &[f32],
        weights: &mut Weights,
        gradient: &[f32],
        grads: &mut [f32],
    ) {
        let (of_params, of_tables) = gradient.split_at(self.shape.prepared_len());
        let (of_params, of_output) = of_params.split_at(grads.len());
        grads.copy_from_slice(of_params);
        if self.shape.tied {
            self.shape.untie_backward(of_output, grads);
        }
        for slot in &self.shape.slots {
            slot.block.pull_back(params, grads);
        }
        if let (Some(plan), Some(tables)) = (&self.below, &mut weights.below) {
            plan.add_pulled_back(tables, of_tables, grads);
        }
    }

    fn observe(&self, weights: &Weights, rows: usize, scratch: &Scratch, probe: AttnProbe) {
        self.pass(weights).show(rows, scratch, probe);
    }

    fn multiplications(&self) -> usize {
        let (d, k, t) = (self.shape.width, self.shape.states, self.shape.length);
        let depth = self.below.as_ref().map_or(0, Coordinates::depth);
        let of_blocks = self.shape.slots[depth..].iter();
        let of_blocks = of_blocks.map(|slot| slot.block.multiplications());
        let below = self.below.as_ref().map_or(0, Engine::multiplications);
        3 * d * k * t + below + of_blocks.sum::<usize>()
    }
}
