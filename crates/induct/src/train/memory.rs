//! What a run takes in memory, known before any of it is taken.

use super::optimizer::OptimizerSpec;
use super::recipe::Recipe;
use crate::chain::{LANES, TransitionTable};
use crate::invalid::{Invalid, require};
use crate::model::Model;

/// What a run takes, in bytes, part by part. Estimated from a recipe alone; a little more than it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// Parameters, their gradients, and the tables made of them.
    pub parameters: f64,
    /// Moments of the optimiser.
    pub moments: f64,
    /// Gradients of every block of a batch.
    pub gradients: f64,
    /// Activations and other scratch buffers of [`MemoryEstimate::THREADS`] threads.
    pub scratch: f64,
    /// Tokens of two batches: one is drawn while the other is learned from.
    pub batches: f64,
    /// Chains of pools, of the task's prior and the curriculum's.
    pub pools: f64,
    /// Tokens of the test sets, and what the truth and strategies predict on them.
    pub test_sets: f64,
}

/// The most that a run may take, in GiB: what a laptop has to spare.
const MAX_GIB: f64 = 4.0;

/// Sets of test sequences that a run is measured on.
const TEST_SETS: f64 = 3.0;
/// Sequences of the first of them that are measured at all positions.
const THOROUGH_SEQUENCES: f64 = 128.0;

const F32: f64 = size_of::<f32>() as f64;
const F64: f64 = size_of::<f64>() as f64;

impl MemoryEstimate {
    /// Threads that scratch buffers are counted for. A fixed number: a recipe that is fine on one machine is fine on all.
    pub const THREADS: usize = 8;

    /// The estimate for a recipe and its model.
    pub fn new(recipe: &Recipe, model: &Model) -> Self {
        let task = &recipe.task;
        let (k, n, t) = (task.states as f64, task.ngram as f64, task.length as f64);
        let (parameters, gradient) = (model.layout().len() as f64, model.gradient_len() as f64);
        let lanes = LANES as f64;
        let blocks = recipe.train.batch.div_ceil(LANES);
        let moments = match recipe.train.optimizer {
            OptimizerSpec::Sgd { .. } => 1.0,
            OptimizerSpec::Adamw { .. } => 2.0,
        };
        let table = TransitionTable::bytes(task.states, task.ngram);
        let contexts = k.powf(n - 1.0);
        // Thresholds by lane, one table, the matrix of its stationary law, and random words.
        let sampler = (lanes + 2.0) * table + contexts * contexts * F64 + 2.0 * t * lanes * F32;
        let work = model.work_bytes();
        let logits = k * t * lanes * F32;
        // For training, and for measuring.
        let thread = work + gradient * lanes * F32 + sampler + work + logits;
        let pools = |spec: &crate::chain::PriorSpec| spec.pool_bytes(task.states, task.ngram);
        let stages = recipe.train.curriculum.iter();
        // Counted twice: the test sets are drawn from a prior of their own.
        let of_task = 2.0 * pools(&task.prior);
        let sequences = recipe.record.test_sequences as f64;
        // The truth, the uniform strategy and n counting ones, each k probabilities and an entropy; in double
        // precision too, while they are computed.
        let row = (n + 2.0) * (k + 1.0) * (F32 + F64);
        let everywhere = sequences.min(THOROUGH_SEQUENCES) * t * row;
        Self {
            parameters: 3.0 * parameters * F32 + gradient * F32 + model.prepared_bytes(),
            moments: moments * parameters * F32,
            gradients: blocks as f64 * gradient * F32,
            scratch: blocks.clamp(1, Self::THREADS) as f64 * thread,
            batches: 2.0 * (blocks * LANES) as f64 * (t + 1.0 + size_of::<Vec<u8>>() as f64),
            pools: of_task + stages.map(|stage| pools(&stage.prior)).sum::<f64>(),
            test_sets: TEST_SETS * sequences * (t + 1.0 + row) + everywhere,
        }
    }

    /// Every part with its name.
    pub fn parts(&self) -> [(&'static str, f64); 7] {
        [
            ("parameters", self.parameters),
            ("the optimiser's moments", self.moments),
            ("gradients of a batch", self.gradients),
            ("scratch buffers of threads", self.scratch),
            ("training batches", self.batches),
            ("pools of chains", self.pools),
            ("test sets", self.test_sets),
        ]
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Refuses what no laptop could hold; names the setting that the largest part grows with.
    pub(super) fn check(&self, recipe: &Recipe) -> Result<(), Invalid> {
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        let parts = self.parts();
        let largest = (0..parts.len()).max_by(|&a, &b| parts[a].1.total_cmp(&parts[b].1));
        let largest = largest.expect("there are parts");
        let (name, bytes) = parts[largest];
        let task = &recipe.task;
        let (field, value, fix) = match largest {
            0 | 1 => ("model", "this model".into(), "the model or task.length"),
            2 => (
                "train.batch",
                recipe.train.batch.to_string(),
                "it, the model or task.length",
            ),
            3 => (
                "task.length",
                task.length.to_string(),
                "it, task.states or the model",
            ),
            4 => (
                "train.batch",
                recipe.train.batch.to_string(),
                "it or task.length",
            ),
            5 => ("task.prior", "these pools".into(), "their sizes"),
            _ => (
                "record.test_sequences",
                recipe.record.test_sequences.to_string(),
                "it, task.length or task.states",
            ),
        };
        let allowed = format!(
            "a run would take {:.1} GiB of memory, {:.1} of them for {name}, and {MAX_GIB} are allowed; make {fix} smaller",
            gib(self.total()),
            gib(bytes),
        );
        require(gib(self.total()) <= MAX_GIB, field, value, &allowed)
    }
}
