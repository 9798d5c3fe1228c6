//! The loop: a step draws its own batch, computes the gradient over blocks of lanes, and moves the weights.
//!
//! Blocks are shared out over threads; each block's gradient is kept apart and they are added in the order
//! of blocks, so that a run gives the same bytes for any number of threads.

use rayon::prelude::*;

use super::loss::Loss;
use super::optimizer::Optimizer;
use super::recipe::Recipe;
use crate::chain::{Address, LANES, Prior, Purpose, Sampler, TokenBlock};
use crate::idle::Idle;
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
    step: u64,
    learner: Learner,
    feed: Feed,
}

/// What learns: the weights and all that moves them.
struct Learner {
    model: Model,
    optimizer: Optimizer,
    params: Vec<f32>,
    prepared: Prepared,
    grads: Vec<f32>,
    /// Gradient with respect to what was prepared: of every block, [blocks, gradient_len], and their sum.
    block_grads: Vec<f32>,
    summed: Vec<f32>,
    /// Loss of each block, summed over its sequences and positions.
    block_losses: Vec<f64>,
    workers: Idle<Worker>,
}

/// What one thread needs to learn from a block.
struct Worker {
    work: Work,
    grads: Vec<Lane>,
}

/// What is learned from: this step's batch, and the next one's, which is drawn while the weights move.
struct Feed {
    stages: Vec<(u64, Prior)>,
    batch: Vec<TokenBlock>,
    /// The step that `batch` is for, once it is drawn.
    drawn_for: Option<u64>,
    next: Vec<TokenBlock>,
    samplers: Idle<Sampler>,
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
        let batch = vec![TokenBlock::new(recipe.task.length + 1); blocks];
        Ok(Self {
            recipe: recipe.clone(),
            step: 0,
            learner: Learner {
                prepared: model.prepare(&params),
                grads: vec![0.0; params.len()],
                params,
                summed: vec![0.0; size],
                block_grads: vec![0.0; blocks * size],
                block_losses: vec![0.0; blocks],
                workers: Idle::default(),
                model,
                optimizer,
            },
            feed: Feed {
                stages,
                next: batch.clone(),
                batch,
                drawn_for: None,
                samplers: Idle::default(),
            },
        })
    }

    /// The recipe it follows.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.learner.model
    }

    /// The weights as they are now.
    pub fn params(&self) -> &[f32] {
        &self.learner.params
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
        let Self {
            recipe,
            step,
            learner,
            feed,
        } = self;
        if feed.drawn_for != Some(*step) {
            draw(recipe, &feed.stages, *step, &feed.samplers, &mut feed.batch);
            feed.drawn_for = Some(*step);
        }
        let (batch, stages, samplers) = (&feed.batch, &feed.stages, &feed.samplers);
        let draw_next = || draw(recipe, stages, *step + 1, samplers, &mut feed.next);
        let loss = if learner.model.needs_preparation() {
            let loss = learner.look(recipe, batch);
            // While one thread moves the weights, the others need not wait.
            let (moved, ()) = rayon::join(|| learner.learn(recipe, *step, loss), draw_next);
            moved?;
            loss
        } else {
            // The weights have moved before another thread would hear of it: it had better do all it can at once.
            let (loss, ()) = rayon::join(|| learner.look(recipe, batch), draw_next);
            learner.learn(recipe, *step, loss)?;
            loss
        };
        *step += 1;
        std::mem::swap(&mut feed.batch, &mut feed.next);
        feed.drawn_for = Some(*step);
        Ok(loss)
    }

    /// What is needed to go on from here.
    pub fn state(&self) -> TrainState {
        TrainState {
            step: self.step,
            params: self.learner.params.clone(),
            moments: self.learner.optimizer.moments().to_vec(),
        }
    }

    /// Goes on from a saved state. False, and nothing changed, if it does not fit this recipe.
    pub fn restore(&mut self, state: TrainState) -> bool {
        let learner = &mut self.learner;
        if state.params.len() != learner.params.len()
            || !learner.optimizer.restore(state.step, state.moments)
        {
            return false;
        }
        self.step = state.step;
        learner.params = state.params;
        let Learner {
            model,
            params,
            prepared,
            ..
        } = learner;
        model.prepare_again(params, prepared);
        true
    }
}

