//! Curves over training: every seed's own, thin, and their median, bold.

use induct::internal::{Course, drops, median, phases};
use induct::measure::{BuiltIn, Column, KL_STRATEGY, KL_TRUTH};
use induct::probe::{LossDrop, Phase};
use induct_figure::{
    Axis, Colour, Level, Mark, Moment, Panel, Plot, Region, Sentence, Series, Value,
};
use induct_pictures::{phase_regions, strategy_colours};

use crate::results::TrainedExperiment;
use crate::run::Run;
use crate::statistics::{ERROR, Measurement};

/// The label of horizontal axes.
pub(crate) const SEEN: &str = "thousands of sequences seen";
/// The label of vertical axes that show losses.
pub(crate) const LOSS: &str = "KL(truth ‖ model), nats";

/// The most runs of an experiment whose own curves are drawn.
pub(crate) const SHOWN: usize = 20;

/// The best predictor from the counts of symbols and the current symbol.
pub(crate) const COUNTS_AND_CURRENT: &str = "unigram-and-current";

/// The strategies whose losses are drawn as levels, in the order of their colours.
pub(crate) const LEVELS: [&str; 4] = ["uniform", "unigram", COUNTS_AND_CURRENT, "bigram"];

/// A share as text: a percentage, or that it is unknown.
pub(crate) fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{:.0} %", 100.0 * share),
        false => "an unknown share".into(),
    }
}

/// The panel of an experiment, or a sentence if it has no run to draw.
pub(crate) fn panel(
    trained: &TrainedExperiment,
    title: &str,
    draw: impl FnOnce() -> Plot,
) -> Panel {
    let text = match (trained.runs.len(), trained.completed().count()) {
        (0, _) => "Trained by --full only.".into(),
        (1, 0) => "The run diverged.".into(),
        (runs, 0) => format!("All {runs} runs diverged."),
        _ => {
            return Panel::Plot(Plot {
                title: title.into(),
                ..draw()
            });
        }
    };
    Panel::Sentence(Sentence {
        title: title.into(),
        text,
    })
}

/// What is thin and what is bold, in a sentence or two, for the experiments of a figure.
pub(crate) fn legend(experiments: &[&TrainedExperiment]) -> String {
    let counts = experiments
        .iter()
        .map(|trained| trained.completed().count());
    let counts: Vec<usize> = counts.filter(|&count| count > 0).collect();
    let (least, most) = (counts.iter().min(), counts.iter().max());
    let (Some(&least), Some(&most)) = (least, most) else {
        return "No run has completed.".into();
    };
    let seeds = match least == most {
        true => format!("{most}"),
        false => format!("{least} to {most}"),
    };
    let first = match most > SHOWN {
        true => format!(" (the first {SHOWN})"),
        false => String::new(),
    };
    let mut words = match most {
        1 => "Every line is a single run.".into(),
        _ => format!(
            "Thin lines are single seeds{first}, bold ones pointwise medians over {seeds} seeds."
        ),
    };
    let runs: usize = experiments.iter().map(|trained| trained.runs.len()).sum();
    let diverged = runs - counts.iter().sum::<usize>();
    if diverged > 0 {
        words += &format!(" {diverged} of {runs} runs diverged and are left out.");
    }
    words
}

/// A quantity over training as the median over runs: steps and values.
pub(crate) fn middle(
    trained: &TrainedExperiment,
    of: impl Fn(&Run) -> Vec<f64>,
) -> Vec<(f64, f64)> {
    let runs: Vec<&Run> = trained.completed().collect();
    let columns: Vec<Vec<f64>> = runs.iter().map(|run| of(run)).collect();
    let steps = runs.first().map(|run| run.steps()).unwrap_or_default();
    let point = |(at, step): (usize, &f64)| {
        let values: Vec<f64> = columns.iter().filter_map(|c| c.get(at).copied()).collect();
        (*step, median(&values))
    };
    steps.iter().enumerate().map(point).collect()
}

/// A quantity over training: a thin line for each run, if there are several, and a bold one for the median.
/// `x` places steps on the horizontal axis.
pub(crate) fn lines(
    label: &str,
    colour: Colour,
    trained: &TrainedExperiment,
    x: impl Fn(f64) -> f64,
    of: impl Fn(&Run) -> Vec<f64>,
) -> Vec<Series> {
    let runs = trained.runs.iter().enumerate();
    let completed: Vec<(usize, &Run)> = runs.filter(|(_, run)| run.completed()).collect();
    let single = |(index, run): &(usize, &Run)| {
        let seed = trained.experiment.seed(*index as u64);
        let points = run.steps().into_iter().map(&x).zip(of(run));
        Series::new(format!("{label}, seed {seed}"), colour, Mark::Faint, points)
    };
    let mut series: Vec<Series> = match completed.len() {
        0 => return Vec::new(),
        1 => Vec::new(),
        _ => completed.iter().take(SHOWN).map(single).collect(),
    };
    let middle = middle(trained, &of).into_iter();
    let middle = middle.map(|(step, value)| (x(step), value));
    series.push(Series::new(label, colour, Mark::Line, middle));
    series
}

