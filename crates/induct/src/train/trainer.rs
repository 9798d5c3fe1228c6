//! Training steps: a step draws its own batch, computes the gradient over blocks of
//! lanes, and updates the weights.
//!
//! Blocks are distributed over threads. Each block's gradient is kept separately, and they are added in the
//! order of blocks, so that a run gives the same bytes for any number of threads.

use std::ops::Range;

use induct_kernels::lanes::{LANES, Lane};
use induct_kernels::model::dropout::DropoutKeys;
use induct_kernels::scratch::ScratchPool;
use rayon::prelude::*;

use super::agenda::Agenda;
use super::feed::{Batch, Feed, block_keys, draw};
use super::objective::{Labels, Objective};
use super::weights::{Snapshots, no_snapshots};
use crate::chain::DrawError;
use crate::model::{Evaluator, Model, Tensor};
use crate::optimizer::Updater;
use crate::recipe::Recipe;
use crate::{Invalid, Within};

/// Training failed: the loss is no longer a number.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("the loss became {loss} at step {step}")]
pub struct Diverged {
    /// The step whose batch gave it.
    pub step: u64,
    /// NaN or infinite.
    pub loss: f64,
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// The loss is no longer a number.
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// A prior from another crate does not draw chains to learn from.
    #[error("the batch of step {step} cannot be drawn: {error}")]
    Prior {
        /// The step that needs them.
        step: u64,
        /// What it drew.
        error: DrawError,
    },
}

/// Everything that changes during training: enough to continue from here.
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
///
/// ```
/// use induct::recipe::Recipe;
/// use induct::train::Trainer;
///
/// let mut trainer = Trainer::new(&Recipe::default())?;
/// let first = trainer.advance()?;
/// for _ in 0..20 {
///     trainer.advance()?;
/// }
/// assert_eq!(trainer.step(), 21);
/// assert!((first - 2_f64.ln()).abs() < 0.01, "an untrained model guesses");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trainer {
    recipe: Recipe,
    step: u64,
    learner: Learner,
    feed: Feed,
    /// The model without interventions, and all interventions.
    base: Model,
    agenda: Agenda,
    /// The next step at which interventions change.
    turn_at: u64,
}

/// What learns: the weights and everything that updates them.
struct Learner {
    objective: Objective,
    model: Model,
    updater: Updater,
    params: Vec<f32>,
    evaluator: Evaluator,
    grads: Vec<f32>,
    /// The gradient as the optimiser gets it, where recipes limit its norm.
    clipped: Vec<f32>,
    /// Gradients with respect to the prepared parameters: of every block,
    /// [blocks, gradient_len], and their sum.
    block_grads: Vec<f32>,
    summed: Vec<f32>,
    /// Loss of each block, summed over its sequences and positions.
    block_losses: Vec<BlockLoss>,
}

/// Loss of a block, summed over its sequences.
#[derive(Clone, Copy, Debug, Default)]
struct BlockLoss {
    /// Over all positions.
    all: f64,
    /// At the last position, if requested.
    last: f64,
}

/// The loss of a step's batch, averaged over sequences, with the weights before the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepLoss {
    /// Also averaged over positions: what is minimised.
    pub mean: f64,
    /// At the last position, if requested.
    pub last: Option<f64>,
}

/// What a step gave, with the weights before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepOutcome<'a> {
    /// The loss of its batch.
    pub loss: StepLoss,
    /// The gradient of that loss, if a measure needs it.
    pub gradient: Option<&'a [f32]>,
}

/// A part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepPart {
    /// A batch is drawn.
    Draw,
    /// The loss of some logits and its gradient are computed.
    Loss,
    /// Forward and backward, without the loss.
    Gradient,
    /// The weights are updated.
    Update,
}

impl Trainer {
    /// A run at its start. It trains on the current thread pool.
    ///
    /// A recipe that names snapshots of other runs needs their weights:
    /// [`with_snapshots`](Self::with_snapshots).
    pub fn new(recipe: &Recipe) -> Result<Self, Invalid> {
        Self::with_snapshots(recipe, &no_snapshots)
    }

