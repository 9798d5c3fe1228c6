//! Induct: a laboratory for watching in-context learning form.
//!
//! Rooms, in the order in which data flows; a room uses those above it only.

pub mod chain;
mod invalid;
pub mod strategy;

pub use invalid::Invalid;
