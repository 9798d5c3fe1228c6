//! Induct: a laboratory for watching in-context learning form.
//!
//! Rooms, in the order in which data flows; a room uses those above it only.
//!
//! 1. [`chain`]: transition tables of any order, priors over them, sequences drawn from them
//! 2. [`strategy`]: predictors that need no training: uniform, unigram, n-gram, oracle, Bayes
//! 3. [`model`]: transformer, minimal model, hand-made constructions: parameters, forward, backward
//! 4. [`measure`]: what a number in a run's records means
//! 5. [`train`]: recipes, losses, optimisers, schedules, one step
//! 6. [`probe`]: what is measured on a model: divergences, attention, positional profile, phases
//! 7. [`run`]: the training loop, which drives a sink
//! 8. [`catalogue`]: every setting that has a name
//! 9. [`theory`]: exact gradients of the minimal model, by independent routes
//!
//! Nothing here touches a file, a terminal, a network or a clock, and results depend on a recipe and a level
//! of instructions ([`lanes::use_level`]) alone. It compiles to WebAssembly, where it runs on one thread.

pub mod catalogue;
pub mod chain;
mod custom;
pub mod digest;
mod invalid;
pub mod lanes;
pub mod measure;
pub mod model;
pub mod probe;
pub mod run;
mod scratch;
pub mod strategy;
pub mod theory;
pub mod train;

pub use custom::Custom;
pub use invalid::Invalid;
