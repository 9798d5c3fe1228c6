//! Many seeds: their loss curves, the same from each run's own transition, and the times of the transitions.

use induct::internal::median;
use induct::measure::KL_TRUTH;
use induct_figure::{Axis, Colour, Figure, Mark, Plot, Series};
use induct_pictures::strategy_colours;

use crate::curves::{self, LEVELS, LOSS, SEEN};
use crate::figure::Illustration;
use crate::gumbel::Gumbel;
use crate::results::{Results, TrainedExperiment};
use crate::run::Run;
use crate::statistics::Measurement;

/// The fewest transitions that a law is fitted to.
const FITTED: usize = 10;

/// How much of a curve is shown on either side of the transition, in units of the median length of a drop.
const AROUND: f64 = 2.0;

pub(super) fn seeds(results: &Results) -> Illustration {
    let main = results.of("main");
    let transitions = Transitions::of(main);
    let figure = Figure {
        description: "Loss over training of runs with different seeds and their median; the same runs \
                      aligned at their transitions; and the distribution of the times of the transitions."
            .into(),
        panels: vec![
            curves::panel(main, "Loss of single runs", || {
                curves::loss(main, "model", &LEVELS)
            }),
            curves::panel(main, "From each run's own transition", || {
                aligned(main, &transitions)
            }),
            curves::panel(main, &transitions.title(), || transitions.distribution()),
        ],
        columns: 3,
    };
    let reading = format!("{} {}", curves::legend(&[main]), transitions.in_words(main));
    Illustration::new(figure, reading)
}

/// The times at which bigrams become the nearest strategy, and how long the drops last.
struct Transitions {
    /// In thousands of sequences, of the runs that have one; sorted.
    times: Vec<f64>,
    /// The law of the times, if there are enough.
    law: Option<Gumbel>,
    /// The number of runs, with those that have no transition.
    runs: usize,
    /// Thousands of sequences from 10 % to 90 % of the drop: the median over single runs.
    single: f64,
    /// The same of the median curve.
    of_the_median: f64,
}

impl Transitions {
    fn of(trained: &TrainedExperiment) -> Self {
        let onsets = trained.completed().filter_map(|run| run.onset("bigram"));
        let mut times: Vec<f64> = onsets.map(|step| trained.thousands(step)).collect();
        times.sort_by(f64::total_cmp);
        let (_, drops) = curves::phases_of_medians(trained);
        let of_the_median = drops.iter().find(|drop| drop.to == "bigram");
        Self {
            law: Gumbel::fit(&times).filter(|_| times.len() >= FITTED),
            times,
            runs: trained.runs.len(),
            single: trained.thousands(trained.median(|run| Some(run.drop_to("bigram")?.width))),
            of_the_median: of_the_median.map_or(f64::NAN, |drop| trained.thousands(drop.width)),
        }
    }

    fn never(&self) -> usize {
        self.runs - self.times.len()
    }

    fn title(&self) -> String {
        match self.never() {
            0 => format!("When bigrams become nearest, in {} runs", self.runs),
            never => format!(
                "When bigrams become nearest ({never} of {} runs: never)",
                self.runs
            ),
        }
    }

    /// The share of all runs that have had their transition, over time, and the fitted law.
    fn distribution(&self) -> Plot {
        let runs = self.runs as f64;
        let share = |count: usize| count as f64 / runs;
        let steps = self.times.iter().enumerate();
        let steps = steps.map(|(index, &time)| (time, share(index + 1)));
        let start = self.times.first().map(|&time| (time, 0.0));
        let mut series = vec![Series::new(
            "runs",
            strategy_colours(&["bigram"])[0],
            Mark::Steps,
            start.into_iter().chain(steps),
        )];
        let ends = self.times.first().zip(self.times.last());
        if let (Some(law), Some((first, last))) = (self.law, ends) {
            let (from, to) = (first - law.scale, last + law.scale);
            let points = (0..=100).map(|at| {
                let x = from + f64::from(at) / 100.0 * (to - from);
                (x, share(self.times.len()) * law.below(x))
            });
            series.push(Series::new(
                "Gumbel law",
                Colour::Vermilion,
                Mark::Dashed,
                points,
            ));
        }
        Plot {
            x: Axis::linear(SEEN),
            y: Axis::linear("share of all runs that are past their transition").range(0.0, 1.0),
            series,
            names_above: true,
            ..Plot::default()
        }
    }

