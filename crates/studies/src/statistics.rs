//! Statistics over seeds: medians and shares with exact binomial intervals, rank correlations.
//!
//! Neither interval assumes a distribution, neither can leave the range of what was measured, and a run
//! without the event that is measured counts, as the worst value there is.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

use crate::results::TrainedExperiment;
use crate::run::Run;
use crate::study::STUDIES;

/// What is measured on the runs of one or more experiments: its name in `claims.toml`, which says what it is in
/// words, and how.
#[derive(Clone, Copy)]
pub(crate) struct Statistic(pub &'static str, Method);

/// How it is measured: by the function of the same name.
#[derive(Clone, Copy)]
enum Method {
    Number(fn(&Run) -> Option<f64>),
    Share(fn(&Run) -> bool),
    WithModel(fn(&TrainedExperiment, &Run) -> Option<f64>),
    Experiments(fn(&[&TrainedExperiment]) -> Sample),
    Untrained(&'static [fn() -> Sample]),
}

/// A statistic: a number of every run; `None` for a run in which the measured event did not occur.
pub(crate) const fn number(name: &'static str, of: fn(&Run) -> Option<f64>) -> Statistic {
    Statistic(name, Method::Number(of))
}

/// A statistic: the share of runs with a property.
pub(crate) const fn share(name: &'static str, of: fn(&Run) -> bool) -> Statistic {
    Statistic(name, Method::Share(of))
}

/// A statistic: a number of every run that takes its model to compute.
pub(crate) const fn with_model(
    name: &'static str,
    of: fn(&TrainedExperiment, &Run) -> Option<f64>,
) -> Statistic {
    Statistic(name, Method::WithModel(of))
}

/// A statistic: a sample of all runs of some experiments together.
pub(crate) const fn experiments(
    name: &'static str,
    of: fn(&[&TrainedExperiment]) -> Sample,
) -> Statistic {
    Statistic(name, Method::Experiments(of))
}

/// A statistic: a sample that needs no training, one for each thing that it is measured on.
pub(crate) const fn untrained(name: &'static str, of: &'static [fn() -> Sample]) -> Statistic {
    Statistic(name, Method::Untrained(of))
}

impl<'de> Deserialize<'de> for Statistic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mut all = STUDIES
            .iter()
            .flat_map(|study| study.statistics.iter().copied().flatten());
        let found = all.find(|statistic| statistic.0 == name).copied();
        found.ok_or_else(|| D::Error::custom(format!("{name}: no such statistic")))
    }
}

impl std::fmt::Debug for Statistic {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl Statistic {
    /// Measures some experiments, or thing number `case` if it needs none.
    pub(crate) fn sample(&self, of: &[&TrainedExperiment], case: usize) -> Sample {
        match self.1 {
            Method::Number(number) => of[0].numbers(number),
            Method::Share(hit) => of[0].hits(hit),
            Method::WithModel(number) => of[0].numbers(|run| number(of[0], run)),
            Method::Experiments(sample) => sample(of),
            Method::Untrained(samples) => samples[case](),
        }
    }
}

/// The runs of each seed in some experiments; `None` for a seed of which one diverged.
pub(crate) fn by_seed<'a>(
    of: &[&'a TrainedExperiment],
) -> impl Iterator<Item = Option<Vec<&'a Run>>> {
    let seeds = of.iter().map(|trained| trained.runs.len()).min();
    let runs = |seed: usize| -> Vec<&Run> { of.iter().map(|of| &of.runs[seed]).collect() };
    let completed = |runs: &Vec<&Run>| runs.iter().all(|run| run.completed());
    (0..seeds.unwrap_or(0)).map(move |seed| Some(runs(seed)).filter(completed))
}

/// A number of every seed's runs in some experiments.
pub(crate) fn of_seeds(
    of: &[&TrainedExperiment],
    number: impl Fn(&[&Run]) -> Option<f64>,
) -> Sample {
    Sample::Numbers(by_seed(of).map(|runs| number(&runs?)).collect())
}

/// For every seed, a number of its run in the first experiment over that in the second.
pub(crate) fn ratio(of: &[&TrainedExperiment], number: impl Fn(&Run) -> Option<f64>) -> Sample {
    of_seeds(of, |runs| {
        let base = number(runs[1]).filter(|base| *base != 0.0)?;
        Some(number(runs[0])? / base)
    })
}