impl Learner {
    /// Gradients of all blocks of a batch; returns its loss, averaged over sequences and positions.
    fn look(&mut self, recipe: &Recipe, batch: &[TokenBlock]) -> f64 {
        let (model, prepared, workers) = (&self.model, &self.prepared, &self.workers);
        let (loss, scale) = (recipe.train.loss, scale(recipe));
        self.block_losses
            .par_iter_mut()
            .zip(self.block_grads.par_chunks_mut(self.summed.len()))
            .zip(batch)
            .with_max_len(1)
            .for_each(|((block_loss, block_grad), tokens)| {
                *block_loss = workers.lend(
                    || Worker::new(model),
                    |worker| worker.look(model, prepared, tokens, loss, scale as f32, block_grad),
                );
            });
        self.block_losses.iter().sum::<f64>() * scale
    }

    /// Moves the weights by the gradients of step `step`. If anything is not finite, they stay.
    fn learn(&mut self, recipe: &Recipe, step: u64, loss: f64) -> Result<(), Diverged> {
        self.summed.fill(0.0);
        for block_grad in self.block_grads.chunks_exact(self.summed.len()) {
            for (total, &part) in self.summed.iter_mut().zip(block_grad) {
                *total += part;
            }
        }
        let Self {
            model,
            params,
            prepared,
            grads,
            summed,
            ..
        } = self;
        model.pull_back(params, prepared, summed, grads);
        if !loss.is_finite() || !grads.iter().all(|g| g.is_finite()) {
            return Err(Diverged {
                step,
                loss: if loss.is_finite() { f64::NAN } else { loss },
            });
        }
        let factor = recipe.train.schedule.factor(step, recipe.train.steps);
        self.optimizer.update(step, factor, grads, params);
        model.prepare_again(params, prepared);
        Ok(())
    }
}

/// One over the number of predictions in a batch.
fn scale(recipe: &Recipe) -> f64 {
    1.0 / (recipe.train.batch * recipe.task.length) as f64
}

/// Draws the batch of step `step`.
fn draw(
    recipe: &Recipe,
    stages: &[(u64, Prior)],
    step: u64,
    samplers: &Idle<Sampler>,
    batch: &mut [TokenBlock],
) {
    let (address, prior) = (batch_address(recipe, step), prior_at(stages, step));
    let size = recipe.train.batch;
    batch
        .par_iter_mut()
        .with_max_len(1)
        .enumerate()
        .for_each(|(index, tokens)| {
            let first = index * LANES;
            let used = (size - first).min(LANES);
            samplers.lend(
                || Sampler::new(prior),
                |sampler| sampler.block(prior, address, first as u64, used, tokens),
            );
        });
}

impl Worker {
    fn new(model: &Model) -> Self {
        Self {
            work: model.work(),
            grads: vec![Lane::ZERO; model.gradient_len()],
        }
    }

    /// Loss of a block, summed; its gradient, times `scale`, into `grad`.
    fn look(
        &mut self,
        model: &Model,
        prepared: &Prepared,
        tokens: &TokenBlock,
        loss: Loss,
        scale: f32,
        grad: &mut [f32],
    ) -> f64 {
        let rows = tokens.rows();
        let (inputs, targets) = (&rows[..rows.len() - 1], &rows[1..]);
        let mut total = 0.0;
        self.grads.fill(Lane::ZERO);
        model.gradient(
            prepared,
            inputs,
            &mut self.work,
            &mut |rows, logits, d_logits| {
                total += loss.evaluate(logits, &targets[rows], tokens.used(), scale, d_logits);
            },
            &mut self.grads,
        );
        model.sum_lanes(&self.grads, grad);
        total
    }
}
