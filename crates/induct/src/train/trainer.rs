//! The loop: a step draws its own batch, computes the gradient over blocks of lanes, and moves the weights.
//!
//! Blocks are shared out over threads; each block's gradient is kept apart and they are added in the order
//! of blocks, so that a run gives the same bytes for any number of threads.

use std::sync::Mutex;

use rayon::prelude::*;

use super::loss::Loss;
use super::optimizer::Optimizer;
use super::recipe::Recipe;
use crate::chain::{Address, LANES, Prior, Purpose, Sampler, TokenBlock};
use crate::invalid::Invalid;
use crate::model::{Lane, Model, Prepared, Work};

/// Training failed: the loss is no longer a number.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the loss became {loss} at step {step}")]
pub struct Diverged {
    /// The step whose batch gave it.
    pub step: u64,
    /// NaN or infinite.
    pub loss: f64,
}

/// All that changes during training: enough to go on from here.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainState {
    /// Steps done.
    pub step: u64,
    /// The weights.
    pub params: Vec<f32>,
    /// The optimiser's moments, each as long as the weights.
    pub moments: Vec<Vec<f32>>,
}

/// A model in training.
pub struct Trainer {
    recipe: Recipe,
    model: Model,
    stages: Vec<(u64, Prior)>,
    optimizer: Optimizer,
    step: u64,
    params: Vec<f32>,
    prepared: Prepared,
    grads: Vec<f32>,
    /// Gradient with respect to what was prepared: of every block, [blocks, gradient_len], and their sum.
    block_grads: Vec<f32>,
    summed: Vec<f32>,
    /// Loss of each block, summed over its sequences and positions.
    block_losses: Vec<f64>,
    /// Idle ones, made as threads ask for them. A block takes one for its time, so that a thread that wakes late
    /// leaves its blocks to the others.
    workers: Mutex<Vec<Worker>>,
}

/// What one thread needs.
struct Worker {
    sampler: Sampler,
    tokens: TokenBlock,
    work: Work,
    grads: Vec<Lane>,
}

/// The address of the batch that step `step` trains on.
pub fn batch_address(recipe: &Recipe, step: u64) -> Address {
    Address {
        purpose: Purpose::Train,
        seed: recipe.seeds.data,
        step,
    }
}

/// The prior in force at `step`.
pub fn prior_at(stages: &[(u64, Prior)], step: u64) -> &Prior {
    let current = stages.iter().rev().find(|(from, _)| *from <= step);
    &current.expect("the first stage starts at step 0").1
}

impl Trainer {
    /// A run at its start, to be trained over the current thread pool.
    pub fn new(recipe: &Recipe) -> Result<Self, Invalid> {
        recipe.check()?;
        let model = recipe.model()?;
        let stages = recipe.stages()?;
        let optimizer = recipe.optimizer(&model)?;
        let blocks = recipe.train.batch.div_ceil(LANES);
        let size = model.gradient_len();
        let params = model.start(recipe.seeds.init);
        Ok(Self {
            prepared: model.prepare(&params),
            grads: vec![0.0; params.len()],
            params,
            summed: vec![0.0; size],
            block_grads: vec![0.0; blocks * size],
            block_losses: vec![0.0; blocks],
            workers: Mutex::new(Vec::new()),
            recipe: recipe.clone(),
            model,
            stages,
            optimizer,
            step: 0,
        })
    }

    /// The recipe it follows.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The weights as they are now.
    pub fn params(&self) -> &[f32] {
        &self.params
    }

    /// Steps done.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Whether all steps of the recipe are done.
    pub fn is_done(&self) -> bool {
        self.step >= self.recipe.train.steps
    }

