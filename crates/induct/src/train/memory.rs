//! The memory that a run takes, estimated before any of it is allocated.

use super::recipe::Recipe;
use crate::chain::TransitionTable;
use crate::invalid::{Invalid, require};
use crate::lanes::LANES;
use crate::measure::{Measure, Scope};
use crate::model::Model;
use crate::strategy;

/// The memory of a run in bytes, part by part. Estimated from the recipe alone, and rather too high than too
/// low.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// Parameters, their gradients, and the tables computed from them.
    pub parameters: f64,
    /// The optimiser's moments.
    pub moments: f64,
    /// Gradients of every block of a batch.
    pub gradients: f64,
    /// Activations and other scratch buffers of [`MemoryEstimate::THREADS`] threads.
    pub scratch: f64,
    /// Tokens of two batches: one is drawn while the model trains on the other.
    pub batches: f64,
    /// Chains of the pools of all priors: the task's and the curriculum's.
    pub pools: f64,
    /// Tokens of the test sets, and what the truth and strategies predict on them.
    pub test_sets: f64,
    /// What the strategies keep that the recipe adds to the ladder, while test sets are made. Of those from
    /// other crates nothing is known.
    pub strategies: f64,
    /// All rows that will have been recorded at the end.
    pub records: f64,
}

/// The most that a run may take, in GiB: what a laptop has to spare.
const MAX_GIB: f64 = 4.0;

/// How many sequences of the task's own test set, from the first on, are measured at all positions. The
/// others are measured at the last position only, which costs a fraction of that.
pub(crate) const THOROUGH_SEQUENCES: u64 = 128;

const F32: f64 = size_of::<f32>() as f64;
const F64: f64 = size_of::<f64>() as f64;

impl MemoryEstimate {
    /// Number of threads to count scratch buffers for. It is fixed, so that a recipe accepted on one machine
    /// is accepted on all.
    pub const THREADS: usize = 8;

    /// The estimate for a recipe and its model.
    pub fn new(recipe: &Recipe, model: &Model) -> Self {
        let task = &recipe.task;
        let (k, n, t) = (task.states as f64, task.ngram as f64, task.length as f64);
        let (parameters, gradient) = (model.layout().len() as f64, model.gradient_len() as f64);
        let lanes = LANES as f64;
        let blocks = recipe.train.batch.div_ceil(LANES);
        // Without its code nothing can be trained: no moments.
        let optimizer = recipe.train.optimizer.part();
        let moments = optimizer.map_or(0, |optimizer| optimizer.moments()) as f64;
        let table = TransitionTable::bytes(task.states, task.ngram);
        let contexts = k.powf(n - 1.0);
        // Thresholds per lane, one table, the matrix for its stationary law, and random words.
        let sampler = (lanes + 2.0) * table + contexts * contexts * F64 + 2.0 * t * lanes * F32;
        let work = recipe.scratch_bytes(model);
        let logits = k * t * lanes * F32;
        // Once for training, and once for measuring.
        let thread = work + gradient * lanes * F32 + sampler + work + logits;
        let pools = |spec: &crate::chain::PriorSpec| spec.pool_bytes(task.states, task.ngram);
        let stages = recipe.train.curriculum.iter();
        // Counted twice: the test set is drawn from its own copy of the prior.
        let of_task = 2.0 * pools(&task.prior);
        let tests = &recipe.record.tests;
        let of_tests: f64 = tests.iter().map(|test| pools(&test.prior)).sum();
        let test_sets = 1.0 + tests.len() as f64;
        let sequences = recipe.record.test_sequences as f64;
        // The truth, the uniform strategy and n counting strategies: k probabilities and an entropy each, and
        // the same in double precision while they are computed.
        let compared = recipe.record.strategy_names(task.ngram).len();
        let row = (compared as f64 + 1.0) * (k + 1.0) * (F32 + F64);
        let everywhere = sequences.min(THOROUGH_SEQUENCES as f64) * t * row;
        let strategy = |name: &String| {
            let [k, n] = [task.states, task.ngram];
            strategy::bytes(name, &task.prior, [k, n], Self::THREADS)
        };
        Self {
            parameters: 3.0 * parameters * F32 + gradient * F32 + model.prepared_bytes(),
            moments: moments * parameters * F32,
            gradients: blocks as f64 * gradient * F32,
            scratch: blocks.clamp(1, Self::THREADS) as f64 * thread,
            batches: 2.0 * (blocks * LANES) as f64 * (t + 1.0 + size_of::<Vec<u8>>() as f64),
            pools: of_task + of_tests + stages.map(|stage| pools(&stage.prior)).sum::<f64>(),
            test_sets: test_sets * sequences * (t + 1.0 + row) + everywhere,
            strategies: recipe.record.strategies.iter().map(strategy).sum(),
            records: recipe.record.record_count(recipe.train.steps) as f64
                * columns(recipe, model)
                * F64,
        }
    }

