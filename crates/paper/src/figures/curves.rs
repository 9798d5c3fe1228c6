//! Curves over training, with intervals over seeds.

use induct::probe::KL_TRUTH;
use induct_figure::{Axis, Colour, Level, Mark, Moment, Plot, Region, Series};

use crate::results::Trained;
use crate::run::Run;
use crate::statistics::Measured;

/// What the horizontal axes of curves are.
pub(super) const SEEN: &str = "thousands of sequences seen";
/// What the vertical axes of losses are.
pub(super) const LOSS: &str = "KL(truth ‖ model), nats";

/// The colour of a strategy.
pub(super) fn colour(strategy: &str) -> Colour {
    Colour::of_strategy(strategy).unwrap_or(Colour::Ink)
}

/// A column over training: the mean over runs with half of its 95 % interval.
pub(super) fn mean(trained: &Trained, column: &str) -> Vec<(f64, f64, f64)> {
    let runs: Vec<&Run> = trained.sound().collect();
    let columns: Vec<Vec<f64>> = runs.iter().map(|run| run.column(column)).collect();
    let steps = runs.first().map(|run| run.steps()).unwrap_or_default();
    let point = |(at, step): (usize, &f64)| {
        let values: Vec<f64> = columns.iter().filter_map(|c| c.get(at).copied()).collect();
        let measured = Measured::mean(&values);
        (
            trained.thousands(*step),
            measured.effect,
            measured.half_width(),
        )
    };
    steps.iter().enumerate().map(point).collect()
}

/// That as a line with its band.
pub(super) fn line(label: &str, colour: Colour, trained: &Trained, column: &str) -> Series {
    Series::with_errors(label, colour, Mark::Line, mean(trained, column))
}

/// KL(strategy ‖ model) over training for every strategy, the background shaded by the nearest.
pub(super) fn similarity(trained: &Trained, title: &str) -> Plot {
    let strategies = trained
        .runs
        .first()
        .map(Run::strategies)
        .unwrap_or_default();
    let series: Vec<Series> = strategies
        .iter()
        .map(|name| line(name, colour(name), trained, &induct::probe::kl_column(name)))
        .collect();
    Plot {
        title: title.into(),
        x: Axis::linear(SEEN),
        y: Axis::linear("KL(strategy ‖ model), nats"),
        regions: regions(&series),
        series,
        ..Plot::default()
    }
}

/// Stretches in which one of the mean curves is the lowest; such as last for three records at least.
fn regions(series: &[Series]) -> Vec<Region> {
    let xs: Vec<f64> = series
        .first()
        .map(|s| s.values.iter().map(|v| v.x).collect())
        .unwrap_or_default();
    let lowest = |at: usize| {
        let y = |index: &usize| series[*index].values[at].y;
        (0..series.len())
            .min_by(|a, b| y(a).total_cmp(&y(b)))
            .unwrap_or(0)
    };
    let mut regions: Vec<(usize, Region)> = Vec::new();
    for (at, &x) in xs.iter().enumerate() {
        let own = lowest(at);
        match regions.last_mut() {
            Some((index, region)) if *index == own => region.to = x,
            _ => {
                // From the middle between the two records on.
                let from = regions
                    .last()
                    .map_or(x, |(_, before)| 0.5 * (before.to + x));
                if let Some((_, before)) = regions.last_mut() {
                    before.to = from;
                }
                let region = Region {
                    from,
                    to: x,
                    label: series[own].label.clone(),
                    colour: series[own].colour,
                };
                regions.push((own, region));
            }
        }
    }
    regions.into_iter().map(|(_, region)| region).collect()
}

/// Levels of strategies on a run's test set, as lines across.
pub(super) fn levels(trained: &Trained, set: &str, strategies: &[&str]) -> Vec<Level> {
    let Some(run) = trained.runs.first() else {
        return Vec::new();
    };
    let level = |name: &&str| {
        let y = run.level_on(set, name);
        Level {
            y,
            label: (*name).to_owned(),
            colour: colour(name),
        }
    };
    strategies.iter().map(level).collect()
}

/// The test loss over training with the strategies' levels.
pub(super) fn loss(trained: &Trained, title: &str, label: &str, strategies: &[&str]) -> Plot {
    Plot {
        title: title.into(),
        x: Axis::linear(SEEN),
        y: Axis::linear(LOSS),
        levels: levels(trained, "in_distribution", strategies),
        series: vec![line(label, Colour::Ink, trained, KL_TRUTH)],
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

/// Three moments of a run: on the plateau, as the second drop begins, at the end. Of a run that never falls, three that are evenly spread.
pub(super) fn moments(run: &Run) -> [At; 3] {
    let end = run.steps().last().copied().unwrap_or(0.0);
    let (plateau, start) = match run.fall_from("unigram") {
        Some(fall) => (0.5 * (fall.onset + fall.start), fall.start),
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

/// Moments as upright lines.
pub(super) fn marks(trained: &Trained, moments: &[At]) -> Vec<Moment> {
    let mark = |at: &At| Moment {
        x: trained.thousands(at.step),
        label: at.name.into(),
    };
    moments.iter().map(mark).collect()
}