    /// The same with the weights of snapshots that the recipe names.
    pub fn with_snapshots(recipe: &Recipe, snapshots: Snapshots) -> Result<Self, Invalid> {
        recipe.check()?;
        let model = recipe.model()?;
        let params = match &recipe.from {
            None => model.start(recipe.seeds.init),
            Some(from) => from.find(snapshots, model.layout().len()).within("from")?,
        };
        let mut trainer = Self::starting_at(recipe, params, snapshots)?;
        trainer.act(None);
        trainer.turn();
        Ok(trainer)
    }

    /// A run that continues from a saved state, given the onsets that took effect before it; none if the state
    /// does not fit the recipe.
    ///
    /// # Errors
    ///
    /// If the recipe cannot be trained: a part of it may be missing.
    pub fn resumed(
        recipe: &Recipe,
        state: TrainState,
        onsets: &[(String, u64)],
        snapshots: Snapshots,
    ) -> Result<Option<Self>, Invalid> {
        recipe.check()?;
        if state.params.len() != recipe.model()?.layout().len() {
            return Ok(None);
        }
        let mut trainer = Self::starting_at(recipe, state.params.clone(), snapshots)?;
        for (strategy, onset) in onsets {
            trainer.agenda.tell(strategy, *onset);
        }
        Ok(trainer.restore(state).then_some(trainer))
    }

    fn starting_at(
        recipe: &Recipe,
        params: Vec<f32>,
        snapshots: Snapshots,
    ) -> Result<Self, Invalid> {
        let model = recipe.model()?;
        let agenda = Agenda::new(recipe, &model, snapshots)?;
        let stages = recipe.stages()?;
        let (optimizer, groups) = (&recipe.train.optimizer, &recipe.train.groups);
        let updater = Updater::new(optimizer, groups, model.layout()).within("train")?;
        let blocks = recipe.train.batch.div_ceil(LANES);
        let size = model.gradient_len();
        let batch = Batch::new(recipe);
        Ok(Self {
            recipe: recipe.clone(),
            step: 0,
            base: model.clone(),
            agenda,
            turn_at: 0,
            learner: Learner {
                objective: Objective::new(recipe)?,
                evaluator: model.in_training(&params),
                grads: vec![0.0; params.len()],
                clipped: vec![0.0; recipe.train.clip.map_or(0, |_| params.len())],
                params,
                summed: vec![0.0; size],
                block_grads: vec![0.0; blocks * size],
                block_losses: vec![BlockLoss::default(); blocks],
                model,
                updater,
            },
            feed: Feed {
                stages,
                next: batch.clone(),
                batch,
                drawn_for: None,
                scratch: ScratchPool::default(),
            },
        })
    }

    /// The recipe it follows.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The model, under the interventions in force.
    pub fn model(&self) -> &Model {
        &self.learner.model
    }

    /// Takes note that the onset of a strategy's phase takes effect at a step: this one or a later one. Interventions
    /// may wait for it.
    pub fn tell_onset(&mut self, strategy: &str, step: u64) {
        self.agenda.tell(strategy, step);
        self.turn_at = self.agenda.next_turn(self.step);
        if step == self.step {
            self.act(Some(strategy));
            self.turn();
        }
    }

    /// Does what interventions do at this step; with `told`, those that waited for that strategy's onset.
    fn act(&mut self, told: Option<&str>) {
        let Learner {
            params,
            updater,
            evaluator,
            ..
        } = &mut self.learner;
        let (base, seed) = (&self.base, self.recipe.seeds.init);
        let mut acted = false;
        let anew = |tensor: &Tensor| {
            acted = true;
            updater.start_anew(tensor);
        };
        let (tensors, initial) = (base.layout().tensors(), || base.start(seed));
        self.agenda
            .act((self.step, told), tensors, initial, params, anew);
        if acted {
            evaluator.set(params);
        }
    }

    /// Puts the interventions of this step in force.
    fn turn(&mut self) {
        let (agenda, step) = (&self.agenda, self.step);
        self.turn_at = agenda.next_turn(step);
        let frozen = |tensor: &Tensor| agenda.is_frozen(tensor, step);
        let rate = |tensor: &Tensor| agenda.rate(tensor, step);
        self.learner.updater.turn(frozen, rate);
        let changes = agenda.changes(step);
        if self.learner.model.interventions() != changes {
            let model = self.base.with(&changes);
            let model = model.expect("interventions were checked with the recipe");
            self.learner.become_model(model);
        }
    }

