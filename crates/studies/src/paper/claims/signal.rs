//! The effect of unigram signal on learning.

use crate::paper::experiments::INTERPOLATED;
use crate::results::TrainedExperiment;
use crate::run::Run;
use crate::statistics::Method::Experiments;
use crate::statistics::{Sample, Statistic, by_seed, trend};

pub(super) const STATISTICS: &[Statistic] = &[
    Statistic::new(
        "sooner at p = 1",
        "share of pairs of runs with the same seed in which bigrams become nearest sooner at p \
         = 1, where unigrams say nothing, than at p = 0.5",
        Experiments(|of| sooner(of, 1.0)),
    ),
    Statistic::new(
        "onset by p",
        "rank correlation between p and the step at which bigrams become nearest on the \
         original chains; at p = 0 rows are nearly equal and unigrams say everything, at p = 1 \
         they say nothing; a run that never gets there counts as the slowest",
        Experiments(|of| trend(of, &INTERPOLATED, onset_or_never)),
    ),
    Statistic::new(
        "twice as soon at p = 1",
        "share of pairs of runs with the same seed in which bigrams become nearest in at most \
         half the steps at p = 1",
        Experiments(|of| sooner(of, 0.5)),
    ),
    Statistic::new(
        "onset by p from 0.5",
        "rank correlation between p and the step at which bigrams become nearest on the \
         original chains",
        Experiments(|of| trend(&of[5..], &INTERPOLATED[5..], onset_or_never)),
    ),
    Statistic::new(
        "plateau by p",
        "rank correlation between p and the length of the plateau (steps at which unigrams are \
         the nearest strategy on the original chains)",
        Experiments(|of| trend(of, &INTERPOLATED, |run| Some(run.steps_at("unigram")))),
    ),
];

fn onset_or_never(run: &Run) -> Option<f64> {
    Some(run.onset("bigram").unwrap_or(f64::MAX))
}

/// Whether, with the same seed, bigrams become nearest at p = 1 within the given fraction of the steps that it
/// takes at p = 0.5.
fn sooner(of: &[&TrainedExperiment], fraction: f64) -> Sample {
    let of_pair = |runs: Vec<&Run>| {
        let half = runs[0].onset("bigram").unwrap_or(f64::INFINITY);
        // Not to be later is not enough.
        let sooner = |one: f64| one < half && one <= fraction * half;
        runs[1].onset("bigram").is_some_and(sooner)
    };
    let hits = by_seed(of).map(|runs| runs.is_some_and(of_pair));
    Sample::Hits(hits.collect())
}