/// The median of a quantity over training, against the sequences seen.
pub(crate) fn median_line(
    label: impl Into<String>,
    colour: Colour,
    trained: &TrainedExperiment,
    of: impl Fn(&Run) -> Vec<f64>,
) -> Series {
    let points = middle(trained, of).into_iter();
    let points = points.map(|(step, value)| (trained.thousands(step), value));
    Series::new(label, colour, Mark::Line, points)
}

/// The largest value over the heads of a layer, against the sequences seen.
pub(crate) fn over_heads(
    label: &str,
    colour: Colour,
    trained: &TrainedExperiment,
    measure: &BuiltIn,
    layer: usize,
) -> Vec<Series> {
    let seen = |step: f64| trained.thousands(step);
    lines(label, colour, trained, seen, |run| {
        run.over_heads(measure, layer)
    })
}

/// Losses over training, with the losses of strategies.
pub(crate) fn losses(series: Vec<Series>, levels: Vec<Level>) -> Plot {
    Plot {
        x: Axis::linear(SEEN),
        y: from_zero(LOSS, &series, &levels),
        levels,
        series,
        ..Plot::default()
    }
}

/// Shares of attention over training.
pub(crate) fn attention(series: Vec<Series>) -> Plot {
    Plot {
        x: Axis::linear(SEEN),
        y: Axis::linear("share of attention").range(0.0, 1.0),
        series,
        names_above: true,
        ..Plot::default()
    }
}

/// A column over training, against the sequences seen.
pub(crate) fn column(
    label: &str,
    colour: Colour,
    trained: &TrainedExperiment,
    column: impl Into<Column>,
) -> Vec<Series> {
    let column = column.into();
    let seen = |step: f64| trained.thousands(step);
    lines(label, colour, trained, seen, |run| {
        run.column(column.clone())
    })
}

/// The strategies that an experiment's runs are compared with, with their colours.
fn compared(trained: &TrainedExperiment) -> Vec<(String, Colour)> {
    let strategies = trained.completed().next().map(Run::strategies);
    let strategies = strategies.unwrap_or_default();
    let colours = strategy_colours(&strategies);
    strategies.into_iter().zip(colours).collect()
}

/// KL(strategy ‖ model) over training for every strategy. The background has the colour of the strategy that
/// is nearest by the medians.
pub(crate) fn similarity(trained: &TrainedExperiment) -> Plot {
    let strategies = compared(trained);
    let series: Vec<Series> = strategies
        .iter()
        .flat_map(|(name, colour)| column(name, *colour, trained, KL_STRATEGY.of_strategy(name)))
        .collect();
    Plot {
        x: Axis::linear(SEEN),
        y: from_zero("KL(strategy ‖ model), nats", &series, &[]),
        regions: regions(trained, &strategies),
        series,
        ..Plot::default()
    }
}

/// Phases and drops of the median curves.
pub(crate) fn phases_of_medians(trained: &TrainedExperiment) -> (Vec<Phase>, Vec<LossDrop>) {
    let steps = trained.completed().next();
    let steps = steps.map(|run| run.recording().history.steps());
    let steps = steps.unwrap_or_default();
    if steps.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let values = |column: &Column| -> Vec<f64> {
        let middle = middle(trained, |run| run.column(column.clone()));
        middle.into_iter().map(|(_, y)| y).collect()
    };
    let strategies = compared(trained).into_iter();
    let distances: Vec<(String, Vec<f64>)> = strategies
        .map(|(name, _)| {
            let distance = values(&KL_STRATEGY.of_strategy(&name));
            (name, distance)
        })
        .collect();
    let course = Course {
        steps: &steps,
        loss: &values(&(&KL_TRUTH).into()),
        distances: &distances,
    };
    let phases = phases(&course);
    let drops = drops(&course, &phases);
    (phases, drops)
}

/// The phases of the median curves, as coloured backgrounds.
fn regions(trained: &TrainedExperiment, strategies: &[(String, Colour)]) -> Vec<Region> {
    let (phases, _) = phases_of_medians(trained);
    phase_regions(&phases, strategies, |step| trained.thousands(step))
}

