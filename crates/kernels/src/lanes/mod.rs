//! Eight numbers side by side: the unit of every fast path.
//!
//! A `Lane` holds one number from each of [`LANES`] sequences, so that plain loops over it become vector
//! instructions. Kernels are written once and compiled for every instruction set (`Level`); numbers change
//! lanes in one place only (`cross_lane`).

pub mod cross_lane;
mod lane;
mod level;

pub use crate::leveled;
pub use lane::{LANES, Lane};
pub use level::{Level, instructions, levels, use_level};
