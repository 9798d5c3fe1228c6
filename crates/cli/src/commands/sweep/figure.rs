//! The figures of a sweep: the curve of every seed, and phase diagrams over two keys.

use induct::probe::median;
use induct_figure::{Axis, Colour, Figure, Grid, Level, Mark, Panel, Plot, Scale, Series, plain};
use induct_studies::strategy_colours;

/// Runs that differ only in their seed.
pub struct Group {
    /// What they share, such as `lr = 1e-3`.
    pub label: String,
    /// Per seed: steps and KL(truth ‖ model) in nats.
    pub seeds: Vec<Vec<(f64, f64)>>,
}

/// A key that the sweep varies.
pub struct KeyAxis {
    /// The key, such as `train.optimizer.lr`.
    pub key: String,
    /// Its values as the user wrote them, in order.
    pub values: Vec<String>,
}

/// One measure over two keys.
pub struct Map {
    /// What is measured.
    pub title: String,
    /// Its unit, such as `nats`.
    pub unit: String,
    /// [y][x]; `None` where no run has a value.
    pub cells: Vec<Vec<Option<f64>>>,
}

/// The most groups per panel: with more, neighbouring colours are hard to tell apart.
const GROUPS: usize = 8;
/// Curves are cut at this many times the worst strategy's loss, since a run that diverges may reach any loss.
const CUT: f64 = 2.0;
/// Values that span a larger factor than this are coloured by their logarithm.
const LINEAR: f64 = 20.0;

/// KL(truth ‖ model) over training: every seed, the median of each group, and the levels of strategies.
///
/// There is no mean: different seeds make their transitions at different steps, and a mean would smear them
/// into a slope that no run has.
pub fn curves(groups: &[Group], levels: &[(String, f64)]) -> Figure {
    let drawn: Vec<&Group> = groups.iter().filter(|group| group.is_drawn()).collect();
    if drawn.is_empty() {
        return nothing("no run has a record yet");
    }
    let panels = drawn.len().div_ceil(GROUPS);
    let (x, y) = (steps_axis(&drawn), loss_axis(&drawn, levels));
    let split: Vec<&[&Group]> = drawn.chunks(drawn.len().div_ceil(panels)).collect();
    let plot = |groups: &&[&Group]| {
        let colours = (0..groups.len()).map(|at| colour(at, groups.len()));
        let coloured = || groups.iter().zip(colours.clone());
        // Medians are drawn over all seeds, including those of other groups.
        let seeds = coloured().flat_map(|(group, colour)| group.seed_series(colour));
        let medians = coloured().map(|(group, colour)| group.median_series(colour));
        Panel::Plot(Plot {
            title: match (&groups[..], panels) {
                (_, 1) => String::new(),
                ([only], _) => plain(&only.label),
                ([first, .., last], _) => plain(&format!("{} to {}", first.label, last.label)),
                ([], _) => String::new(),
            },
            x: x.clone(),
            y: y.clone(),
            levels: strategy_levels(levels),
            series: seeds.chain(medians).collect(),
            // Groups tend to end at the same loss, where chance would order the names.
            names_above: drawn.len() > 1,
            ..Plot::default()
        })
    };
    let labels: Vec<&str> = drawn.iter().map(|group| group.label.as_str()).collect();
    Figure {
        description: format!(
            "KL(truth ‖ model) over training steps, every seed and the median over seeds, for {}.",
            labels.join("; ")
        ),
        panels: split.iter().map(plot).collect(),
        columns: 2,
    }
}

