//! Many seeds: their loss curves and the times of their transitions.

use induct::measure::KL_TRUTH;
use induct::probe::median;
use induct_figure::{Axis, Colour, Figure, Mark, Panel, Plot, Series};

use super::curves::{self, LOSS, SEEN};
use crate::figure::Drawn;
use crate::results::Results;
use crate::run::Run;
use crate::strategy_colours::strategy_colours;

/// The number of curves to draw.
const SHOWN: usize = 10;

pub(super) fn seeds(results: &Results) -> Drawn {
    let main = results.of("main");
    let runs: Vec<&Run> = main.sound().collect();
    let curve = |run: &&Run| {
        let points = run.steps().into_iter().zip(run.column(&KL_TRUTH));
        let points = points.map(|(step, loss)| (main.thousands(step), loss));
        let shown = runs.len().min(SHOWN);
        Series::new(format!("{shown} seeds"), Colour::Blue, Mark::Thin, points)
    };
    let series: Vec<Series> = runs.iter().take(SHOWN).map(curve).collect();
    let levels = curves::levels(main, "in_distribution", &["uniform", "unigram", "bigram"]);
    let courses = Plot {
        title: "Loss of individual runs".into(),
        x: Axis::linear(SEEN),
        y: curves::from_zero(LOSS, &series, &levels),
        levels,
        series,
        ..Plot::default()
    };
    let onsets: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.onset("bigram"))
        .map(|step| main.thousands(step))
        .collect();
    let colour = strategy_colours(&["bigram"])[0];
    let histogram = Plot {
        title: format!("When bigrams become nearest, in {} runs", onsets.len()),
        x: Axis::linear(SEEN),
        y: Axis::linear("runs"),
        series: vec![Series::new("", colour, Mark::Bars, bins(&onsets))],
        ..Plot::default()
    };
    let figure = Figure {
        description:
            "Loss over training of ten runs with different seeds, and a histogram of the times of their \
             transitions."
                .into(),
        panels: vec![Panel::Plot(courses), Panel::Plot(histogram)],
        columns: 2,
    };
    let reading = match (
        onsets.iter().copied().reduce(f64::min),
        onsets.iter().copied().reduce(f64::max),
    ) {
        (Some(least), Some(most)) => format!(
            "All runs follow the same course; the seed, of both initialisation and data, decides when the \
             second drop comes. In {} of {} runs, bigrams become the nearest strategy, after {least:.0} to \
             {most:.0} thousand sequences, with a median of {:.0}.",
            onsets.len(),
            runs.len(),
            median(&onsets)
        ),
        _ => "In none of these runs do bigrams become the nearest strategy.".into(),
    };
    Drawn::new(figure, reading)
}

/// A histogram: the centre of each bin and its number of values.
fn bins(values: &[f64]) -> Vec<(f64, f64)> {
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| {
        (low.min(x), high.max(x))
    });
    if values.is_empty() {
        return Vec::new();
    }
    // About twice as many bins as the square root of the number of values, with a round width.
    let rough = (high - low).max(1.0) / (2.0 * (values.len() as f64).sqrt()).ceil();
    let power = 10_f64.powf(rough.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|step| step * power >= rough);
    let width = nice.unwrap_or(10.0) * power;
    let first = (low / width).floor();
    let count = (high / width).floor() - first + 1.0;
    (0..count as usize)
        .map(|bin| {
            let start = (first + bin as f64) * width;
            let inside = values
                .iter()
                .filter(|v| (start..start + width).contains(*v));
            (start + 0.5 * width, inside.count() as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_value_once() {
        let values = [80.0, 91.0, 92.0, 99.9, 100.0, 117.0, 140.0];
        let bins = bins(&values);
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<f64>(), 7.0);
        let width = bins[1].0 - bins[0].0;
        assert!(bins.windows(2).all(|pair| pair[1].0 - pair[0].0 == width));
        assert_eq!(super::bins(&[]), []);
        assert_eq!(super::bins(&[5.0, 5.0]).len(), 1);
    }
}