    /// Every part with its name.
    pub fn parts(&self) -> [(&'static str, f64); 9] {
        [
            ("parameters", self.parameters),
            ("the optimiser's moments", self.moments),
            ("gradients of a batch", self.gradients),
            ("scratch buffers of threads", self.scratch),
            ("training batches", self.batches),
            ("pools of chains", self.pools),
            ("test sets", self.test_sets),
            ("records", self.records),
            ("strategies", self.strategies),
        ]
    }

    /// The total.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Refuses a run that would not fit on a laptop, and names the setting that the largest part grows with.
    pub(super) fn check(&self, recipe: &Recipe) -> Result<(), Invalid> {
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        let parts = self.parts();
        let largest = (0..parts.len()).max_by(|&a, &b| parts[a].1.total_cmp(&parts[b].1));
        let largest = largest.expect("there are parts");
        let (name, bytes) = parts[largest];
        let task = &recipe.task;
        let (field, value, fix) = match largest {
            0 | 1 => (
                "model",
                "this model".into(),
                "the model or task.length smaller",
            ),
            2 => (
                "train.batch",
                recipe.train.batch.to_string(),
                "it, the model or task.length smaller",
            ),
            3 => (
                "task.length",
                task.length.to_string(),
                "it, task.states or the model smaller",
            ),
            4 => (
                "train.batch",
                recipe.train.batch.to_string(),
                "it or task.length smaller",
            ),
            5 => ("task.prior", "these pools".into(), "their sizes smaller"),
            8 => (
                "record.strategies",
                format!("{:?}", recipe.record.strategies),
                "them fewer, or the task smaller",
            ),
            7 => (
                "train.steps",
                recipe.train.steps.to_string(),
                "it smaller, or record.every larger: fewer records",
            ),
            _ => (
                "record.test_sequences",
                recipe.record.test_sequences.to_string(),
                "it, task.length or task.states smaller",
            ),
        };
        let allowed = format!(
            "a run would take {:.1} GiB of memory, {:.1} of them for {name}, and {MAX_GIB} are allowed; \
             make {fix}",
            gib(self.total()),
            gib(bytes),
        );
        require(gib(self.total()) <= MAX_GIB, field, value, &allowed)
    }
}

/// The number of columns that a run records.
fn columns(recipe: &Recipe, model: &Model) -> f64 {
    let heads = (0..model.layer_count()).map(|l| model.heads(l)).sum();
    let of = |measure: &&dyn Measure| match measure.scope() {
        Scope::Run => 1,
        Scope::Strategy => recipe.record.strategy_names(recipe.task.ngram).len(),
        Scope::Test => recipe.record.tests.len(),
        Scope::Head => heads,
        Scope::Layer => model.layer_count(),
        Scope::Group => model.layout().groups().len(),
        Scope::Lag | Scope::Position => recipe.task.length,
    };
    recipe.record.chosen().iter().map(of).sum::<usize>() as f64
}