/// Measures over two keys, as heat maps side by side; the values of `y` increase upwards.
pub fn phase_diagram(x: &KeyAxis, y: &KeyAxis, maps: &[Map]) -> Figure {
    if maps.is_empty() || x.values.is_empty() || y.values.is_empty() {
        return nothing("no run has ended yet");
    }
    let plain_all = |texts: &[String]| texts.iter().map(|text| plain(text)).collect::<Vec<_>>();
    let panel = |map: &Map| {
        let cell = |row: usize, column: usize| *map.cells.get(row)?.get(column)?;
        let rows = (0..y.values.len()).rev();
        let values = rows.flat_map(|row| (0..x.values.len()).map(move |column| (row, column)));
        let values: Vec<f64> = values
            .map(|(row, column)| cell(row, column).unwrap_or(f64::NAN))
            .collect();
        let mut rows = plain_all(&y.values);
        rows.reverse();
        Panel::Grid(Grid {
            title: plain(&map.title),
            x_label: plain(&x.key),
            y_label: plain(&y.key),
            columns: plain_all(&x.values),
            rows,
            scale: spread(&values),
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

impl Group {
    fn values(&self) -> impl Iterator<Item = &(f64, f64)> {
        let all = self.seeds.iter().flatten();
        all.filter(|(step, loss)| step.is_finite() && loss.is_finite())
    }

    fn is_drawn(&self) -> bool {
        self.values().next().is_some()
    }

    fn seed_series(&self, colour: Colour) -> impl Iterator<Item = Series> {
        (1..).zip(&self.seeds).map(move |(number, seed)| {
            let label = plain(&format!("{}, run {number}", self.label));
            Series::new(label, colour, Mark::Faint, seed.iter().copied())
        })
    }

    /// The curve of the median over seeds.
    fn median_series(&self, colour: Colour) -> Series {
        let points = self.median_curve();
        Series::new(plain(&self.label), colour, Mark::Line, points)
    }

    /// The median over seeds at every step. A seed without a finite value counts as the worst: if half of the
    /// seeds diverge, the median ends, rather than becoming that of the survivors.
    fn median_curve(&self) -> Vec<(f64, f64)> {
        let mut steps: Vec<f64> = self.values().map(|(step, _)| *step).collect();
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        let at = |step: f64, seed: &Vec<(f64, f64)>| {
            let found = seed.iter().find(|(other, _)| *other == step);
            let loss = found.map_or(f64::INFINITY, |(_, loss)| *loss);
            if loss.is_nan() { f64::INFINITY } else { loss }
        };
        let point = |step: f64| {
            let losses: Vec<f64> = self.seeds.iter().map(|seed| at(step, seed)).collect();
            (step, median(&losses))
        };
        steps.into_iter().map(point).collect()
    }
}

/// The colour of a group among others: ordered, so that a trend along the values shows.
fn colour(at: usize, count: usize) -> Colour {
    match count {
        // No strategy has this colour.
        1 => Colour::Ink,
        _ => Colour::ramp(at as f64 / (count - 1) as f64),
    }
}

fn steps_axis(groups: &[&Group]) -> Axis {
    let last = groups.iter().flat_map(|group| group.values());
    let last = last.map(|(step, _)| *step).fold(0.0, f64::max);
    let axis = Axis::linear("training steps");
    // A sweep that has only just started has no range yet.
    if last > 0.0 {
        axis.range(0.0, last)
    } else {
        axis
    }
}

fn loss_axis(groups: &[&Group], levels: &[(String, f64)]) -> Axis {
    let losses = groups.iter().flat_map(|group| group.values());
    let highest = losses.map(|(_, loss)| *loss).fold(0.0, f64::max);
    let levels = levels.iter().map(|(_, level)| *level);
    let worst = levels.filter(|level| level.is_finite()).fold(0.0, f64::max);
    let top = match worst > 0.0 {
        true => highest.clamp(worst, CUT * worst),
        false => highest,
    };
    let label = match groups.iter().any(|group| group.seeds.len() > 1) {
        true => "KL(truth ‖ model), nats; thin: each seed, bold: their median",
        false => "KL(truth ‖ model), nats",
    };
    let axis = Axis::linear(label);
    if top > 0.0 {
        axis.range(0.0, 1.08 * top)
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

/// The colour scale for these numbers.
fn spread(values: &[f64]) -> Scale {
    let known = || values.iter().copied().filter(|value| value.is_finite());
    let (least, largest) = (
        known().fold(f64::MAX, f64::min),
        known().fold(0.0, f64::max),
    );
    match least > 0.0 && largest > LINEAR * least {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

#[cfg(test)]
mod tests;
