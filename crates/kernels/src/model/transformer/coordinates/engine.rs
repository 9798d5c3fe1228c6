//! Coordinates as an engine: a whole transformer on a few numbers per position.

use std::sync::Arc;

use super::{Coordinates, Scratch, Tables};
use crate::lanes::{LANES, Lane, Level};
use crate::model::choose::Choice;
use crate::model::engine::{BlockGradient, Engine, InTraining, LogitBuffers, LossRows};
use crate::model::intervention::Plan;
use crate::model::ops::attention::AttnProbe;
use crate::model::transformer::Transformer;
use crate::scratch::Allocator;

/// A transformer in coordinates.
#[derive(Debug)]
pub struct InCoordinates {
    shape: Arc<Transformer>,
    plan: Coordinates,
}

impl InCoordinates {
    /// The engine for `shape`, with the chosen kernels.
    pub fn new(shape: Arc<Transformer>, choice: &Choice, level: Level, plan: &Plan) -> Self {
        let plan = Coordinates::new(&shape, choice, level, plan);
        Self { shape, plan }
    }
}

impl Engine for InCoordinates {
    type Prepared = Tables;
    type Scratch = Scratch;

    fn level(&self) -> Level {
        self.plan.level
    }

    fn shape(&self) -> [usize; 2] {
        [self.shape.length, self.shape.states]
    }

    fn prepared(&self, buffers: &mut Allocator) -> Tables {
        self.plan.tables(self.shape.width, buffers)
    }

    fn prepare(&self, params: &[f32], tables: &mut Tables) {
        self.plan.prepare(&self.shape, params, tables);
    }

    fn scratch(&self, buffers: &mut Allocator) -> Scratch {
        self.plan.work(buffers)
    }

    fn forward(
        &self,
        tables: &Tables,
        inputs: &[[u8; LANES]],
        first: usize,
        work: &mut Scratch,
        logits: &mut [Lane],
    ) {
        self.plan.forward(tables, inputs, first, work, logits);
    }

    fn gradient(
        &self,
        tables: &Tables,
        (inputs, _): InTraining,
        work: &mut Scratch,
        logits: LogitBuffers,
        loss: LossRows,
        grads: BlockGradient,
    ) {
        self.plan
            .gradient(tables, inputs, work, logits, loss, grads.by_lane);
    }

    fn gradient_len(&self) -> usize {
        self.plan.size()
    }

    fn pull_back(&self, params: &[f32], tables: &mut Tables, gradient: &[f32], grads: &mut [f32]) {
        grads.fill(0.0);
        self.plan
            .pull_back(&self.shape, params, tables, gradient, grads);
    }

    fn observe(&self, tables: &Tables, rows: usize, work: &Scratch, probe: AttnProbe) {
        self.plan.show(tables, rows, work, probe);
    }

    fn multiplications(&self) -> usize {
        self.plan.multiplications()
    }
}
