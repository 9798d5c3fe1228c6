//! How a sequence starts.

use induct_kernels::with_kind;

with_kind! {
    /// The law of a sequence's first context, its first n−1 symbols.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Start {
        /// The chain's stationary law: a sequence looks as if it had begun long ago. The paper's text.
        Stationary {},
        /// Every context is equally likely, whatever the chain: so the start says nothing about the chain.
        /// What the paper's released code trains on.
        Uniform {},
    }
}

impl Default for Start {
    fn default() -> Self {
        Start::Stationary {}
    }
}

impl Start {
    /// Whether it is the stationary law.
    pub fn is_stationary(&self) -> bool {
        *self == Start::Stationary {}
    }
}
