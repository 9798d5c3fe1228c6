//! What Induct computes models with: numbers in, numbers out. It knows no recipe.
//!
//! Programs use the crate `induct`, which names what of this is meant for them. The rest is public for `induct`
//! and for the tests, and may change. It is a crate of its own because it is optimised in every profile, and so
//! takes long to compile: nothing else has to.
//!
//! 1. [`lanes`]: eight numbers side by side, and the instructions that compute with them
//! 2. [`random`]: random numbers by address
//! 3. [`tokens`]: sequences side by side
//! 4. [`model`]: transformer, minimal model, constructions: parameters, forward, backward, activations
//! 5. [`loss`]: what training minimises

#![allow(
    missing_docs,
    reason = "fields have the names of the formulas, and `induct` asks for the documentation of what is for programs"
)]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "who reads about this crate reads its source"
)]

mod custom;
mod invalid;
mod kind;
pub mod lanes;
pub mod loss;
pub mod model;
pub mod random;
pub mod scratch;
pub mod settings;
pub mod tokens;

pub use custom::{Custom, is_name};
pub use invalid::{Invalid, require};
pub use kind::KIND;
