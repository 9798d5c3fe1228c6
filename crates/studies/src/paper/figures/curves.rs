//! Curves over training, with intervals over seeds.

use induct::measure::{Column, KL_STRATEGY, KL_TRUTH};
use induct::probe::{Course, Phase, median, phases};
use induct_figure::{Axis, Colour, Level, Mark, Moment, Plot, Region, Series};

use crate::results::Trained;
use crate::run::Run;
use crate::strategy_colours::strategy_colours;

/// The label of horizontal axes.
pub(super) const SEEN: &str = "thousands of sequences seen";
/// The label of vertical axes that show losses.
pub(super) const LOSS: &str = "KL(truth ‖ model), nats";

/// A share as text: a percentage, or that it is unknown.
pub(super) fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{:.0} %", 100.0 * share),
        false => "an unknown share".into(),
    }
}

/// A column over training: x and the median over runs.
pub(super) fn middle(trained: &Trained, column: impl Into<Column>) -> Vec<(f64, f64)> {
    let column = column.into();
    let runs: Vec<&Run> = trained.sound().collect();
    let columns: Vec<Vec<f64>> = runs.iter().map(|run| run.column(column.clone())).collect();
    let steps = runs.first().map(|run| run.steps()).unwrap_or_default();
    let point = |(at, step): (usize, &f64)| {
        let values: Vec<f64> = columns.iter().filter_map(|c| c.get(at).copied()).collect();
        (trained.thousands(*step), median(&values))
    };
    steps.iter().enumerate().map(point).collect()
}

/// A column over training as a line with a band.
pub(super) fn line(
    label: &str,
    colour: Colour,
    trained: &Trained,
    column: impl Into<Column>,
) -> Series {
    Series::new(label, colour, Mark::Line, middle(trained, column))
}

/// KL(strategy ‖ model) over training for every strategy. The background has the colour of the nearest
/// strategy.
pub(super) fn similarity(trained: &Trained, title: &str) -> Plot {
    let strategies = trained
        .runs
        .first()
        .map(Run::strategies)
        .unwrap_or_default();
    let coloured: Vec<(&String, Colour)> = strategies
        .iter()
        .zip(strategy_colours(&strategies))
        .collect();
    let series: Vec<Series> = coloured
        .iter()
        .map(|&(name, colour)| line(name, colour, trained, KL_STRATEGY.of_strategy(name)))
        .collect();
    Plot {
        title: title.into(),
        x: Axis::linear(SEEN),
        y: from_zero("KL(strategy ‖ model), nats", &series, &[]),
        regions: regions(trained, &coloured),
        series,
        ..Plot::default()
    }
}

/// The phases of the mean curves.
fn regions(trained: &Trained, strategies: &[(&String, Colour)]) -> Vec<Region> {
    let steps = trained
        .sound()
        .next()
        .map(|run| run.recording().history.steps());
    let steps = steps.unwrap_or_default();
    let distance = |&(name, _): &(&String, Colour)| {
        let middle = middle(trained, KL_STRATEGY.of_strategy(name));
        (name.clone(), middle.into_iter().map(|(_, y)| y).collect())
    };
    let distances: Vec<(String, Vec<f64>)> = strategies.iter().map(distance).collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let found = phases(&Course {
        steps: &steps,
        loss: &vec![0.0; steps.len()],
        distances: &distances,
    });
    let ends = found.iter().skip(1).map(|next| next.onset);
    let ends = ends.chain(steps.last().copied());
    let region = |(phase, end): (&Phase, u64)| {
        let (_, colour) = strategies
            .iter()
            .find(|(name, _)| **name == phase.strategy)?;
        Some(Region {
            from: trained.thousands(phase.onset as f64),
            to: trained.thousands(end as f64),
            label: phase.strategy.clone(),
            colour: *colour,
        })
    };
    found.iter().zip(ends).filter_map(region).collect()
}

/// An axis from zero to slightly above all values; intervals of few seeds may extend beyond it.
pub(super) fn from_zero(label: &str, series: &[Series], levels: &[Level]) -> Axis {
    let values = series.iter().flat_map(|series| &series.values);
    let values = values
        .map(|value| value.y)
        .chain(levels.iter().map(|level| level.y));
    let top = values.filter(|y| y.is_finite()).fold(0.0, f64::max);
    Axis::linear(label).range(0.0, 1.08 * top)
}

/// The losses of strategies on a test set, as horizontal lines.
pub(super) fn levels(trained: &Trained, set: &str, strategies: &[&str]) -> Vec<Level> {
    let Some(run) = trained.runs.first() else {
        return Vec::new();
    };
    let level = |(name, colour): (&&str, Colour)| Level {
        y: run.level_on(set, name),
        label: (*name).to_owned(),
        colour,
    };
    let colours = strategy_colours(strategies);
    strategies.iter().zip(colours).map(level).collect()
}

/// The test loss over training, with the losses of strategies.
pub(super) fn loss(trained: &Trained, title: &str, label: &str, strategies: &[&str]) -> Plot {
    let levels = levels(trained, "in_distribution", strategies);
    let series = vec![line(label, Colour::Ink, trained, &KL_TRUTH)];
    Plot {
        title: title.into(),
        x: Axis::linear(SEEN),
        y: from_zero(LOSS, &series, &levels),
        levels,
        series,
        ..Plot::default()
    }
}

/// A moment of a run.
pub(super) struct At {
    /// A, B, …
    pub name: &'static str,
    /// When, in steps.
    pub step: f64,
    /// What it is.
    pub meaning: &'static str,
}

/// Three moments of a run: on the plateau, as the second drop begins, and at the end. For a run that never
/// falls, three evenly spaced moments.
pub(super) fn moments(run: &Run) -> [At; 3] {
    let end = run.steps().last().copied().unwrap_or(0.0);
    let (plateau, start) = match run.fall_from("unigram") {
        Some(fall) => (fall.on_plateau(), fall.start),
        None => (end / 3.0, 2.0 * end / 3.0),
    };
    [
        At {
            name: "A",
            step: plateau,
            meaning: "on the plateau",
        },
        At {
            name: "B",
            step: start,
            meaning: "as the second drop begins",
        },
        At {
            name: "C",
            step: end,
            meaning: "at the end",
        },
    ]
}

/// Moments as vertical lines.
pub(super) fn marks(trained: &Trained, moments: &[At]) -> Vec<Moment> {
    let mark = |at: &At| Moment {
        x: trained.thousands(at.step),
        label: at.name.into(),
    };
    moments.iter().map(mark).collect()
}