/// An axis from zero to slightly above all values.
pub(crate) fn from_zero(label: &str, series: &[Series], levels: &[Level]) -> Axis {
    let values = series.iter().flat_map(|series| &series.values);
    let values = values
        .map(|value| value.y)
        .chain(levels.iter().map(|level| level.y));
    let top = values.filter(|y| y.is_finite()).fold(0.0, f64::max);
    match top > 0.0 {
        true => Axis::linear(label).range(0.0, 1.08 * top),
        false => Axis::linear(label),
    }
}

/// The losses of strategies in the exams, as horizontal lines: medians over runs. Without those that were not
/// part of the exam.
pub(crate) fn levels(trained: &TrainedExperiment, strategies: &[&str]) -> Vec<Level> {
    named_levels(strategies, |strategy| trained.level(strategy))
}

/// The losses of strategies on one of the test sets, as horizontal lines: medians over runs.
pub(crate) fn levels_on(trained: &TrainedExperiment, set: &str, strategies: &[&str]) -> Vec<Level> {
    named_levels(strategies, |strategy| {
        trained.median(|run| Some(run.level_on(set, strategy)))
    })
}

fn named_levels(strategies: &[&str], level: impl Fn(&str) -> f64) -> Vec<Level> {
    let colours = LEVELS.into_iter().zip(strategy_colours(&LEVELS));
    let others = strategies.iter().copied().zip(strategy_colours(strategies));
    let colours: Vec<(&str, Colour)> = colours.chain(others).collect();
    let named = |&strategy: &&str| Level {
        y: level(strategy),
        label: match strategy {
            COUNTS_AND_CURRENT => "counts + current".into(),
            _ => strategy.to_owned(),
        },
        colour: colours
            .iter()
            .find(|(name, _)| *name == strategy)
            .map_or(Colour::Muted, |(_, colour)| *colour),
    };
    let all = strategies.iter().map(named);
    all.filter(|level| level.y.is_finite()).collect()
}

/// The test loss over training, with the losses of strategies.
pub(crate) fn loss(trained: &TrainedExperiment, label: &str, strategies: &[&str]) -> Plot {
    let series = column(label, Colour::Ink, trained, &KL_TRUTH);
    losses(series, levels(trained, strategies))
}

/// The time of an event in every run, in steps, as a median with its interval. A run without it counts as one
/// in which it comes later than in any other.
pub(crate) fn time_of(
    trained: &TrainedExperiment,
    event: impl Fn(&Run) -> Option<f64>,
) -> Measurement {
    Measurement::of(&trained.numbers(event), f64::INFINITY, ERROR)
}

/// A median with its interval as a point, in a unit of its own; `None` if it is infinite or unknown.
pub(crate) fn point(x: f64, measured: &Measurement, unit: impl Fn(f64) -> f64) -> Option<Value> {
    let value = Value {
        x,
        y: unit(measured.effect),
        interval: measured.interval.map(|ends| ends.map(&unit)),
    };
    value.y.is_finite().then_some(value)
}

/// When a strategy becomes the nearest one, in words: the median over runs, and how many lack it.
pub(crate) fn onset_in_words(trained: &TrainedExperiment, strategy: &str) -> String {
    let onset = time_of(trained, |run| run.onset(strategy));
    let Measurement { seeds, missing, .. } = onset;
    match onset.effect {
        effect if effect.is_finite() && missing == 0 => {
            format!("after {:.0} thousand sequences", trained.thousands(effect))
        }
        effect if effect.is_finite() => format!(
            "after {:.0} thousand sequences (never in {missing} of {seeds} runs)",
            trained.thousands(effect)
        ),
        _ if seeds == 0 => "at a time that is not measured here".into(),
        _ if missing == seeds => "in no run".into(),
        _ => format!("in only {} of {seeds} runs", seeds - missing),
    }
}

/// A moment of a run.
pub(crate) struct At {
    /// A, B, …
    pub name: &'static str,
    /// When, in steps.
    pub step: f64,
}

/// Three moments of a run: on the plateau, as the second drop begins, and at the end. For a run that never
/// falls, three evenly spaced moments.
pub(crate) fn moments(run: &Run) -> [At; 3] {
    let end = run.steps().last().copied().unwrap_or(0.0);
    let (plateau, start) = match run.fall_from("unigram") {
        Some(fall) => (fall.on_plateau(), fall.start),
        None => (end / 3.0, 2.0 * end / 3.0),
    };
    [("A", plateau), ("B", start), ("C", end)].map(|(name, step)| At { name, step })
}

/// Moments as vertical lines.
pub(crate) fn marks(trained: &TrainedExperiment, moments: &[At]) -> Vec<Moment> {
    let mark = |at: &At| Moment {
        x: trained.thousands(at.step),
        label: at.name.into(),
    };
    moments.iter().map(mark).collect()
}
