//! A laboratory for watching in-context learning emerge.
//!
//! Every training sequence comes from a Markov chain of its own, drawn from a prior: the only way to predict
//! well is to learn the chain inside the context. A small transformer learns that in phases, from uniform to
//! unigram predictions and then, in a sudden drop, to bigram predictions, as a *statistical induction head*
//! forms. A run takes about a second.
//!
//! ```
//! use induct::catalogue::Setting;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let setting = Setting::named("main").expect("a setting of the catalogue");
//! let recipe = setting.recipe(&["train.steps=1500".into(), "record.test_sequences=256".into()])?;
//! let run = induct::run::train(&recipe)?;
//! for phase in &run.summary.phases {
//!     println!("{} from step {} to {}", phase.strategy, phase.onset, phase.end);
//! }
//! let kl = run.history.last(&induct::measure::KL_TRUTH).expect("every run records it");
//! println!("KL(truth ‖ model) ends at {kl:.4} nats");
//!
//! let tokens = [0, 1, 1, 0, 1];
//! let seen = recipe.model()?.run(run.weights(), &tokens)?;
//! let pattern = seen.get("layers.1.attn_pattern")?;
//! for (symbol, attention) in tokens.iter().zip(pattern.row(&[0, 4])) {
//!     println!("{symbol}: {attention:.2}");
//! }
//! # assert!(run.summary.phases.iter().any(|phase| phase.strategy == "unigram"));
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! In the order in which data flows: a module uses those above it only.
//!
//! 1. [`lanes`]: the instructions that compute with eight numbers side by side
//! 2. [`model`]: transformer, minimal model, constructions: parameters, forward, backward, activations; [`block`]
//!    for blocks of your own
//! 3. [`chain`]: transition tables of any order, priors over them, sequences drawn from them
//! 4. [`strategy`]: predictors that need no training: uniform, unigram, n-gram, Bayes
//! 5. [`task`]: where sequences come from: chains over a prior, or another program's task
//! 6. [`measure`]: what a number in a run's records means
//! 7. [`recipe`]: everything that determines a run; [`settings`] describes its kinds
//! 8. [`train`]: losses, optimisers, one step
//! 9. [`probe`]: what is measured on a model: divergences, attention, positional profile, phases
//! 10. [`run`]: the training loop, which drives a sink
//! 11. [`catalogue`]: every setting that has a name
//! 12. [`theory`]: exact gradients of the minimal model, by independent routes
//!
//! Blocks, tasks, priors, strategies, measures and optimisers are traits: one of your own takes one file in your
//! crate (see the examples `custom_block`, `custom_task`, `custom_prior` and so on).
//!
//! Nothing here touches a file, a terminal, a network or a clock, and results depend on a recipe and a level
//! of instructions ([`lanes::use_level`]) alone. It compiles to WebAssembly, where it runs on one thread.

pub mod catalogue;
pub mod chain;
mod digest;
pub mod measure;
mod optimizer;
pub mod probe;
pub mod recipe;
pub mod run;
pub mod settings;
pub mod strategy;
pub mod task;
pub mod theory;
pub mod train;

/// Eight numbers side by side: the unit of every fast path, and the instructions that compute with them.
pub mod lanes {
    pub use induct_kernels::lanes::{LANES, instructions, levels, use_level};
}

/// Blocks: what stands between two states of a transformer's residual stream, for programs that bring their own.
///
/// A [`Design`](block::Design) is a kind of block with its settings; see the example `custom_block`.
pub mod block {
    pub use induct_kernels::lanes::{Lane, Level};
    pub use induct_kernels::model::block::{
        Allocator, Block, BlockPass, Context, Design, GROUP, Ports, ReadBack, Simple, SimplePass,
        Tensors,
    };
    pub use induct_kernels::model::ops::linear;
    pub use induct_kernels::model::reference::{Run, Value};
}

/// Models: their parameters, forward and backward.
///
/// A [`Model`](model::Model) computes with one of a few engines, over blocks of lanes and in single precision.
/// [`model::reference`] computes the same in double precision, one sequence at a time, from the formulas.
pub mod model {
    pub use induct_kernels::model::{
        Activation, Activations, Array, AttentionSpec, BlockSpec, Dropout, DropoutRates, Evaluator,
        Heads, InitStd, InputError, Instead, Intervention, Kind, MAX_LENGTH, Matrix, Minimal,
        MinimalForm, MinimalSpec, MinimalStart, MlpSpec, Model, ModelSpec, OutputProjection, Place,
        Port, Positions, Site, Target, Tensor, Transformer, TransformerSpec, TransformerStart,
        circuits, reference,
    };
}

/// What only this workspace uses: the benchmark, the store, the studies. It may change with any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::chain::table::context_index;
    pub use crate::probe::estimate::median;
    pub use crate::probe::instruments::{EXAM_SET, columns_named};
    pub use crate::probe::phases::{Course, drops, phases};
    pub use crate::run::drive::check_records;
    pub use crate::run::event::{kept_steps, last_step};
    pub use crate::run::identity::{arithmetic, level_with};
    pub use crate::strategy::registry::is_slow;
    pub use crate::theory::classes::{Class, Classes};
    pub use crate::theory::coupling::check_length;
    pub use crate::theory::quadrature::{Degree, WeightedChain, chains, gauss_legendre};
    pub use crate::train::feed::{batch_address, batch_dropout_keys, dropout_keys};
    pub use crate::train::trainer::StepPart;
    pub use induct_kernels::model::{Choice, Kernel, Layout, Part, RULES, Rule, multiply_at_peak};

    /// Checksums.
    pub mod digest {
        pub use crate::digest::{hex, weights};
    }
}

pub use induct_kernels::{Custom, Invalid};
use induct_kernels::{is_name, require};

/// Adds to an error where in a recipe it is.
trait Within {
    /// Adds the setting around the one that the error names.
    fn within(self, outer: &str) -> Self;

    /// Names another setting instead.
    fn at(self, field: &str) -> Self;
}

impl<T> Within for Result<T, Invalid> {
    fn within(self, outer: &str) -> Self {
        self.map_err(|invalid| invalid.within(outer))
    }

    fn at(self, field: &str) -> Self {
        let field = field.to_owned();
        self.map_err(|invalid| Invalid { field, ..invalid })
    }
}

/// Tests the examples of this crate's README and of the workspace's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../README.md")]
struct Readme;
