//! What is observed of a model at one recorded step, before it gets names.

use std::sync::OnceLock;

use induct_kernels::tokens::TokenBlock;

use super::Column;
use super::copying::copying;
use super::matching::{Matching, matching};
use super::profile::positional_profile;
use crate::model::Model;

/// A model at a recorded step, and everything that was observed of it. What no measure needs is left empty.
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    model: &'a Model,
    params: &'a [f32],
    /// The task's own test set, starting with its first sequence.
    blocks: &'a [TokenBlock],
    /// Steps done.
    pub step: u64,
    /// Training sequences seen.
    pub sequences: u64,
    /// Loss of the last step's batch, with the weights before that step.
    pub train_loss: Option<f64>,
    /// The same at the last position only.
    pub train_loss_last: Option<f64>,
    /// Gradient of the last step's batch, with the weights before that step.
    pub gradient: Option<&'a [f32]>,
    /// KL(truth ‖ model) on the task's own test set.
    pub truth: Kl,
    /// KL(strategy ‖ model) there, by strategy.
    pub strategies: Vec<(String, Kl)>,
    /// KL(truth ‖ model) on every other test set, by name.
    pub tests: Vec<(String, Kl)>,
    /// By layer and head; empty for models without attention.
    pub heads: Vec<Vec<HeadObserved>>,
    /// KL(truth ‖ model) at every position, `[t]`.
    pub kl_by_position: Vec<f64>,
    /// Cross-entropy at every position, `[t]`.
    pub loss_by_position: Vec<f64>,
    // Several measures read these; some runs record none of them.
    profile: OnceLock<Option<Vec<f64>>>,
    matching: OnceLock<Option<Matching>>,
    copying: OnceLock<Vec<Vec<f64>>>,
}

/// A divergence, averaged over the sequences of a test set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kl {
    /// At the last position.
    pub last: f64,
    /// Its standard error.
    pub se: f64,
    /// Averaged over all positions, where all positions were measured.
    pub all: Option<f64>,
}

/// The scores of one head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadObserved {
    /// By the name of the measure.
    pub scores: Vec<(String, f64)>,
}

impl<'a> Observation<'a> {
    /// A model of which nothing has been observed yet.
    pub(crate) fn new(model: &'a Model, params: &'a [f32], blocks: &'a [TokenBlock]) -> Self {
        Self {
            model,
            params,
            blocks,
            step: 0,
            sequences: 0,
            train_loss: None,
            train_loss_last: None,
            gradient: None,
            truth: Kl::default(),
            strategies: Vec::new(),
            tests: Vec::new(),
            heads: Vec::new(),
            kl_by_position: Vec::new(),
            loss_by_position: Vec::new(),
            profile: OnceLock::new(),
            matching: OnceLock::new(),
            copying: OnceLock::new(),
        }
    }

    /// The model.
    pub fn model(&self) -> &'a Model {
        self.model
    }

    /// Its parameters at this step, in the order of the model's [`layout`](Model::layout).
    pub fn params(&self) -> &'a [f32] {
        self.params
    }

    /// One of their tensors, such as `layers.0.W_Q`; none if the model has no such tensor.
    pub fn tensor(&self, name: &str) -> Option<&'a [f32]> {
        let tensor = self.model.layout().tensor(name)?;
        Some(&self.params[tensor.range.clone()])
    }

    /// The first sequences of the task's own test set, up to 128, with t + 1
    /// symbols each: the same at every step.
    pub fn test_sequences(&self) -> impl Iterator<Item = Vec<u8>> + use<'a> {
        let lanes = |block: &'a TokenBlock| (0..block.used()).map(move |lane| block.lane(lane));
        self.blocks.iter().flat_map(lanes)
    }

    /// The score of the head that a column is about, for the column's measure; none if it was not requested.
    pub fn head_score(&self, column: &Column) -> Option<f64> {
        let (layer, head) = column.head()?;
        let head = self.heads.get(layer)?.get(head)?;
        head.score(&column.measure)
    }

    /// The first layer's positional profile; see [`positional_profile`].
    pub fn positional_profile(&self) -> Option<&[f64]> {
        let profile = || positional_profile(self.model, self.params);
        self.profile.get_or_init(profile).as_deref()
    }

    /// How the second layer matches symbols; see [`matching`].
    pub fn matching(&self) -> Option<Matching> {
        let matched = || matching(self.model, self.params);
        *self.matching.get_or_init(matched)
    }

    /// The copy strength of every head, by layer.
    pub(super) fn copying(&self) -> &[Vec<f64>] {
        self.copying
            .get_or_init(|| copying(self.model, self.params))
    }
}

impl HeadObserved {
    /// The score for the measure with that name, if it was requested.
    pub fn score(&self, measure: &str) -> Option<f64> {
        let found = self.scores.iter().find(|(other, _)| other == measure);
        found.map(|(_, score)| *score)
    }
}
