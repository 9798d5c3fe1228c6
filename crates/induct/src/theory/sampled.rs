//! The gradient by Monte Carlo, with the training code itself: the third route.

use std::ops::Range;

use induct_kernels::lanes::{LANES, Lane};
use induct_kernels::tokens::TokenBlock;

use super::coupling::Weights;
use super::enumeration::check_question;
use crate::chain::{Purpose, Sampler, TaskPrior, address};
use crate::model::{MinimalSpec, Model, ModelSpec};
use crate::probe::{Estimate, Moments};
use crate::train::Loss;
use crate::{Invalid, require};

/// A gradient with standard errors.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientEstimate {
    /// With respect to W_k, [k, k].
    pub w_k: Vec<Estimate>,
    /// With respect to v, by lag, `[t]`.
    pub v: Vec<Estimate>,
}

/// The gradient of the margin loss at `weights`, estimated on `sequences` sequences from `prior` with the
/// minimal model's own forward pass, loss and backward pass, in f32.
pub fn sample(
    prior: &TaskPrior,
    weights: &Weights,
    margin: f64,
    sequences: usize,
    seed: u64,
) -> Result<GradientEstimate, Invalid> {
    weights.check()?;
    let (k, t) = (weights.states(), weights.length());
    check_question(prior, weights, margin)?;
    require(
        sequences >= 2,
        "sequences",
        sequences,
        "at least 2, for a standard error",
    )?;
    let model = Model::new(&ModelSpec::Minimal(MinimalSpec::default()), k, t)?;
    let loss = Loss::Margin { delta: margin };
    let all = weights.w_k.iter().chain(&weights.v);
    let params: Vec<f32> = all.map(|&w| w as f32).collect();
    let (evaluator, level) = (model.at(&params), model.level());
    let (mut sampler, mut block) = (Sampler::new(prior), TokenBlock::new(t + 1));
    let address = address(Purpose::Fresh, seed, 0);
    let mut moments = vec![Moments::default(); params.len()];
    let mut grads = vec![Lane::ZERO; params.len()];
    for first in (0..sequences).step_by(LANES) {
        let used = LANES.min(sequences - first);
        let drawn = first as u64..(first + used) as u64;
        sampler.block(prior, address, drawn, &mut block)?;
        let (inputs, targets) = (&block.rows()[..t], &block.rows()[1..]);
        let mut evaluate = |rows: Range<usize>, logits: &[Lane], gradient: &mut [Lane]| {
            let targets = &targets[rows];
            loss.evaluate(level, logits, targets, used, 1.0 / t as f32, gradient);
        };
        evaluator.gradient_by_lane(inputs, &mut evaluate, &mut grads);
        for (moments, lanes) in moments.iter_mut().zip(&grads) {
            lanes.0[..used]
                .iter()
                .for_each(|&g| moments.push(f64::from(g)));
        }
    }
    let mut estimates = moments.iter().map(Moments::estimate);
    Ok(GradientEstimate {
        w_k: estimates.by_ref().take(k * k).collect(),
        v: estimates.collect(),
    })
}