    /// The current weights.
    pub fn params(&self) -> &[f32] {
        &self.learner.params
    }

    /// The gradient of the last step's batch, with the weights before that step and whatever its norm; zero before the
    /// first step.
    pub fn gradient(&self) -> &[f32] {
        &self.learner.grads
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
    /// The loss is of the weights before the step.
    ///
    /// # Errors
    ///
    /// If the loss is not finite, or the prior does not draw chains. Nothing is changed then.
    pub fn advance(&mut self) -> Result<f64, TrainError> {
        Ok(self.advance_observed(false, &|_| {})?.mean)
    }

    /// The same; also returns the loss at the last position if `last` is set, and calls `done` after each part of the
    /// step. On one thread, parts follow one another, so that they can be timed.
    ///
    /// # Errors
    ///
    /// As [`advance`](Self::advance).
    pub fn advance_observed(
        &mut self,
        last: bool,
        done: &(dyn Fn(StepPart) + Sync),
    ) -> Result<StepLoss, TrainError> {
        let Self {
            recipe,
            step,
            learner,
            feed,
            ..
        } = self;
        if feed.drawn_for != Some(*step) {
            draw(recipe, &feed.stages, *step, &feed.scratch, &mut feed.batch)
                .map_err(|error| TrainError::Prior { step: *step, error })?;
            feed.drawn_for = Some(*step);
            done(StepPart::Draw);
        }
        let (batch, stages, scratch) = (&feed.batch, &feed.stages, &feed.scratch);
        let draw_next = || {
            let drawn = draw(recipe, stages, *step + 1, scratch, &mut feed.next);
            done(StepPart::Draw);
            drawn
        };
        let update = |learner: &mut Learner, loss: StepLoss| {
            let moved = learner.step(recipe, *step, loss.mean);
            done(StepPart::Update);
            moved
        };
        let (loss, drawn) = if learner.model.needs_preparation() {
            let loss = learner.accumulate(recipe, *step, batch, last, done);
            // While one thread updates the weights, the others need not wait.
            let (moved, drawn) = rayon::join(|| update(learner, loss), draw_next);
            moved?;
            (loss, drawn)
        } else {
            // The update is over before another thread could start, so the next batch
            // is drawn beside the gradients.
            let (loss, drawn) = rayon::join(
                || learner.accumulate(recipe, *step, batch, last, done),
                draw_next,
            );
            update(learner, loss)?;
            (loss, drawn)
        };
        *step += 1;
        std::mem::swap(&mut feed.batch, &mut feed.next);
        // If drawing fails, the step that needs the batch (if there is one)
        // tries again and returns the error.
        feed.drawn_for = drawn.is_ok().then_some(*step);
        self.turn_if_due();
        Ok(loss)
    }

    fn turn_if_due(&mut self) {
        if self.step >= self.turn_at {
            self.act(None);
            self.turn();
        }
    }

    /// The state needed to continue from here.
    pub fn state(&self) -> TrainState {
        TrainState {
            step: self.step,
            params: self.learner.params.clone(),
            moments: self.learner.updater.moments().to_vec(),
        }
    }

    /// Continues from a saved state. Returns false, and changes nothing, if it does not fit this recipe.
    pub fn restore(&mut self, state: TrainState) -> bool {
        let (learner, agenda) = (&mut self.learner, &self.agenda);
        let updates = |tensor: &Tensor| agenda.updates(tensor, state.step);
        if state.step > self.recipe.train.steps
            || state.params.len() != learner.params.len()
            || !learner.updater.restore(state.moments, updates)
        {
            return false;
        }
        self.step = state.step;
        learner.params = state.params;
        learner.evaluator.set(&learner.params);
        self.turn();
        true
    }
}

impl Learner {
    /// Goes on with the same weights in another model: the same one under other interventions.
    fn become_model(&mut self, model: Model) {
        let (blocks, size) = (self.block_losses.len(), model.gradient_len());
        self.evaluator = model.in_training(&self.params);
        self.summed = vec![0.0; size];
        self.block_grads = vec![0.0; blocks * size];
        self.model = model;
    }

