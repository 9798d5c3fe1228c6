//! Transition tables of any order, priors over them, and sequences drawn from them.
//!
//! Everything random is addressed (see [`Address`]). A sequence is a pure function of its purpose, seed, step
//! and index. It uses only integer comparisons and correctly rounded or portable functions, so it is the same
//! on every machine and for any number of threads.

pub mod prior;
mod source;
mod start;
mod stationary;
pub(crate) mod table;

pub use induct_kernels::random::{Address, Generator, Purpose, open_interval, open_unit};

pub use prior::{Alpha, Draft, DrawError, Law, MixturePart, Prior, PriorSpec, Rows, TaskPrior};
pub(crate) use prior::{ROW_TOLERANCE, check_task, rectangle_move, weighted};
pub use source::Sampler;
pub use start::Start;
pub use stationary::NoLaw;
pub(crate) use stationary::StationarySolver;
pub use table::TransitionTable;
pub(crate) use table::{MAX_CONTEXTS, contexts_with_prefix, row_fault, shown_row, slide};

/// The address with these parts.
pub fn address(purpose: Purpose, seed: u64, step: u64) -> Address {
    Address {
        purpose,
        seed,
        step,
    }
}
