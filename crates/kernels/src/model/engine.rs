//! The interface that all engines share, and the code that runs them.
//!
//! An [`Engine`] computes a model over blocks of lanes. It works on parameters that it has prepared, in its
//! own scratch buffers. Both are associated types, so that one engine's data cannot be handed to another. A
//! [`Compute`] is an engine with its type erased, with or without parameters.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::dropout::DropoutKeys;
use super::ops::attention::AttnProbe;
use crate::lanes::{LANES, Lane, Level, cross_lane};
use crate::scratch::{Allocator, ScratchPool};
use crate::tokens::TokenBlock;

/// How a model is computed: over blocks of lanes, in single precision.
pub trait Engine: Debug + Send + Sync + 'static {
    /// What is computed from the parameters once per step.
    type Prepared: Debug + Send + Sync;
    /// Activations of one block, and buffers for its backward.
    type Scratch: Debug + Send;

    /// The instruction level that it uses.
    fn level(&self) -> Level;

    /// Longest context and number of symbols, [t, k]: the shape of its logits.
    fn shape(&self) -> [usize; 2];

    /// Buffers for the prepared parameters.
    fn prepared(&self, buffers: &mut Allocator) -> Self::Prepared;

    /// Computes what all blocks share from `params`.
    fn prepare(&self, params: &[f32], prepared: &mut Self::Prepared);

    /// Buffers for one block.
    fn scratch(&self, buffers: &mut Allocator) -> Self::Scratch;

    /// Writes the logits of the positions from `first` on into their rows of `logits` ([rows, k]).
    fn forward(
        &self,
        prepared: &Self::Prepared,
        inputs: &[[u8; LANES]],
        first: usize,
        scratch: &mut Self::Scratch,
        logits: &mut [Lane],
    );

    /// Forward, loss and backward: adds the gradient with respect to the prepared parameters. `loss` receives
    /// logits as they are computed and returns their gradient; both are [rows, k].
    fn gradient(
        &self,
        prepared: &Self::Prepared,
        block: InTraining,
        scratch: &mut Self::Scratch,
        logits: LogitBuffers,
        loss: LossRows,
        grads: BlockGradient,
    );

    /// How many means over the batch the interventions on it need.
    fn means_len(&self) -> usize {
        0
    }

    /// Adds what those are means of, on the first `used` sequences of a block, to `sums`.
    fn add_written(
        &self,
        _prepared: &Self::Prepared,
        _inputs: &[[u8; LANES]],
        _used: usize,
        _scratch: &mut Self::Scratch,
        _sums: &mut [f64],
    ) {
    }

    /// Takes the means for the blocks to come.
    fn set_means(&self, _means: &[f32], _prepared: &mut Self::Prepared) {}

    /// Length of that gradient.
    fn gradient_len(&self) -> usize;

    /// How many of its numbers, the first ones, come summed over lanes.
    fn summed_len(&self) -> usize {
        0
    }

    /// Carries that gradient, summed over lanes and blocks, back to the parameters: writes it into `grads`.
    fn pull_back(
        &self,
        params: &[f32],
        prepared: &mut Self::Prepared,
        gradient: &[f32],
        grads: &mut [f32],
    );

    /// Shows every row of every head's attention in the last forward of `rows` rows to `probe`.
    fn observe(
        &self,
        prepared: &Self::Prepared,
        rows: usize,
        scratch: &Self::Scratch,
        probe: AttnProbe,
    );

    /// Multiplications for the gradient of one sequence, counted from the formulas.
    fn multiplications(&self) -> usize;
}

/// The gradient of one block: numbers that the engine sums over lanes, and then those that it leaves by lane.
pub struct BlockGradient<'a> {
    /// The first [`Engine::summed_len`] numbers.
    pub summed: &'a mut [f32],
    /// The others, up to [`Engine::gradient_len`].
    pub by_lane: &'a mut [Lane],
}

/// Inputs of a block, and the keys of its masks. With keys, models that have dropout drop; others ignore them.
pub type InTraining<'a> = (&'a [[u8; LANES]], Option<&'a DropoutKeys>);

/// Logits and their gradient, [rows, k] each.
pub type LogitBuffers<'a> = (&'a mut [Lane], &'a mut [Lane]);

/// Turns the logits of some rows ([rows, k]) into their gradient. All logits of a row may be off by the same
/// number, on which no loss may depend: the gradients of a row sum to zero.
pub type LossRows<'a> = &'a mut dyn FnMut(Range<usize>, &[Lane], &mut [Lane]);

