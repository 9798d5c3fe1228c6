//! The residual stream as an engine: for every architecture.

use std::f32::consts::LOG2_E;
use std::ops::Range;
use std::sync::Arc;

use super::Pass;
use super::scratch::Scratch;
use crate::lanes::{LANES, Lane, Level};
use crate::model::choose::{Choice, Kernel};
use crate::model::engine::{BlockGradient, Engine, InTraining, LogitBuffers, LossRows};
use crate::model::intervention::Plan;
use crate::model::ops::attention::{AttnProbe, EXPONENTIAL, RelativeTerm};
use crate::model::transformer::Transformer;
use crate::model::transformer::coordinates::{Coordinates, Tables};

/// A transformer in its residual stream.
#[derive(Debug)]
pub struct Residual {
    pub(super) shape: Arc<Transformer>,
    /// The first layers, where they are in coordinates.
    pub(super) below: Option<Coordinates>,
    /// Interventions, if there are any.
    pub(super) plan: Option<Arc<Plan>>,
    level: Level,
}

impl Residual {
    /// The engine for `shape`, with the chosen kernels.
    pub fn new(shape: Arc<Transformer>, choice: &Choice, level: Level, plan: &Arc<Plan>) -> Self {
        let is_below = choice.first == Kernel::FirstInCoordinates;
        let below = is_below.then(|| Coordinates::new(&shape, choice, level, plan));
        Self {
            shape,
            below,
            plan: (!plan.is_empty()).then(|| plan.clone()),
            level,
        }
    }

    /// The factors that parameters are multiplied with before they are used: where, and by how much. Scores
    /// are computed in units of ln 2 and without the division by √d_head, because the queries (and the
    /// positions beside them) already include both.
    fn scales(&self) -> impl Iterator<Item = (Range<usize>, f32)> {
        self.shape.layers.iter().flat_map(|layer| {
            let scale = LOG2_E / ((self.shape.width / layer.heads) as f32).sqrt();
            let beside = layer
                .v
                .clone()
                .filter(|_| self.shape.relative == RelativeTerm::Key);
            [Some(layer.w_q.clone()), beside]
                .into_iter()
                .flatten()
                .map(move |place| (place, scale))
        })
    }

    /// Applies the factors: to parameters before they are used, and to their gradients afterwards.
    fn scale(&self, values: &mut [f32]) {
        for (place, scale) in self.scales() {
            values[place].iter_mut().for_each(|value| *value *= scale);
        }
    }
}

/// Parameters as the forward reads them.
#[derive(Clone, Debug)]
pub struct Weights {
    params: Vec<f32>,
    below: Option<Tables>,
    /// Of interventions: means over the batch, [t, d] by slot, and the other weights that they name.
    means: Vec<Vec<f32>>,
    others: Vec<Vec<f32>>,
}

impl Residual {
    /// What runs over blocks.
    pub(super) fn pass<'a>(&'a self, weights: &'a Weights) -> Pass<'a> {
        Pass {
            shape: &self.shape,
            params: &weights.params,
            below: self.below.as_ref().zip(weights.below.as_ref()),
            dropout: None,
            plan: self.plan.as_deref(),
            means: &weights.means,
            others: &weights.others,
            level: self.level,
        }
    }
}

impl Engine for Residual {
    type Prepared = Weights;
    type Scratch = Scratch;

    fn level(&self) -> Level {
        self.level
    }

    fn shape(&self) -> [usize; 2] {
        [self.shape.length, self.shape.states]
    }

    fn prepared(&self) -> Weights {
        let stream = self.shape.length * self.shape.width;
        let plan = self.plan.as_deref();
        let others = plan.map_or(&[][..], |plan| &plan.others).iter();
        let others = others.map(|weights| {
            let mut weights = weights.to_vec();
            self.scale(&mut weights);
            weights
        });
        Weights {
            means: plan.map_or(Vec::new(), |plan| {
                plan.written.iter().map(|_| vec![0.0; stream]).collect()
            }),
            others: others.collect(),
            params: vec![0.0; self.shape.layout.len()],
            below: (self.below.as_ref()).map(|plan| plan.tables(self.shape.width)),
        }
    }

    fn prepare(&self, params: &[f32], weights: &mut Weights) {
        weights.params.copy_from_slice(params);
        self.scale(&mut weights.params);
        if let (Some(plan), Some(tables)) = (&self.below, &mut weights.below) {
            plan.prepare(&self.shape, params, tables);
        }
    }

    fn scratch(&self) -> Scratch {
        self.new_scratch()
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
        let plan = self.plan.as_ref().filter(|plan| plan.has_means());
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
        self.shape.layout.len() + self.below.as_ref().map_or(0, Coordinates::size)
    }

    fn summed_len(&self) -> usize {
        self.shape.layout.len()
    }

    fn pull_back(
        &self,
        params: &[f32],
        weights: &mut Weights,
        gradient: &[f32],
        grads: &mut [f32],
    ) {
        let (of_params, of_tables) = gradient.split_at(grads.len());
        grads.copy_from_slice(of_params);
        self.scale(grads);
        if let (Some(plan), Some(tables)) = (&self.below, &mut weights.below) {
            plan.pull_back(&self.shape, params, tables, of_tables, grads);
        }
    }

    fn observe(&self, weights: &Weights, rows: usize, scratch: &Scratch, probe: AttnProbe) {
        self.pass(weights).show(rows, scratch, probe);
    }

    fn multiplications(&self) -> usize {
        let shape = &self.shape;
        let (d, k, t) = (shape.width, shape.states, shape.length);
        let pairs = t * (t + 1) / 2;
        let positional = usize::from(shape.layers[0].v.is_some());
        let mut count = 3 * d * k * t;
        let mut depth = 0;
        if let Some(plan) = &self.below {
            count += plan.multiplications();
            depth = plan.depth();
        }
        for (l, layer) in shape.layers.iter().enumerate() {
            let (attention, matrices) = if l < depth {
                (0, 0)
            } else {
                // Scores twice, average, slope, and shares for query, key and value; for positions, two more.
                ((7 + 2 * positional) * d + 2 * EXPONENTIAL * layer.heads, 3)
            };
            let mixes = usize::from(layer.w_o.is_some());
            let mlp = if layer.mlp.is_some() { 2 * 4 } else { 0 };
            count += attention * pairs + 3 * (matrices + mixes + mlp) * d * d * t;
        }
        count
    }
}
