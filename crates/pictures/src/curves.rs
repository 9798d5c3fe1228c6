//! Curves over training: every seed's own, faint, and their median, bold.

use induct::internal::median;
use induct_figure::{Axis, Colour, Level, Mark, Plot, Series, plain};

use crate::strategy_colours;

/// Runs that differ only in their seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What they share, such as `lr = 1e-3`.
    pub label: String,
    /// Per seed: steps and values.
    pub seeds: Vec<Vec<(f64, f64)>>,
}

/// Curves are cut at this many times the worst strategy's loss, since a run that diverges may reach any loss.
const CUT: f64 = 2.0;

impl Group {
    fn values(&self) -> impl Iterator<Item = &(f64, f64)> {
        let all = self.seeds.iter().flatten();
        all.filter(|(step, value)| step.is_finite() && value.is_finite())
    }

    /// Whether there is anything to draw.
    pub fn is_drawn(&self) -> bool {
        self.values().next().is_some()
    }

    fn seed_series(&self, colour: Colour) -> impl Iterator<Item = Series> {
        // The median of a single seed is its curve.
        let several = self.seeds.len() > 1;
        let seeds = (1..).zip(&self.seeds).filter(move |_| several);
        seeds.map(move |(number, seed)| {
            let label = plain(&format!("{}, run {number}", self.label));
            Series::new(label, colour, Mark::Faint, seed.iter().copied())
        })
    }

    /// The median over seeds at every step. A seed without a finite value counts as the worst: if half of the
    /// seeds diverge, the median ends, rather than becoming that of the survivors.
    pub fn median_curve(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<f64> = self.values().map(|(step, _)| *step).collect();
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        let at = |step: f64, seed: &Vec<(f64, f64)>| {
            let found = seed.binary_search_by(|(other, _)| other.total_cmp(&step));
            let value = found.map_or(f64::INFINITY, |at| seed[at].1);
            if value.is_nan() { f64::INFINITY } else { value }
        };
        let point = |step: f64| {
            let values: Vec<f64> = self.seeds.iter().map(|seed| at(step, seed)).collect();
            (step, median(&values))
        };
        steps.into_iter().map(point).collect()
    }
}

/// The colour of a group among others: ordered, so that a trend along the values shows. No strategy has it.
pub fn colour(at: usize, count: usize) -> Colour {
    match count {
        1 => Colour::Ink,
        _ => Colour::ramp(at as f64 / (count - 1) as f64),
    }
}

/// A plot of groups with the levels of strategies; axes and title are for the caller to set.
///
/// There is no mean: different seeds make their transitions at different steps, and a mean would smear them
/// into a slope that no run has.
pub fn plot(groups: &[(&Group, Colour)], levels: &[(String, f64)]) -> Plot {
    // Medians are drawn over all seeds, including those of other groups.
    let seeds = groups
        .iter()
        .flat_map(|(group, colour)| group.seed_series(*colour));
    let medians = groups.iter().map(|(group, colour)| {
        let points = group.median_curve();
        Series::new(plain(&group.label), *colour, Mark::Line, points)
    });
    Plot {
        levels: strategy_levels(levels),
        series: seeds.chain(medians).collect(),
        ..Plot::default()
    }
}

/// The axis of training steps.
pub fn steps_axis<'a>(groups: impl IntoIterator<Item = &'a Group>) -> Axis {
    let last = groups.into_iter().flat_map(Group::values);
    let last = last.map(|(step, _)| *step).fold(0.0, f64::max);
    let axis = Axis::linear("training steps");
    // A run that has only just started has no range yet.
    if last > 0.0 {
        axis.range(0.0, last)
    } else {
        axis
    }
}

/// The axis of values, from zero or from the least of them; levels set the scale where there are any.
pub fn values_axis<'a>(
    label: &str,
    groups: impl IntoIterator<Item = &'a Group> + Clone,
    levels: &[(String, f64)],
) -> Axis {
    let values = groups.clone().into_iter().flat_map(Group::values);
    let ends = values.fold((0.0, 0.0), |(low, high): (f64, f64), (_, value)| {
        (low.min(*value), high.max(*value))
    });
    let levels = levels.iter().map(|(_, level)| *level);
    let worst = levels.filter(|level| level.is_finite()).fold(0.0, f64::max);
    let top = match worst > 0.0 {
        true => ends.1.clamp(worst, CUT * worst),
        false => ends.1,
    };
    // Rounding may leave a divergence slightly below zero.
    let bottom = if ends.0 < -0.01 * top { ends.0 } else { 0.0 };
    let axis = Axis::linear(
        match groups.into_iter().any(|group| group.seeds.len() > 1) {
            true => format!("{label}; thin: each seed, bold: their median"),
            false => label.to_owned(),
        },
    );
    if top > bottom {
        axis.range(1.08 * bottom, 1.08 * top)
    } else {
        axis
    }
}

fn strategy_levels(levels: &[(String, f64)]) -> Vec<Level> {
    // Colours come from the whole list: whether one level is known must not change another's colour.
    let names: Vec<&str> = levels.iter().map(|(name, _)| name.as_str()).collect();
    let coloured = levels.iter().zip(strategy_colours(&names));
    let known = coloured.filter(|((_, level), _)| level.is_finite());
    let level = |((name, level), colour): (&(String, f64), Colour)| Level {
        y: *level,
        label: plain(name),
        colour,
    };
    known.map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_all_seeds_and_ends_when_half_of_them_diverge() {
        let group = Group {
            label: String::new(),
            seeds: vec![
                vec![(0.0, 1.0), (1.0, 3.0), (2.0, 0.5)],
                vec![(0.0, 2.0), (1.0, f64::NAN)],
                vec![(0.0, 6.0), (1.0, 4.0), (2.0, f64::INFINITY)],
            ],
        };
        let inf = f64::INFINITY;
        assert_eq!(group.median_curve(), [(0.0, 2.0), (1.0, 4.0), (2.0, inf)]);
    }

    #[test]
    fn axes_reach_below_zero_only_for_negative_values() {
        let group = |low: f64| Group {
            label: String::new(),
            seeds: vec![vec![(0.0, low), (1.0, 1.0)]],
        };
        let range = |low: f64| values_axis("x", [&group(low)], &[]).range.unwrap();
        assert_eq!(range(-1e-9), (0.0, 1.08));
        assert_eq!(range(-2.0), (-2.16, 1.08));
    }
}
