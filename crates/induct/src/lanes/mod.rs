//! Eight numbers side by side: the unit of every fast path.
//!
//! A `Lane` holds one number from each of [`LANES`] sequences, so that plain loops over it become vector
//! instructions. Kernels are written once and compiled for every instruction set (`Level`); numbers change
//! lanes in one place only (`cross_lane`).

pub(crate) mod cross_lane;
mod lane;
pub(crate) mod level;

pub use lane::LANES;
pub(crate) use lane::Lane;
pub(crate) use level::{Level, leveled};
pub use level::{instructions, levels, use_level};
