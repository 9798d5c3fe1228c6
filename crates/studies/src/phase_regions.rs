//! The phases of a run as coloured backgrounds.

use induct::probe::Phase;
use induct_figure::{Colour, Region};

/// Phases as regions in the colours of their strategies. Each lasts until the next begins; `x` places steps on
/// the horizontal axis.
pub fn phase_regions(
    phases: &[Phase],
    colours: &[(String, Colour)],
    x: impl Fn(f64) -> f64,
) -> Vec<Region> {
    let ends = phases.iter().skip(1).map(|next| next.onset);
    let ends = ends.chain(phases.last().map(|phase| phase.end));
    let region = |(phase, end): (&Phase, u64)| {
        let (_, colour) = colours.iter().find(|(name, _)| *name == phase.strategy)?;
        Some(Region {
            from: x(phase.onset as f64),
            to: x(end as f64),
            label: phase.strategy.clone(),
            colour: *colour,
        })
    };
    phases.iter().zip(ends).filter_map(region).collect()
}
