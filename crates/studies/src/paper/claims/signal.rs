//! The effect of unigram signal on learning.

use crate::paper::INTERPOLATED;
use crate::results::TrainedExperiment;
use crate::run::Run;
use crate::statistics::{Sample, Statistic, by_seed, experiments, trend};

pub(super) const STATISTICS: &[Statistic] = &[
    experiments("sooner at p = 1", |of| sooner(of, 1.0)),
    experiments("onset by p", |of| trend(of, &INTERPOLATED, onset_or_never)),
    experiments("twice as soon at p = 1", |of| sooner(of, 0.5)),
    experiments("onset by p from 0.5", |of| {
        trend(&of[5..], &INTERPOLATED[5..], onset_or_never)
    }),
    experiments("plateau by p", |of| {
        trend(of, &INTERPOLATED, |run| Some(run.steps_at("unigram")))
    }),
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