/// For every seed, the rank correlation between what the experiments were given and a number of their runs.
pub(crate) fn trend(
    of: &[&TrainedExperiment],
    given: &[f64],
    number: impl Fn(&Run) -> Option<f64>,
) -> Sample {
    of_seeds(of, |runs| {
        let numbers: Option<Vec<f64>> = runs.iter().map(|run| number(run)).collect();
        rank_correlation(given, &numbers?)
    })
}

/// What was measured on the runs of an experiment, one value per seed.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// A number per run; `None` for a run in which the measured event did not occur.
    Numbers(Vec<Option<f64>>),
    /// Whether each run has a property.
    Hits(Vec<bool>),
}

impl Sample {
    /// The number of seeds.
    pub fn seeds(&self) -> usize {
        match self {
            Sample::Numbers(values) => values.len(),
            Sample::Hits(hits) => hits.len(),
        }
    }
}

/// A median or a share, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The median over seeds, or the share of seeds. Infinite if the event is missing in most runs, NaN
    /// without runs.
    pub effect: f64,
    /// The ends of the interval; `None` if there are too few seeds for one.
    pub interval: Option<[f64; 2]>,
    /// The number of seeds.
    pub seeds: usize,
    /// The number of runs in which the measured event did not occur.
    pub missing: usize,
}

/// The probability that an interval of a single look misses the truth.
pub const ERROR: f64 = 0.05;

/// The fewest seeds for which the median has a 95 % interval: outside the range of five values lies the
/// median with probability 2/2⁵, more than 5 %.
pub const FEWEST: usize = 6;

impl Measurement {
    /// The median (or share) of a sample, with an interval that misses the truth with probability `error` at
    /// most. Runs without the event count as `worst`.
    pub fn of(sample: &Sample, worst: f64, error: f64) -> Self {
        match sample {
            Sample::Hits(hits) => Self::share(hits, error),
            Sample::Numbers(values) => {
                let counted = |value: &Option<f64>| value.filter(|v| !v.is_nan()).unwrap_or(worst);
                let counted: Vec<f64> = values.iter().map(counted).collect();
                let missing = values.iter().filter(|v| v.is_none_or(f64::is_nan)).count();
                Self {
                    missing,
                    ..Self::median(&counted, error)
                }
            }
        }
    }

    /// The median, with the interval of the sign test: the ends are order statistics. Fewer than `FEWEST`
    /// values have none.
    pub fn median(values: &[f64], error: f64) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let middle = match count {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            // Equal infinities have no difference.
            n if sorted[n / 2 - 1] == sorted[n / 2] => sorted[n / 2],
            n => 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]),
        };
        Self {
            effect: middle,
            interval: rank_of_the_end(count, error).map(|at| [sorted[at], sorted[count - 1 - at]]),
            seeds: count,
            missing: 0,
        }
    }

    /// The share of seeds with a property, with the interval of Clopper and Pearson.
    pub fn share(hits: &[bool], error: f64) -> Self {
        let count = hits.len();
        let (n, h) = (count as f64, hits.iter().filter(|&&hit| hit).count() as f64);
        let quantile = |a: f64, b: f64, at: f64| Beta::new(a, b).map(|law| law.inverse_cdf(at));
        let low = quantile(h, n - h + 1.0, 0.5 * error).unwrap_or(0.0);
        let high = quantile(h + 1.0, n - h, 1.0 - 0.5 * error).unwrap_or(1.0);
        Self {
            effect: h / n,
            interval: (count >= FEWEST).then_some([low, high]),
            seeds: count,
            missing: 0,
        }
    }
}

/// The largest index at which the sorted values can end an interval of the median from below: the median lies
/// below that value with probability `error` / 2 at most.
fn rank_of_the_end(count: usize, error: f64) -> Option<usize> {
    let law = Binomial::new(0.5, count as u64).ok()?;
    let fits = |at: &usize| law.cdf(*at as u64) <= 0.5 * error;
    (0..count / 2).take_while(fits).last()
}

/// Ranks, counted from 1; ties share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |x: f64| values.iter().filter(|&&v| v < x).count() as f64;
    let equal = |x: f64| values.iter().filter(|&&v| v == x).count() as f64;
    let rank = |&x: &f64| below(x) + 0.5 * (equal(x) + 1.0);
    values.iter().map(rank).collect()
}

/// Spearman's rank correlation, between −1 and 1; `None` if either list is constant.
pub fn rank_correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    correlation(&ranks(x), &ranks(y))
}

