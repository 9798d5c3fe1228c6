//! Settings that describe themselves: every front end takes its fields, tables and checks from here.

use serde::Serialize;

use crate::chain::PriorSpec;
use crate::model::{BlockSpec, ModelSpec};
use crate::task::SourceSpec;
use crate::train::OptimizerSpec;

pub use induct_kernels::settings::{Choice, Kind, Setting, Takes};

/// What has a kind in a recipe, with the settings of every kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schema {
    /// Of `model`.
    pub model: Vec<Kind>,
    /// Of an entry of `model.blocks`.
    pub block: Vec<Kind>,
    /// Of `task.source`.
    pub source: Vec<Kind>,
    /// Of `task.prior`.
    pub prior: Vec<Kind>,
    /// Of `train.optimizer`.
    pub optimizer: Vec<Kind>,
}

/// All built-in kinds with their settings.
///
/// ```
/// let schema = induct::settings::schema();
/// let attention = &schema.block[0];
/// assert_eq!((attention.kind, attention.settings[0].key), ("attention", "heads"));
/// ```
pub fn schema() -> Schema {
    Schema {
        model: ModelSpec::kinds().into(),
        block: BlockSpec::kinds(),
        source: SourceSpec::kinds(),
        prior: PriorSpec::kinds(),
        optimizer: OptimizerSpec::kinds(),
    }
}
