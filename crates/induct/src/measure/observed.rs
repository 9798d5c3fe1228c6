//! What is seen of a model at one recorded step, before it is given names.

use super::HeadMeasure;

/// All that was observed at a recorded step. What nobody asked for is left empty.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Steps done.
    pub step: u64,
    /// Training sequences seen.
    pub sequences: u64,
    /// Loss of the last step's batch, of the weights before that step.
    pub train_loss: Option<f64>,
    /// The same at the last position only.
    pub train_loss_last: Option<f64>,
    /// KL(truth ‖ model) on the task's own test set.
    pub truth: Kl,
    /// KL(strategy ‖ model) there, by strategy.
    pub strategies: Vec<(String, Kl)>,
    /// KL(truth ‖ model) on every other test set, by its name.
    pub tests: Vec<(String, Kl)>,
    /// By layer and head; empty for models without attention.
    pub heads: Vec<Vec<HeadObserved>>,
    /// The first layer's positional profile, `[t]`.
    pub profile: Vec<f64>,
    /// How far odd lags stand out in it.
    pub odd_even: Option<f64>,
    /// How the second layer matches symbols.
    pub matching: Option<Matching>,
    /// KL(truth ‖ model) at every position, `[t]`.
    pub kl_by_position: Vec<f64>,
    /// Cross-entropy at every position, `[t]`.
    pub loss_by_position: Vec<f64>,
}

/// A divergence, averaged over the sequences of a test set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kl {
    /// At the last position.
    pub last: f64,
    /// The standard error of that.
    pub se: f64,
    /// Averaged over all positions, where it was measured there.
    pub all: Option<f64>,
}

/// What was measured on one head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadObserved {
    /// One entry per measure that was asked for.
    pub values: Vec<(HeadMeasure, f64)>,
}

impl HeadObserved {
    /// One of the measures, if it was asked for and some position has it.
    pub fn value(&self, measure: HeadMeasure) -> Option<f64> {
        let found = self.values.iter().find(|(other, _)| *other == measure);
        found.map(|(_, value)| *value)
    }
}

/// How the second layer matches symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matching {
    /// Mean score on the diagonal minus mean score off it: how much more an equal symbol attracts.
    pub gap: f64,
    /// (D − O) / (|D| + |O|) of those two means; none where both are too small to mean anything.
    pub dominance: Option<f64>,
}
