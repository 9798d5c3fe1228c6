//! The phases of a run as coloured backgrounds.

use induct::probe::{History, Phase};
use induct_figure::{Colour, Region};

use crate::strategy_colours;

/// Phases as regions in the colours of their strategies. Each lasts until the next begins; `x` places steps
/// on the horizontal axis.
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

/// The phases of a run of a task with this ladder, over training steps.
pub fn regions_of_run(history: &History, ladder: &[String]) -> Vec<Region> {
    let strategies = history.strategies();
    let colours = strategy_colours(&strategies);
    let colours: Vec<(String, Colour)> = strategies.into_iter().zip(colours).collect();
    let (phases, _) = history.phases(ladder);
    phase_regions(&phases, &colours, |step| step)
}

#[cfg(test)]
mod tests {
    use induct::measure::{KL_STRATEGY, KL_TRUTH, STEP};

    use super::*;

    #[test]
    fn a_phase_lasts_until_the_next_begins_in_the_colour_of_its_strategy() {
        let near = |name: &str| KL_STRATEGY.of_strategy(name);
        let columns = vec![
            (&STEP).into(),
            (&KL_TRUTH).into(),
            near("uniform"),
            near("unigram"),
        ];
        let mut history = History::new(columns);
        for step in 0..10 {
            let passed = if step < 4 { 0.0 } else { 0.3 };
            let row = [
                f64::from(10 * step),
                0.4 - passed,
                0.1 + passed,
                0.35 - passed,
            ];
            history.push(&row).unwrap();
        }
        let found = regions_of_run(&history, &["uniform", "unigram"].map(String::from));
        let region = |label: &str, from, to, colour| Region {
            from,
            to,
            label: label.into(),
            colour,
        };
        let expected = [
            region("uniform", 0.0, 40.0, Colour::Grey),
            region("unigram", 40.0, 90.0, Colour::Amber),
        ];
        assert_eq!(found, expected);
    }
}
