//! The minimal model's gradients and first steps, exactly.
//!
//! There are three routes to a population gradient of the margin loss. For a single chain they share no code.
//! The first two average over a prior with the same quadrature rule, which is tested against other rules and
//! against exact integrals.
//!
//! | route | what it is | where it applies |
//! |---|---|---|
//! | [`Coupling`] | the loss as one tensor, by recursion over t | the linear region, any t |
//! | [`enumerate`] | a sum over every sequence, straight from the definitions | any margin, small t |
//! | [`sample`] | Monte Carlo with the model's own training code | everywhere, with standard errors |
//!
//! [`descend`] takes any number of steps from any start. Indices are 0-based here: `v[0]` is the paper's v_1,
//! the weight of the current symbol.

pub(crate) mod classes;
pub(crate) mod coupling;
mod descent;
mod enumeration;
mod linear_region;
pub(crate) mod quadrature;
mod sampled;

pub use coupling::{Coupling, Weights};
pub use descent::{Step, StepError, descend};
pub use enumeration::{Enumeration, enumerate};
pub use linear_region::{MarginBounds, margin_needed};
pub use sampled::{GradientEstimate, sample};
