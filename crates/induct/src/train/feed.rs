//! The batches that a model learns from: each step has an address, and draws its sequences from there.

use induct_kernels::lanes::LANES;
use induct_kernels::model::dropout::DropoutKeys;
use induct_kernels::scratch::ScratchPool;
use induct_kernels::tokens::TokenBlock;
use rand_core::Rng;
use rayon::prelude::*;

use crate::chain::{Address, DrawError, Purpose, Sampler, TaskPrior, address};
use crate::model::Model;
use crate::recipe::Recipe;

/// What is learned from: this step's batch, and the next one's, which is drawn while the weights are updated.
pub(super) struct Feed {
    pub stages: Vec<(u64, TaskPrior)>,
    pub batch: Vec<TokenBlock>,
    /// The step that `batch` is for, once drawn.
    pub drawn_for: Option<u64>,
    pub next: Vec<TokenBlock>,
    pub samplers: ScratchPool<Sampler>,
}

/// The address of the batch that step `step` trains on.
pub fn batch_address(recipe: &Recipe, step: u64) -> Address {
    address(Purpose::Train, recipe.seeds.data, step)
}

/// The keys of sequence `index` of the batch of step `step`: all its dropout masks follow from them, as
/// `docs/models.md` describes. They belong to the data seed, but share no random number with the sequence.
pub fn dropout_keys(recipe: &Recipe, step: u64, index: u64) -> [u32; 2] {
    let address = Address {
        purpose: Purpose::Dropout,
        ..batch_address(recipe, step)
    };
    let mut rng = address.generator(index);
    [rng.next_u32(), rng.next_u32()]
}

/// The keys of block `index` of the batch of step `step`, which has `used` sequences; none if the model has no
/// dropout.
pub(super) fn block_keys(
    recipe: &Recipe,
    model: &Model,
    step: u64,
    (index, used): (usize, usize),
) -> Option<DropoutKeys> {
    let key = |lane: usize| dropout_keys(recipe, step, (index * LANES + lane) as u64);
    model.has_dropout().then(|| DropoutKeys::new(used, key))
}

/// The prior in force at `step`.
pub fn prior_at(stages: &[(u64, TaskPrior)], step: u64) -> &TaskPrior {
    let current = stages.iter().rev().find(|(from, _)| *from <= step);
    &current.expect("the first stage starts at step 0").1
}

/// Draws the batch of step `step`.
pub(super) fn draw(
    recipe: &Recipe,
    stages: &[(u64, TaskPrior)],
    step: u64,
    samplers: &ScratchPool<Sampler>,
    batch: &mut [TokenBlock],
) -> Result<(), DrawError> {
    let draw = BatchDraw::new(recipe, stages, step, samplers);
    let blocks = batch.par_iter_mut().with_max_len(1).enumerate();
    // Threads stop at any error. The first one in order is the same for any number of threads.
    blocks.try_for_each(|block| draw.block(block)).or_else(|_| {
        batch
            .iter_mut()
            .enumerate()
            .try_for_each(|block| draw.block(block))
    })
}

/// Where the blocks of one batch come from.
pub(super) struct BatchDraw<'a> {
    prior: &'a TaskPrior,
    address: Address,
    /// Sequences in the batch.
    size: usize,
    samplers: &'a ScratchPool<Sampler>,
}

impl<'a> BatchDraw<'a> {
    /// Those of step `step`.
    pub fn new(
        recipe: &Recipe,
        stages: &'a [(u64, TaskPrior)],
        step: u64,
        samplers: &'a ScratchPool<Sampler>,
    ) -> Self {
        Self {
            prior: prior_at(stages, step),
            address: batch_address(recipe, step),
            size: recipe.train.batch,
            samplers,
        }
    }

    /// Draws the sequences of one block, given its number.
    pub fn block(&self, (index, tokens): (usize, &mut TokenBlock)) -> Result<(), DrawError> {
        let first = index * LANES;
        let used = (self.size - first).min(LANES);
        self.samplers.with(
            || Sampler::new(self.prior),
            |sampler| sampler.block(self.prior, self.address, first as u64, used, tokens),
        )
    }
}
