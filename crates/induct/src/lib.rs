//! Induct: a laboratory for watching in-context learning form.
//!
//! Rooms, in the order in which data flows; a room uses those above it only.
//!
//! 1. [`chain`]: transition tables of any order, priors over them, sequences drawn from them
//! 2. [`strategy`]: predictors that need no training: uniform, unigram, n-gram, oracle, Bayes
//! 3. [`model`]: transformer, minimal model, hand-made constructions: parameters, forward, backward
//! 4. [`train`]: recipes, losses, optimisers, schedules, the loop
//! 5. [`probe`]: what is measured on a model: divergences, attention, positional profile, phases
//! 6. [`theory`]: exact gradients of the minimal model, and a ledger of the paper's formulas
//!
//! Nothing here touches a file, a terminal or a network.

pub mod chain;
mod idle;
mod invalid;
pub mod model;
pub mod probe;
pub mod strategy;
pub mod theory;
pub mod train;

pub use invalid::Invalid;
