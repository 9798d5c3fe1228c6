//! The batches that a model learns from: each step has an address, and draws its sequences from there.

use induct_kernels::lanes::{LANES, Lane};
use induct_kernels::model::dropout::DropoutKeys;
use induct_kernels::scratch::ScratchPool;
use induct_kernels::tokens::TokenBlock;
use rand_core::Rng;
use rayon::prelude::*;

use crate::chain::{Address, DrawError, Purpose, Sampler, TransitionTable, address};
use crate::model::Model;
use crate::recipe::{Labels, Recipe, Stages};
use crate::strategy::Scratch;
use crate::task::{Task, draw_one_by_one};

/// What is learned from: this step's batch, and the next one's, which is drawn while the weights are updated.
pub(super) struct Feed {
    pub stages: Stages,
    pub batch: Batch,
    /// The step that `batch` is for, once drawn.
    pub drawn_for: Option<u64>,
    pub next: Batch,
    pub scratch: ScratchPool<Scratch>,
}

/// Sequences in blocks.
#[derive(Clone)]
pub(super) struct Batch {
    pub blocks: Vec<TokenBlock>,
    /// The laws of all tokens of a block but the first, [t, k], where they are learned from; or empty.
    pub laws: Vec<Vec<Lane>>,
}

impl Batch {
    /// Room for the batches of a recipe.
    pub fn new(recipe: &Recipe) -> Self {
        let (task, count) = (&recipe.task, recipe.train.batch.div_ceil(LANES));
        let laws = match recipe.train.labels {
            Labels::Token => 0,
            Labels::Law => task.length * task.states,
        };
        Self {
            blocks: vec![TokenBlock::new(task.length + 1); count],
            laws: vec![vec![Lane::ZERO; laws]; count],
        }
    }

    /// Its blocks, one after the other.
    pub fn parts(&mut self) -> impl Iterator<Item = BlockParts<'_>> {
        self.blocks.iter_mut().zip(&mut self.laws).enumerate()
    }
}

/// The number of a block, its tokens and their laws.
type BlockParts<'a> = (usize, (&'a mut TokenBlock, &'a mut Vec<Lane>));

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

/// The keys of the batch of step `step`: masks that its sequences share follow from them.
pub fn batch_dropout_keys(recipe: &Recipe, step: u64) -> [u32; 2] {
    // No sequence has this number.
    dropout_keys(recipe, step, u64::MAX)
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
    let keys = || DropoutKeys::new(batch_dropout_keys(recipe, step), used, key);
    model.has_dropout().then(keys)
}

/// A sequence that a step trains on.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its symbols, `[t+1]`.
    pub tokens: Vec<u8>,
    /// What they were drawn from, [rows, k]: the transition table, a row per context. Without one, the laws of all
    /// tokens but the first.
    pub rows: Vec<f64>,
}

impl Sample {
    /// How many symbols and probabilities each has, at most.
    pub fn size(recipe: &Recipe) -> f64 {
        let task = &recipe.task;
        let (k, t) = (task.states as f64, task.length as f64);
        let table = TransitionTable::bytes(task.states, task.ngram) / size_of::<f64>() as f64;
        let laws = if task.source.is_chains() { 0.0 } else { t * k };
        t + 1.0 + table.max(laws)
    }
}

/// The batch that step `step` trains on, sequence by sequence, given the recipe's [stages](Recipe::stages).
pub fn samples<'a>(
    recipe: &'a Recipe,
    stages: &'a Stages,
    step: u64,
) -> impl Iterator<Item = Result<Sample, DrawError>> + 'a {
    let (task, address) = (stages.at(step), batch_address(recipe, step));
    let mut sampler = task.chains().map(Sampler::new);
    let mut scratch = Scratch::default();
    (0..recipe.train.batch as u64).map(move |index| {
        let mut tokens = vec![0; recipe.task.length + 1];
        let rows = match (task.chains(), &mut sampler) {
            (Some(prior), Some(sampler)) => {
                let table = sampler.sequence(prior, address, index, &mut tokens)?;
                table.rows().flatten().copied().collect()
            }
            _ => {
                let mut laws = vec![0.0; recipe.task.length * task.states()];
                task.sequence(address, index, &mut tokens, Some(&mut laws), &mut scratch)?;
                laws
            }
        };
        Ok(Sample { tokens, rows })
    })
}

/// Draws the batch of step `step`.
pub(super) fn draw(
    recipe: &Recipe,
    stages: &Stages,
    step: u64,
    scratch: &ScratchPool<Scratch>,
    batch: &mut Batch,
) -> Result<(), DrawError> {
    let draw = BatchDraw::new(recipe, stages, step, scratch);
    let blocks = batch.blocks.par_iter_mut().with_max_len(1);
    let blocks = blocks.zip(&mut batch.laws).enumerate();
    // Threads stop at any error. The first one in order is the same for any number of threads.
    blocks
        .try_for_each(|block| draw.block(block))
        .or_else(|_| batch.parts().try_for_each(|block| draw.block(block)))
}

/// Where the blocks of one batch come from.
pub(super) struct BatchDraw<'a> {
    task: &'a dyn Task,
    address: Address,
    /// Sequences in the batch.
    size: usize,
    scratch: &'a ScratchPool<Scratch>,
}

impl<'a> BatchDraw<'a> {
    /// Those of step `step`.
    pub fn new(
        recipe: &Recipe,
        stages: &'a Stages,
        step: u64,
        scratch: &'a ScratchPool<Scratch>,
    ) -> Self {
        Self {
            task: stages.at(step),
            address: batch_address(recipe, step),
            size: recipe.train.batch,
            scratch,
        }
    }

    /// Draws the sequences of one block, given its number.
    pub fn block(&self, (index, (block, laws)): BlockParts) -> Result<(), DrawError> {
        let first = index * LANES;
        let sequences = first as u64..(first + LANES).min(self.size) as u64;
        self.scratch.with(Scratch::default, |scratch| {
            let (task, address) = (self.task, self.address);
            match laws.is_empty() {
                true => task.draw_block(address, sequences, scratch, block),
                false => draw_one_by_one(task, address, sequences, scratch, block, laws),
            }
        })
    }
}