/// Pearson's correlation, between −1 and 1; `None` if either list is constant.
pub fn correlation(x: &[f64], y: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (middle_x, middle_y) = (mean(x), mean(y));
    let product = |a: &[f64], at: f64, b: &[f64], bt: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - at) * (b - bt)).sum()
    };
    let size = product(x, middle_x, x, middle_x) * product(y, middle_y, y, middle_y);
    let found = product(x, middle_x, y, middle_y) / size.sqrt();
    found.is_finite().then(|| found.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_medians_end_at_order_statistics() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        // SciPy 1.17.1: stats.binom.cdf([4, 5], 20, 0.5) = [0.0059, 0.0207], stats.binom.cdf(6, …) = 0.0577
        assert_eq!(
            Measurement::median(&values, 0.05).interval,
            Some([6.0, 15.0])
        );
        assert_eq!(
            Measurement::median(&values, 0.0125).interval,
            Some([5.0, 16.0])
        );
        assert_eq!(Measurement::median(&values, 0.05).effect, 10.5);
        let ten = Measurement::median(&values[..10], 0.0125);
        assert_eq!(ten.interval, Some([1.0, 10.0]));
        assert_eq!(
            Measurement::median(&values[..FEWEST], ERROR).interval,
            Some([1.0, 6.0])
        );
        assert_eq!(
            Measurement::median(&values[..FEWEST - 1], ERROR).interval,
            None
        );
        assert!(Measurement::median(&[], ERROR).effect.is_nan());
    }

    #[test]
    fn intervals_of_medians_cover_the_median() {
        // All orders of 8 signs around the median are equally likely: count those whose range has it inside.
        let covered = (0..1_u32 << 8).filter(|signs| {
            let values: Vec<f64> = (0..8)
                .map(|at| if signs >> at & 1 == 1 { 1.0 } else { -1.0 })
                .collect();
            let [low, high] = Measurement::median(&values, ERROR).interval.unwrap();
            low <= 0.0 && 0.0 <= high
        });
        assert_eq!(covered.count(), 256 - 2);
    }

    #[test]
    fn runs_without_the_event_count_as_the_worst() {
        let sample = Sample::Numbers(vec![Some(1.0), None, Some(3.0), Some(2.0), None, None]);
        let late = Measurement::of(&sample, f64::INFINITY, ERROR);
        assert_eq!(
            (late.effect, late.missing, late.seeds),
            (f64::INFINITY, 3, 6)
        );
        assert_eq!(late.interval, Some([1.0, f64::INFINITY]));
        let low = Measurement::of(&sample, f64::NEG_INFINITY, ERROR);
        assert_eq!(low.interval, Some([f64::NEG_INFINITY, 3.0]));
    }

    #[test]
    fn intervals_of_shares_are_clopper_and_pearsons() {
        // 20 out of 20: the lower end is the twentieth root of 0.025.
        let [low, high] = Measurement::share(&[true; 20], 0.05).interval.unwrap();
        assert!((low.powi(20) - 0.025).abs() < 1e-9, "{low}");
        assert_eq!(high, 1.0);
        // SciPy 1.17.1: stats.binomtest(3, 10).proportion_ci(method="exact")
        let mut some = [false; 10];
        some[..3].fill(true);
        let [low, high] = Measurement::share(&some, 0.05).interval.unwrap();
        assert!((low - 0.06673951117773447).abs() < 1e-8, "{low}");
        assert!((high - 0.652452850060008).abs() < 1e-8, "{high}");
        assert_eq!(Measurement::share(&[true; 5], 0.05).interval, None);
    }

    #[test]
    fn ranks_correlate() {
        let x = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(rank_correlation(&x, &[9.0, 7.0, 5.0, -1.0]), Some(-1.0));
        // SciPy 1.17.1: stats.spearmanr([0, 1, 2, 3], [1, 1, 2, 0])
        let with_ties = rank_correlation(&x, &[1.0, 1.0, 2.0, 0.0]).unwrap();
        assert!(
            (with_ties + 0.3162277660168379).abs() < 1e-12,
            "{with_ties}"
        );
        assert_eq!(rank_correlation(&x, &[1.0; 4]), None);
        // SciPy 1.17.1: stats.pearsonr([0, 1, 2, 3], [1, 3, 2, 6])
        let line = correlation(&x, &[1.0, 3.0, 2.0, 6.0]).unwrap();
        assert!((line - 0.8366600265340756).abs() < 1e-12, "{line}");
    }
}