/// What a forward makes available to observers.
pub struct Forwarded<'a> {
    /// Logits of the positions that were asked for, [rows, k].
    pub logits: &'a [Lane],
    attention: &'a dyn Fn(AttnProbe),
}

impl Forwarded<'_> {
    /// Shows every row of every head's attention.
    pub fn attention(&self, probe: AttnProbe) {
        (self.attention)(probe);
    }
}

/// An engine with its scratch buffers, whichever engine it is: what a [`Model`](super::Model) holds, without
/// parameters, and an [`Evaluator`](super::Evaluator), at some.
pub trait Compute: Debug + Send + Sync {
    /// The same engine and buffers at some parameters.
    fn at(&self, params: &[f32]) -> Box<dyn Compute>;
    /// See [`Engine::gradient_len`].
    fn gradient_len(&self) -> usize;
    /// See [`Engine::multiplications`].
    fn multiplications(&self) -> usize;
    /// The memory of the scratch buffers for eight sequences, in bytes. Nothing is allocated.
    fn scratch_bytes(&self) -> f64;
    /// The same of prepared parameters.
    fn prepared_bytes(&self) -> f64;
    // What follows needs parameters.

    /// Switches to other parameters.
    fn set(&mut self, params: &[f32]);
    /// Takes the means over a batch that interventions put in place of activations; of contexts of `length`
    /// symbols, on the current thread pool. Nothing is done where there are none.
    fn see_batch(&mut self, batch: &[TokenBlock], length: usize);
    /// Computes the logits of the positions from `first` on, and passes them to `see`.
    fn forward(&self, inputs: &[[u8; LANES]], first: usize, see: &mut dyn FnMut(Forwarded));
    /// Sets `grads` to the gradient of a block with respect to the prepared parameters, by lane. Only for
    /// engines that sum nothing over lanes.
    fn gradient_by_lane(&self, inputs: &[[u8; LANES]], loss: LossRows, grads: &mut [Lane]);
    /// The same in training, summed over lanes.
    fn gradient(&self, block: InTraining, loss: LossRows, grads: &mut [f32]);
    /// See [`Engine::pull_back`].
    fn pull_back(&mut self, params: &[f32], gradient: &[f32], grads: &mut [f32]);
}

/// An engine, the scratch buffers that all handles of it share, and parameters once it has some.
#[derive(Debug)]
pub struct Handle<E: Engine> {
    shared: Arc<(E, ScratchPool<Buffers<E::Scratch>>)>,
    prepared: Option<E::Prepared>,
}

/// Everything that a forward or gradient over one block writes to.
#[derive(Debug)]
struct Buffers<S> {
    scratch: S,
    /// [t, k]
    logits: Vec<Lane>,
    /// [t, k]
    d_logits: Vec<Lane>,
    /// Gradient by lane; empty until a gradient is requested.
    grads: Vec<Lane>,
}

impl<E: Engine> Handle<E> {
    /// An engine without parameters, and without buffers yet.
    pub fn shared(engine: E) -> Arc<dyn Compute> {
        Arc::new(Self {
            shared: Arc::new((engine, ScratchPool::default())),
            prepared: None,
        })
    }

    fn engine(&self) -> &E {
        &self.shared.0
    }

    fn prepared(&self) -> &E::Prepared {
        self.prepared.as_ref().expect(PREPARED)
    }

    fn with_buffers<R>(&self, work: impl FnOnce(&mut Buffers<E::Scratch>) -> R) -> R {
        let new = || {
            let [t, k] = self.engine().shape();
            let logits = vec![Lane::ZERO; t * k];
            Buffers {
                scratch: self.engine().scratch(&mut Allocator::default()),
                d_logits: logits.clone(),
                logits,
                grads: Vec::new(),
            }
        };
        self.shared.1.with(new, work)
    }

    /// Writes the gradient into `grads`, using the given buffers.
    fn gradient_in(
        &self,
        buffers: &mut Buffers<E::Scratch>,
        block: InTraining,
        loss: LossRows,
        grads: BlockGradient,
    ) {
        let used = block.0.len() * self.engine().shape()[1];
        grads.summed.fill(0.0);
        grads.by_lane.fill(Lane::ZERO);
        let logits = (&mut buffers.logits[..used], &mut buffers.d_logits[..used]);
        let (engine, scratch) = (self.engine(), &mut buffers.scratch);
        engine.gradient(self.prepared(), block, scratch, logits, loss, grads);
    }
}

