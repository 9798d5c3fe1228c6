//! Exact gradient steps on the population loss.

use super::coupling::{Coupling, Weights};
use super::linear_region::{MarginBounds, margin_needed};
use crate::{Invalid, require};

/// One step: w ← (1 − decay) w − η ∇L.
///
/// The decay is not multiplied by the learning rate, as in the paper's proposition: a decay of 1 erases the
/// weights.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The loss to descend, as its [`Coupling`].
    pub coupling: &'a Coupling,
    /// Learning rate η of both layers.
    pub eta: f64,
    /// Decay of W_k, from 0 to 1.
    pub decay_w: f64,
    /// Decay of v, from 0 to 1.
    pub decay_v: f64,
    /// The margin Δ; if given, it is checked that the loss is linear where the step starts.
    pub margin: Option<f64>,
}

impl<'a> Step<'a> {
    /// A plain step: no decay, and a margin that is assumed to be large enough.
    pub fn new(coupling: &'a Coupling, eta: f64) -> Self {
        Self {
            coupling,
            eta,
            decay_w: 0.0,
            decay_v: 0.0,
            margin: None,
        }
    }

    fn check(&self, at: &Weights) -> Result<(), Invalid> {
        require(
            self.eta >= 0.0 && self.eta.is_finite(),
            "eta",
            self.eta,
            "a learning rate of at least 0",
        )?;
        for (field, decay) in [("decay_w", self.decay_w), ("decay_v", self.decay_v)] {
            require(
                (0.0..=1.0).contains(&decay),
                field,
                decay,
                "a number from 0 to 1",
            )?;
        }
        if let Some(margin) = self.margin {
            require(
                margin > 0.0 && margin.is_finite(),
                "margin",
                margin,
                "a number above 0",
            )?;
        }
        let (k, t) = (self.coupling.states(), self.coupling.length());
        require(
            (at.states(), at.length()) == (k, t),
            "start",
            format!("{} states, length {}", at.states(), at.length()),
            &format!("weights for {k} states and length {t}, the same in every step"),
        )
    }
}

/// Why a descent has no exact result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what fields are")]
pub enum StepError {
    /// A setting is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The margin is too small: the loss is not linear at the weights from which a step starts.
    #[error(
        "margin = {margin} is too small for the linear region at step {step}: it needs {needed}, {short_by} \
         more",
        needed = .bounds.sufficient
    )]
    OutsideLinearRegion {
        step: usize,
        margin: f64,
        bounds: MarginBounds,
        short_by: f64,
    },
}

/// The weights after each step; the start is not included.
pub fn descend(start: &Weights, steps: &[Step]) -> Result<Vec<Weights>, StepError> {
    start.check()?;
    let mut at = start.clone();
    let mut path = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        step.check(&at)?;
        if let Some(margin) = step.margin {
            let bounds = margin_needed(&at);
            if let Some(short_by) = bounds.short_by(margin) {
                return Err(StepError::OutsideLinearRegion {
                    step: index + 1,
                    margin,
                    bounds,
                    short_by,
                });
            }
        }
        let gradient = step.coupling.gradient(&at);
        at.w_k.iter_mut().for_each(|w| *w *= 1.0 - step.decay_w);
        at.v.iter_mut().for_each(|v| *v *= 1.0 - step.decay_v);
        at = at.plus(-step.eta, &gradient);
        at.check()?;
        path.push(at.clone());
    }
    Ok(path)
}