    fn in_words(&self, trained: &TrainedExperiment) -> String {
        let (Some(first), Some(last)) = (self.times.first(), self.times.last()) else {
            return "In none of these runs do bigrams become the nearest strategy.".into();
        };
        let mut words = format!(
            "The seed, of both initialisation and data, decides when the second drop comes: bigrams become \
             the nearest strategy after {first:.0} to {last:.0} thousand sequences in {} of {} runs, with a \
             median of {:.0}",
            self.times.len(),
            self.runs,
            median(&self.times)
        );
        words += &match self.never() {
            0 => ".".into(),
            never => format!(" among those; {never} of {} never get there.", self.runs),
        };
        if self.single.is_finite() && self.of_the_median.is_finite() && self.times.len() > 1 {
            words += &format!(
                " From 10 % to 90 % of the drop, a single run takes {:.0} thousand sequences (median), the \
                 median curve {:.0} thousand: a single drop is {:.1} times as steep, which the panel in the \
                 middle shows.",
                self.single,
                self.of_the_median,
                self.of_the_median / self.single
            );
        }
        if let Some(law) = self.law {
            words += &format!(
                " The dashed law on the right, of Gumbel, is fitted by maximum likelihood to the times of the \
                 runs that have a transition: location {:.1} and scale {:.1} thousand sequences.",
                law.location, law.scale,
            );
            let gains = law.gains(&self.times);
            if gains.iter().all(|gain| gain.is_finite()) {
                words += &format!(
                    " Its log likelihood exceeds that of a normal law by {:.1}, and that of a lognormal law by \
                     {:.1}.",
                    gains[0], gains[1],
                );
            }
        }
        let onset = curves::time_of(trained, |run| run.onset("bigram"));
        if let Measurement {
            interval: Some([low, high]),
            ..
        } = onset
        {
            let high = match high.is_finite() {
                true => format!("{:.0}", trained.thousands(high)),
                false => "never".into(),
            };
            words += &format!(
                " The 95 % interval of the median time is {:.0} to {high} thousand sequences.",
                trained.thousands(low)
            );
        }
        words
    }
}

/// The loss of every run against the sequences since its own transition, and their median; dashed, the median
/// of the curves as they are, from the median transition.
fn aligned(trained: &TrainedExperiment, transitions: &Transitions) -> Plot {
    let runs: Vec<(&Run, f64)> = trained
        .completed()
        .filter_map(|run| Some((run, run.onset("bigram")?)))
        .collect();
    let since = |run: &Run, onset: f64| -> Vec<(f64, f64)> {
        let steps = run.steps().into_iter().map(move |step| step - onset);
        steps.zip(run.column(&KL_TRUTH)).collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = runs.iter().map(|(run, at)| since(run, *at)).collect();
    let around = match AROUND * transitions.single {
        around if around > 0.0 => around,
        _ => f64::INFINITY,
    };
    let placed = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let place = |&(step, loss): &(f64, f64)| (trained.thousands(step), loss);
        let near = |(x, _): &(f64, f64)| x.abs() <= around;
        points.iter().map(place).filter(near).collect()
    };
    let mut series: Vec<Series> = Vec::new();
    if curves.len() > 1 {
        let shown = curves.iter().take(curves::SHOWN);
        series.extend(
            shown.map(|curve| Series::new("single run", Colour::Ink, Mark::Faint, placed(curve))),
        );
        let middle = curves::middle(trained, |run| run.column(&KL_TRUTH));
        let transition = trained.median(|run| run.onset("bigram"));
        let middle = middle.into_iter();
        let middle: Vec<(f64, f64)> = middle.map(|(step, y)| (step - transition, y)).collect();
        series.push(Series::new(
            "median curve of the left",
            Colour::Vermilion,
            Mark::Dashed,
            placed(&middle),
        ));
    }
    let aligned = placed(&pointwise_median(&curves));
    series.push(Series::new(
        "median of aligned runs",
        Colour::Ink,
        Mark::Line,
        aligned,
    ));
    Plot {
        x: Axis::linear("thousands of sequences since the transition"),
        y: curves::from_zero(LOSS, &series, &[]),
        series,
        names_above: true,
        ..Plot::default()
    }
}

/// The median over curves at every x that at least half of them have; points by x.
fn pointwise_median(curves: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = curves.iter().flatten().copied().collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at_one_x = all.chunk_by(|a, b| a.0 == b.0);
    let enough = at_one_x.filter(|points| 2 * points.len() >= curves.len());
    let middle = |points: &[(f64, f64)]| {
        let values: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
        (points[0].0, median(&values))
    };
    enough.map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_where_most_curves_are() {
        let curves = [
            vec![(-1.0, 5.0), (0.0, 1.0), (1.0, 0.0)],
            vec![(0.0, 3.0), (1.0, 2.0)],
            vec![(0.0, 9.0), (1.0, 4.0), (2.0, 0.0)],
        ];
        assert_eq!(pointwise_median(&curves), [(0.0, 3.0), (1.0, 2.0)]);
        assert_eq!(pointwise_median(&[]), []);
    }

    #[test]
    fn the_distribution_counts_runs_without_a_transition() {
        let transitions = Transitions {
            times: (0..12).map(f64::from).collect(),
            law: Gumbel::fit(&(0..12).map(f64::from).collect::<Vec<_>>()),
            runs: 16,
            single: 1.0,
            of_the_median: 3.0,
        };
        let plot = transitions.distribution();
        let highest = |series: &Series| series.values.iter().map(|v| v.y).fold(0.0, f64::max);
        assert_eq!(highest(&plot.series[0]), 0.75);
        assert!(highest(&plot.series[1]) <= 0.75);
        assert!(transitions.title().contains("4 of 16"));
    }
}