    /// Does one step and returns its loss, averaged over sequences and positions.
    ///
    /// The loss is of the weights before the step. If it is not finite, nothing is changed.
    pub fn advance(&mut self) -> Result<f64, Diverged> {
        let loss = self.gradient();
        if !loss.is_finite() || !self.grads.iter().all(|g| g.is_finite()) {
            return Err(Diverged {
                step: self.step,
                loss: if loss.is_finite() { f64::NAN } else { loss },
            });
        }
        let steps = self.recipe.train.steps;
        let factor = self.recipe.train.schedule.factor(self.step, steps);
        self.optimizer
            .update(self.step, factor, &self.grads, &mut self.params);
        self.step += 1;
        Ok(loss)
    }

    /// Computes the loss and the gradient of the current step's batch.
    fn gradient(&mut self) -> f64 {
        self.model.prepare_again(&self.params, &mut self.prepared);
        let (model, prepared, train) = (&self.model, &self.prepared, &self.recipe.train);
        let (batch, length, loss) = (train.batch, self.recipe.task.length, train.loss);
        let address = batch_address(&self.recipe, self.step);
        let prior = prior_at(&self.stages, self.step);
        let size = self.summed.len();
        let scale = 1.0 / (batch * length) as f64;
        let workers = &self.workers;
        self.block_losses
            .par_iter_mut()
            .zip(self.block_grads.par_chunks_mut(size))
            .with_max_len(1)
            .enumerate()
            .for_each(|(index, (block_loss, block_grad))| {
                let idle = workers.lock().expect(UNPOISONED).pop();
                let mut worker = idle.unwrap_or_else(|| Worker::new(model, prior));
                let first = index * LANES;
                let used = (batch - first).min(LANES);
                let Worker {
                    sampler, tokens, ..
                } = &mut worker;
                sampler.block(prior, address, first as u64, used, tokens);
                *block_loss = worker.block(model, prepared, loss, scale as f32, block_grad);
                workers.lock().expect(UNPOISONED).push(worker);
            });
        self.summed.fill(0.0);
        for block_grad in self.block_grads.chunks_exact(size) {
            for (total, &part) in self.summed.iter_mut().zip(block_grad) {
                *total += part;
            }
        }
        model.pull_back(&self.params, prepared, &self.summed, &mut self.grads);
        self.block_losses.iter().sum::<f64>() * scale
    }

    /// What is needed to go on from here.
    pub fn state(&self) -> TrainState {
        TrainState {
            step: self.step,
            params: self.params.clone(),
            moments: self.optimizer.moments().to_vec(),
        }
    }

    /// Goes on from a saved state. False, and nothing changed, if it does not fit this recipe.
    pub fn restore(&mut self, state: TrainState) -> bool {
        if state.params.len() != self.params.len()
            || !self.optimizer.restore(state.step, state.moments)
        {
            return false;
        }
        self.step = state.step;
        self.params = state.params;
        true
    }
}

/// Why a lock on the workers cannot fail.
const UNPOISONED: &str = "nothing panics while it holds the lock";

impl Worker {
    fn new(model: &Model, prior: &Prior) -> Self {
        Self {
            sampler: Sampler::new(prior),
            tokens: TokenBlock::new(model.length() + 1),
            work: model.work(),
            grads: vec![Lane::ZERO; model.gradient_len()],
        }
    }

    /// Loss of the block in `tokens`, summed; its gradient, times `scale`, into `grad`.
    fn block(
        &mut self,
        model: &Model,
        prepared: &Prepared,
        loss: Loss,
        scale: f32,
        grad: &mut [f32],
    ) -> f64 {
        let rows = self.tokens.rows();
        let (inputs, targets) = (&rows[..rows.len() - 1], &rows[1..]);
        let (mut total, used) = (0.0, self.tokens.used());
        self.grads.fill(Lane::ZERO);
        model.gradient(
            prepared,
            inputs,
            &mut self.work,
            &mut |rows, logits, d_logits| {
                total += loss.evaluate(logits, &targets[rows], used, scale, d_logits);
            },
            &mut self.grads,
        );
        for (sum, by_lane) in grad.iter_mut().zip(&self.grads) {
            *sum = by_lane.sum();
        }
        total
    }
}
