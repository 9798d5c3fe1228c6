//! Transition tables of any order, priors over them, and sequences drawn from them.
//!
//! Everything random is addressed (see [`Address`]): a sequence is a pure function of its purpose, seed,
//! step and index, and uses only integer comparisons and correctly rounded or portable functions, so it is
//! the same on every machine and for any number of threads.

mod birkhoff;
mod prior;
mod source;
mod stationary;
mod stream;
mod table;

pub(crate) use birkhoff::rectangle_move;
pub(crate) use prior::check_task;
pub use prior::{
    Alpha, Law, MAX_CONTEXTS, MAX_POOL, MAX_STATES, MixturePart, Prior, PriorSpec, Rows,
};
pub use source::{Sampler, TokenBlock};
pub use stationary::{NoLaw, StationarySolver};
pub use stream::{Address, Generator, Purpose, open_interval, open_unit};
pub use table::{TransitionTable, context_index, contexts_with_prefix, slide};
