//! The figures of a sweep: the curve of every seed, and phase diagrams over two keys.

use crate::curves::{self, Group, colour, steps_axis, values_axis};
use induct_figure::{
    Axis, Colour, Family, Figure, Grid, Mark, Panel, Plot, Scale, Series, Value, plain,
};

/// A key that the sweep varies.
#[derive(Clone, Debug)]
pub struct KeyAxis {
    /// The key, such as `train.optimizer.lr`.
    pub key: String,
    /// Its values as the user wrote them, in order.
    pub values: Vec<String>,
}

/// One measure over two keys.
#[derive(Clone, Debug)]
pub struct Map {
    /// What is measured.
    pub title: String,
    /// Its unit, such as `nats`.
    pub unit: String,
    /// By `y`, then by `x`; `None` where no run has a value.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// The most groups per panel: with more, neighbouring colours are hard to tell apart.
const GROUPS: usize = 8;
/// Values that span a larger factor than this are coloured by their logarithm.
const LINEAR: f64 = 20.0;
/// Values of a key that span a larger factor were chosen by their logarithm.
const GEOMETRIC: f64 = 7.0;

/// KL(truth ‖ model) over training: every seed, the median of each group, and the levels of strategies.
pub fn curves(groups: &[Group], levels: &[(String, f64)]) -> Figure {
    curves_over_steps("KL(truth ‖ model), nats", groups, levels)
}

/// A measure over training: every seed, the median of each group, and the levels of strategies.
pub fn curves_over_steps(measure: &str, groups: &[Group], levels: &[(String, f64)]) -> Figure {
    let drawn: Vec<&Group> = groups.iter().filter(|group| group.is_drawn()).collect();
    if drawn.is_empty() {
        return nothing("no run has a record yet");
    }
    let panels = drawn.len().div_ceil(GROUPS);
    let x = steps_axis(drawn.iter().copied());
    let y = values_axis(measure, drawn.iter().copied(), levels);
    let split: Vec<&[&Group]> = drawn.chunks(drawn.len().div_ceil(panels)).collect();
    let plot = |groups: &&[&Group]| {
        let colours = (0..groups.len()).map(|at| colour(at, groups.len()));
        let coloured: Vec<(&Group, Colour)> = groups.iter().copied().zip(colours).collect();
        Panel::Plot(Plot {
            title: match (&groups[..], panels) {
                (_, 1) => String::new(),
                ([only], _) => plain(&only.label),
                ([first, .., last], _) => plain(&format!("{} to {}", first.label, last.label)),
                ([], _) => String::new(),
            },
            x: x.clone(),
            y: y.clone(),
            // Groups tend to end at the same loss, where chance would order the names.
            names_above: drawn.len() > 1,
            ..curves::plot(&coloured, levels)
        })
    };
    let labels: Vec<&str> = drawn.iter().map(|group| group.label.as_str()).collect();
    Figure {
        description: format!(
            "{measure} over training steps, every seed and the median over seeds, for {}.",
            labels.join("; ")
        ),
        panels: split.iter().map(plot).collect(),
        columns: 2,
    }
}

/// A measure over a key, for one value of another key.
#[derive(Clone, Debug)]
pub struct Member {
    /// What it is of, such as `train.batch = 64`.
    pub label: String,
    /// Each run's value, by the key.
    pub dots: Vec<(f64, f64)>,
    /// The median over seeds and its interval, by the key; infinite where most runs have no value.
    pub medians: Vec<(f64, f64, Option<[f64; 2]>)>,
}

/// With more runs than this, each run's own dot would only blacken the figure.
const DOTS: usize = 2_000;

/// A measure over a key: each run, the medians over seeds and their intervals, a line per member.
pub fn family(x: &str, y: &str, members: &[Member]) -> Figure {
    let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    let points = || {
        members
            .iter()
            .flat_map(|member| member.dots.iter().copied().filter(finite))
    };
    if points().next().is_none() {
        return nothing("no run has a value");
    }
    let axis = |label: &str, values: Vec<f64>, linear: f64| match scale_of(&values, linear) {
        Scale::Log => Axis::log(plain(label)),
        Scale::Linear => Axis::linear(plain(label)),
    };
    let with_dots = points().count() <= DOTS;
    let mut kinds = vec!["lines: medians over seeds"];
    if with_dots {
        kinds.insert(0, "dots: each run");
    }
    let mut medians = members.iter().flat_map(|member| &member.medians);
    if medians.any(|(_, _, interval)| interval.is_some()) {
        kinds.push("bands: 95 % intervals");
    }
    let y_label = format!("{y}; {}", kinds.join(", "));
    let mut series = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let colour = colour(at, members.len());
        if with_dots {
            let dots = member.dots.iter().copied().filter(finite);
            series.push(Series::new(String::new(), colour, Mark::Points, dots));
        }
        let known = member
            .medians
            .iter()
            .filter(|(_, median, _)| median.is_finite());
        let values = known.map(|&(x, y, interval)| Value { x, y, interval });
        let label = plain(&member.label);
        series.push(Series::new(label, colour, Mark::Line, values));
    }
    let many = members.len() > GROUPS;
    let ends = || Some((members.first()?, members.last()?));
    Figure {
        description: format!("{y} over {x}: medians over seeds with 95 % intervals."),
        panels: vec![Panel::Plot(Plot {
            x: axis(x, points().map(|(x, _)| x).collect(), GEOMETRIC),
            y: axis(&y_label, points().map(|(_, y)| y).collect(), LINEAR),
            series,
            family: ends().filter(|_| many).map(|(low, high)| Family {
                low: plain(&low.label),
                high: plain(&high.label),
            }),
            names_above: true,
            ..Plot::default()
        })],
        columns: 1,
    }
}

/// Measures over two keys, as heat maps side by side; the values of `y` increase upwards.
pub fn phase_diagram(x: &KeyAxis, y: &KeyAxis, maps: &[Map]) -> Figure {
    if maps.is_empty() || x.values.is_empty() || y.values.is_empty() {
        return nothing("no run has ended yet");
    }
    let panel = |map: &Map| {
        let cell = |row: usize, column: usize| *map.cells.get(row)?.get(column)?;
        let row = |row| (0..x.values.len()).map(move |column| cell(row, column));
        let values = (0..y.values.len()).rev().flat_map(row);
        let values: Vec<f64> = values.map(|value| value.unwrap_or(f64::NAN)).collect();
        Panel::Grid(Grid {
            title: plain(&map.title),
            x_label: plain(&x.key),
            y_label: plain(&y.key),
            columns: x.values.iter().map(|name| plain(name)).collect(),
            rows: y.values.iter().rev().map(|name| plain(name)).collect(),
            scale: scale_of(&values, LINEAR),
            values,
            value_label: plain(&map.unit),
        })
    };
    let titles: Vec<&str> = maps.iter().map(|map| map.title.as_str()).collect();
    Figure {
        description: format!("{} over {} and {}.", titles.join("; "), x.key, y.key),
        panels: maps.iter().map(panel).collect(),
        columns: maps.len().min(3),
    }
}

/// An empty figure that says why there is nothing to show.
fn nothing(why: &str) -> Figure {
    Figure {
        description: format!("Nothing to show: {why}."),
        ..Figure::default()
    }
}

/// Logarithmic for numbers that span a larger factor than `linear`.
fn scale_of(values: &[f64], linear: f64) -> Scale {
    let known = || values.iter().copied().filter(|value| value.is_finite());
    let least = known().fold(f64::MAX, f64::min);
    let largest = known().fold(0.0, f64::max);
    match least > 0.0 && largest > linear * least {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

#[cfg(test)]
mod tests;
