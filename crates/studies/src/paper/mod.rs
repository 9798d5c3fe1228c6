//! The paper: *The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains*.

pub mod chapter;
pub mod ledger;

pub(crate) mod claims;
pub(crate) mod figures;