    /// Computes the gradients of all blocks of the batch of step `step`; returns its loss.
    fn accumulate(
        &mut self,
        recipe: &Recipe,
        step: u64,
        batch: &Batch,
        last: bool,
        done: &(dyn Fn(StepPart) + Sync),
    ) -> StepLoss {
        self.evaluator.see_batch(&batch.blocks, recipe.task.length);
        let (model, evaluator, objective) = (&self.model, &self.evaluator, &self.objective);
        self.block_losses
            .par_iter_mut()
            .zip(self.block_grads.par_chunks_mut(self.summed.len()))
            .zip(&batch.blocks)
            .zip(&batch.laws)
            .enumerate()
            .with_max_len(1)
            .for_each(|(index, (((block_loss, block_grad), tokens), laws))| {
                let keys = block_keys(recipe, model, step, (index, tokens.used()));
                let block = (Labels { tokens, laws }, keys.as_ref());
                let task = (objective, last, done);
                *block_loss = gradient(task, model, evaluator, block, block_grad);
            });
        let mean = self.block_losses.iter().map(|loss| loss.all).sum::<f64>() * objective.scale;
        let at_last = || self.block_losses.iter().map(|loss| loss.last).sum::<f64>();
        StepLoss {
            mean,
            last: last.then(|| at_last() / recipe.train.batch as f64),
        }
    }

    /// Updates the weights with the gradients of step `step`. If anything is not finite, they stay unchanged.
    fn step(&mut self, recipe: &Recipe, step: u64, loss: f64) -> Result<(), Diverged> {
        self.summed.fill(0.0);
        for block_grad in self.block_grads.chunks_exact(self.summed.len()) {
            for (total, &part) in self.summed.iter_mut().zip(block_grad) {
                *total += part;
            }
        }
        let Self {
            params,
            evaluator,
            grads,
            clipped,
            summed,
            updater,
            ..
        } = self;
        evaluator.pull_back(params, summed, grads);
        if !loss.is_finite() || !grads.iter().all(|g| g.is_finite()) {
            return Err(Diverged {
                step,
                loss: if loss.is_finite() { f64::NAN } else { loss },
            });
        }
        let factor = recipe.train.schedule.factor(step, recipe.train.steps);
        let grads = match recipe.train.clip {
            Some(limit) => {
                clip(limit, updater.norm(grads), grads, clipped);
                clipped
            }
            None => grads,
        };
        updater.update(factor, grads, params);
        evaluator.set(params);
        Ok(())
    }
}

/// Scales a gradient of some norm to the largest one allowed, if it is longer: as PyTorch's `clip_grad_norm_` does.
fn clip(limit: f64, norm: f64, grads: &[f32], clipped: &mut [f32]) {
    let factor = (limit / (norm + 1e-6)).min(1.0) as f32;
    for (clipped, g) in clipped.iter_mut().zip(grads) {
        *clipped = factor * g;
    }
}

/// Returns the loss of a block, and writes the gradient of what is minimised into `grad`. With `last`, the loss at the
/// last position is returned separately.
fn gradient(
    (objective, last, done): (&Objective, bool, &(dyn Fn(StepPart) + Sync)),
    model: &Model,
    evaluator: &Evaluator,
    (labels, keys): (Labels, Option<&DropoutKeys>),
    grad: &mut [f32],
) -> BlockLoss {
    let (inputs, level) = (labels.inputs(), model.level());
    let end = inputs.len();
    let mut total = BlockLoss::default();
    let mut evaluate = |rows: Range<usize>, logits: &[Lane], d_logits: &mut [Lane]| {
        done(StepPart::Gradient);
        if last && rows.end == end {
            // First, because the gradients of all rows overwrite these.
            let start = logits.len() - model.states();
            let (logits, d_last) = (&logits[start..], &mut d_logits[start..]);
            total.last = objective.of_rows(level, labels, end - 1..end, logits, d_last);
        }
        total.all += objective.evaluate(level, labels, rows, logits, d_logits);
        done(StepPart::Loss);
    };
    evaluator.gradient((inputs, keys), &mut evaluate, grad);
    done(StepPart::Gradient);
    total
}