/// Blocks of a batch whose sums are in memory at the same time.
const BLOCKS_AT_ONCE: usize = 32;

/// Why there are parameters.
const PREPARED: &str = "only evaluators compute, and they have parameters";

impl<E: Engine> Compute for Handle<E> {
    fn at(&self, params: &[f32]) -> Box<dyn Compute> {
        let mut prepared = self.engine().prepared(&mut Allocator::default());
        self.engine().prepare(params, &mut prepared);
        Box::new(Self {
            shared: self.shared.clone(),
            prepared: Some(prepared),
        })
    }

    fn gradient_len(&self) -> usize {
        self.engine().gradient_len()
    }

    fn multiplications(&self) -> usize {
        self.engine().multiplications()
    }

    fn scratch_bytes(&self) -> f64 {
        let [t, k] = self.engine().shape();
        let logits = 2.0 * (t * k * size_of::<Lane>()) as f64;
        logits + Allocator::count(|buffers| self.engine().scratch(buffers))
    }

    fn prepared_bytes(&self) -> f64 {
        Allocator::count(|buffers| self.engine().prepared(buffers))
    }

    fn set(&mut self, params: &[f32]) {
        let prepared = self.prepared.as_mut().expect(PREPARED);
        self.shared.0.prepare(params, prepared);
    }

    fn see_batch(&mut self, batch: &[TokenBlock], length: usize) {
        let count = self.engine().means_len();
        if count == 0 {
            return;
        }
        let sums_of = |block: &TokenBlock| {
            let (inputs, used, mut sums) =
                (&block.rows()[..length], block.used(), vec![0.0; count]);
            self.with_buffers(|buffers| {
                let (prepared, scratch) = (self.prepared(), &mut buffers.scratch);
                (self.engine()).add_written(prepared, inputs, used, scratch, &mut sums);
            });
            sums
        };
        let sequences: usize = batch.iter().map(TokenBlock::used).sum();
        let mut total = vec![0.0; count];
        for some in batch.chunks(BLOCKS_AT_ONCE) {
            let of_blocks: Vec<Vec<f64>> = some.par_iter().map(sums_of).collect();
            // In the order of blocks, so that it is the same for any number of threads.
            for sums in of_blocks {
                total.iter_mut().zip(sums).for_each(|(t, sum)| *t += sum);
            }
        }
        let mean = |sum: f64| (sum / sequences as f64) as f32;
        let means: Vec<f32> = total.into_iter().map(mean).collect();
        let prepared = self.prepared.as_mut().expect(PREPARED);
        self.shared.0.set_means(&means, prepared);
    }

    fn forward(&self, inputs: &[[u8; LANES]], first: usize, see: &mut dyn FnMut(Forwarded)) {
        let (engine, prepared, rows) = (self.engine(), self.prepared(), inputs.len());
        let k = engine.shape()[1];
        self.with_buffers(|buffers| {
            let logits = &mut buffers.logits[..rows * k];
            engine.forward(prepared, inputs, first, &mut buffers.scratch, logits);
            see(Forwarded {
                logits: &logits[first * k..],
                attention: &|probe| engine.observe(prepared, rows, &buffers.scratch, probe),
            });
        });
    }

    fn gradient_by_lane(&self, inputs: &[[u8; LANES]], loss: LossRows, grads: &mut [Lane]) {
        let grads = BlockGradient {
            summed: &mut [],
            by_lane: grads,
        };
        self.with_buffers(|buffers| self.gradient_in(buffers, (inputs, None), loss, grads));
    }

    fn gradient(&self, block: InTraining, loss: LossRows, grads: &mut [f32]) {
        self.with_buffers(|buffers| {
            let (summed, rest) = grads.split_at_mut(self.engine().summed_len());
            let mut by_lane = std::mem::take(&mut buffers.grads);
            by_lane.resize(rest.len(), Lane::ZERO);
            let grads = BlockGradient {
                summed,
                by_lane: &mut by_lane,
            };
            self.gradient_in(buffers, block, loss, grads);
            cross_lane::sum_lanes(self.engine().level(), &by_lane, rest);
            buffers.grads = by_lane;
        });
    }

    fn pull_back(&mut self, params: &[f32], gradient: &[f32], grads: &mut [f32]) {
        let prepared = self.prepared.as_mut().expect(PREPARED);
        self.shared.0.pull_back(params, prepared, gradient, grads);
    }
}
