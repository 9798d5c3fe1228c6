//! Pictures of runs and models: what the crate [`induct_figure`] draws of what the library [`induct`]
//! computes.
//!
//! - [`panels`]: curves of one run, or of several overlaid, for any measure that they recorded
//! - [`groups`]: runs of one recipe that differ only in their seeds, with labels that tell recipes apart
//! - [`curves`]: every seed's own curve and their median, which is what panels are made of
//! - [`sweeps`]: families of curves, and phase diagrams over two keys
//! - [`attention`]: what heads attend to on a sequence, as heat maps and arcs
//! - [`strategy_colours`], [`phase_regions`], [`regions_of_run`]: the colours that all pictures share
//!
//! The command line, the studies and pages in a browser draw with it. Histories, recipes, models and weights
//! go in, figures come out; nothing here touches a file or a terminal, and all of it compiles to WebAssembly.

pub mod attention;
pub mod curves;
pub mod groups;
pub mod panels;
mod phase_regions;
mod strategy_colours;
pub mod sweeps;

pub use phase_regions::{phase_regions, regions_of_run};
pub use strategy_colours::strategy_colours;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
