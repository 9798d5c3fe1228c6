//! The memory that a run takes, estimated before any of it is allocated.

use induct_kernels::lanes::LANES;

use super::{Labels, Recipe};
use crate::chain::{PriorSpec, TransitionTable};
use crate::measure::{Measure, Scope};
use crate::model::Model;
use crate::strategy;
use crate::{Invalid, require};

/// The memory of a run, estimated from the recipe alone, and rather too high than too low.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryEstimate(Vec<MemoryPart>);

/// One part of it.
#[derive(Clone, Debug, PartialEq)]
struct MemoryPart {
    name: &'static str,
    bytes: f64,
    /// The setting that it grows with, its value, and what to make smaller.
    field: &'static str,
    value: String,
    fix: &'static str,
}

/// The most that a run may take unless its recipe says otherwise, in GiB: what a laptop has to spare.
pub(super) const MEMORY_LIMIT: f64 = 4.0;

/// How many sequences of the task's own test set, from the first on, are measured at all positions. The
/// others are measured at the last position only, which costs a fraction of that.
pub(crate) const THOROUGH_SEQUENCES: u64 = 128;

/// Number of threads to count scratch buffers for. It is fixed, so that a recipe accepted on one machine is
/// accepted on all.
const THREADS: usize = 8;

const F32: f64 = size_of::<f32>() as f64;
const F64: f64 = size_of::<f64>() as f64;
const GIB: f64 = (1 << 30) as f64;

impl MemoryEstimate {
    /// The estimate for a recipe and its model.
    pub fn new(recipe: &Recipe, model: &Model) -> Self {
        let (task, train, record) = (&recipe.task, &recipe.train, &recipe.record);
        let (k, n, t) = (task.states as f64, task.ngram as f64, task.length as f64);
        let (parameters, gradient) = (model.layout().len() as f64, model.gradient_len() as f64);
        let lanes = LANES as f64;
        let blocks = train.batch.div_ceil(LANES);
        // Without its code nothing can be trained: no moments.
        let moments = train.optimizer.part().map_or(0, |own| own.moments()) as f64;
        // Thresholds per lane, one table, the matrix for its stationary law, and random words.
        let table = TransitionTable::bytes(task.states, task.ngram);
        let contexts = k.powf(n - 1.0);
        let sampler = (lanes + 2.0) * table + contexts * contexts * F64 + 2.0 * t * lanes * F32;
        // Once for training, and once for measuring.
        let work = 2.0 * recipe.scratch_bytes(model);
        let thread = work + (gradient + k * t) * lanes * F32 + sampler;
        // The task's are counted twice: its test set is drawn from a copy of its own.
        let stages = train.curriculum.iter().map(|stage| &stage.prior);
        let tests = record.tests.iter().map(|test| &test.prior);
        let priors = [&task.prior; 2].into_iter().chain(stages).chain(tests);
        let pool = |prior: &PriorSpec| prior.pool_bytes(task.states, task.ngram);
        // The truth, the uniform strategy and n counting strategies: k probabilities and an entropy each, and
        // the same in double precision while they are computed.
        let compared = record.strategy_names(task).len() as f64;
        let row = (compared + 1.0) * (k + 1.0) * (F32 + F64);
        let sequences = record.test_sequences as f64;
        let everywhere = sequences.min(THOROUGH_SEQUENCES as f64) * t * row;
        let test_sets = (1 + record.tests.len()) as f64 * sequences * (t + 1.0 + row);
        let strategy =
            |name: &String| strategy::bytes(name, &task.prior, [task.states, task.ngram], THREADS);
        let laws = match train.labels {
            Labels::Token => 0.0,
            Labels::Law => t * k * F32,
        };
        let records = record.record_count(train.steps) as f64 * columns(recipe, model) * F64;
        let part = |name, bytes, field, value: &dyn ToString, fix| MemoryPart {
            name,
            bytes,
            field,
            value: value.to_string(),
            fix,
        };
        Self(vec![
            part(
                "parameters",
                (3.0 + moments) * parameters * F32 + gradient * F32 + model.prepared_bytes(),
                "model",
                &"this model",
                "the model or task.length smaller",
            ),
            part(
                "gradients of a batch",
                blocks as f64 * gradient * F32,
                "train.batch",
                &train.batch,
                "it, the model or task.length smaller",
            ),
            part(
                "scratch buffers of threads",
                blocks.clamp(1, THREADS) as f64 * thread,
                "task.length",
                &task.length,
                "it, task.states or the model smaller",
            ),
            // Two of them: one is drawn while the model trains on the other.
            part(
                "training batches",
                2.0 * (blocks * LANES) as f64 * (t + 1.0 + size_of::<Vec<u8>>() as f64 + laws),
                "train.batch",
                &train.batch,
                "it or task.length smaller",
            ),
            part(
                "pools of chains",
                priors.map(pool).sum(),
                "task.prior",
                &"these pools",
                "their sizes smaller",
            ),
            part(
                "test sets",
                test_sets + everywhere,
                "record.test_sequences",
                &record.test_sequences,
                "it, task.length or task.states smaller",
            ),
            // While test sets are made. Of strategies from other crates nothing is known.
            part(
                "strategies",
                record.strategies.iter().map(strategy).sum(),
                "record.strategies",
                &format!("{:?}", record.strategies),
                "them fewer, or the task smaller",
            ),
            part(
                "records",
                records,
                "train.steps",
                &train.steps,
                "it smaller, or record.every larger: fewer records",
            ),
        ])
    }

    /// All parts by name, in bytes.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.0.iter().map(|part| (part.name, part.bytes))
    }

    /// The total, in bytes.
    pub fn total(&self) -> f64 {
        self.parts().map(|(_, bytes)| bytes).sum()
    }

    /// Refuses a run that would take more than its recipe allows, and names the setting that the largest part
    /// grows with.
    pub(super) fn check(&self, limit: f64) -> Result<(), Invalid> {
        let parts = self.0.iter();
        let largest = parts.max_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let MemoryPart {
            name,
            bytes,
            field,
            value,
            fix,
        } = largest.expect("there are parts");
        let allowed = format!(
            "a run would take {:.1} GiB of memory, {:.1} of them for {name}, and {limit} are allowed; \
             make {fix}, or allow more with train.memory_limit (in GiB)",
            self.total() / GIB,
            bytes / GIB,
        );
        require(self.total() <= limit * GIB, field, value, &allowed)
    }
}

/// The number of columns that a run records.
fn columns(recipe: &Recipe, model: &Model) -> f64 {
    let heads = (0..model.layer_count()).map(|l| model.heads(l)).sum();
    let of = |measure: &&dyn Measure| match measure.scope() {
        Scope::Run => 1,
        Scope::Strategy => recipe.record.strategy_names(&recipe.task).len(),
        Scope::Test => recipe.record.tests.len(),
        Scope::Head => heads,
        Scope::Layer => model.layer_count(),
        Scope::Group => model.layout().groups().len(),
        Scope::Lag | Scope::Position => recipe.task.length,
    };
    recipe.record.chosen().iter().map(of).sum::<usize>() as f64
}
