//! What is measured on the runs of the study.

use induct::measure::{CONSTRUCTION_OVERLAP, COPY_STRENGTH, KL_TRUTH, PREVIOUS_TOKEN};
use induct::model::Kind;
use induct::theory::{Coupling, Weights};

use crate::gumbel::{Gumbel, lognormal_log_likelihood, normal_log_likelihood};
use crate::results::TrainedExperiment;
use crate::run::Run;
use crate::statistics::{Sample, of_seeds, rank_correlation, ratio};

/// A head has formed if at the end at least this fraction of the gap to bigrams is closed: as in C1 of the
/// paper's study.
pub const FORMED: f64 = 0.75;

/// Layer 1 has begun to look back if it gives at least this much attention to the previous token.
pub const LOOKS_BACK: f64 = 0.25;

/// Runs whose statistics are taken together where a number takes many runs.
pub const GROUP: usize = 50;

/// The transition: the first recorded step at which the loss is at most half way from the unigram to the bigram
/// strategy's.
pub fn transition(run: &Run) -> Option<f64> {
    let half = 0.5 * (run.level("unigram") + run.level("bigram"));
    run.first(&KL_TRUTH, |loss| loss <= half)
}

/// The fraction of the gap between unigrams and bigrams that the model in training has closed at the end.
pub fn closed(run: &Run) -> Option<f64> {
    let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
    Some((unigram - run.last(&KL_TRUTH)?) / (unigram - bigram)).filter(|share| share.is_finite())
}

/// Whether the head has formed at the end.
pub fn formed(run: &Run) -> bool {
    closed(run).is_some_and(|closed| closed >= FORMED)
}

/// When layer 1 begins to look back.
pub fn looks_back(run: &Run) -> Option<f64> {
    let scores = run.over_heads(&PREVIOUS_TOKEN, 0);
    let at = scores.iter().position(|&score| score >= LOOKS_BACK)?;
    run.steps().get(at).copied()
}

/// A number of every run of the second experiment over that of the run of the first with the same seed. `None` where
/// either has none.
pub fn over_free(of: &[&TrainedExperiment], number: impl Fn(&Run) -> Option<f64>) -> Sample {
    ratio(&[of[1], of[0]], number)
}

/// Steps between the onset of a phase and a moment that an intervention sets after it took effect: three records
/// must show the phase, and the next one is the first that the onset can act on.
fn acts_at(trained: &TrainedExperiment, run: &Run, strategy: &str, after: f64) -> Option<f64> {
    let every = trained.experiment.recipe.record.every as f64;
    Some(run.onset(strategy)? + 3.0 * every + after)
}

/// The wait from an intervention on the plateau to the transition, over what it is without the intervention.
pub fn remaining_wait(of: &[&TrainedExperiment]) -> Sample {
    of_seeds(of, |runs| {
        let from = acts_at(of[0], runs[0], "unigram", 200.0)?;
        Some((transition(runs[1])? - from) / (transition(runs[0])? - from))
    })
}

/// The steps that a run needs to come back half way to bigrams after an intervention that follows its transition,
/// over those that it needed to its transition.
pub fn recovery(trained: &TrainedExperiment, run: &Run) -> Option<f64> {
    let from = acts_at(trained, run, "bigram", 600.0)?;
    let half = 0.5 * (run.level("unigram") + run.level("bigram"));
    let after = run.steps().into_iter().zip(run.column(&KL_TRUTH));
    let back = after
        .filter(|(step, _)| *step >= from)
        .find(|(_, loss)| *loss <= half)?;
    Some((back.0 - from) / transition(run)?)
}

/// How far the gradient that the first step took is from the exact one, relative to it: of W_k, and of v unless M is
/// clamped.
pub fn gradient_error(trained: &TrainedExperiment) -> Sample {
    let exact = exact_gradient(trained);
    trained.numbers(|run| {
        let (Some((_, before)), Some((_, after))) =
            (run.snapshots().first(), run.snapshots().last())
        else {
            return None;
        };
        let lr = trained.experiment.recipe.train.optimizer.lr()?;
        let moved = before.iter().zip(after);
        let measured = moved.map(|(before, after)| (f64::from(*before) - f64::from(*after)) / lr);
        let exact = exact.as_ref()?;
        let squares = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>();
        let apart: Vec<f64> = measured
            .zip(exact)
            .map(|(found, exact)| found - exact)
            .collect();
        Some((squares(&apart) / squares(exact)).sqrt())
    })
}

/// The exact gradient at the start, in the order of the parameters. What is clamped gets none.
fn exact_gradient(trained: &TrainedExperiment) -> Option<Vec<f64>> {
    let recipe = &trained.experiment.recipe;
    let Kind::Minimal(_) = trained.model.kind() else {
        return None;
    };
    let coupling = Coupling::of_prior(&recipe.prior().ok()?, recipe.task.length).ok()?;
    let (k, t) = (recipe.task.states, recipe.task.length);
    let clamped = !recipe.intervene.is_empty();
    let mut weights = Weights::constant(k, t, 0.0, 0.01);
    if clamped {
        weights.v.fill(0.0);
        *weights.v.get_mut(1)? = 1.0;
    }
    let mut gradient = coupling.gradient(&weights);
    if clamped {
        gradient.v.fill(0.0);
    }
    Some(gradient.w_k.into_iter().chain(gradient.v).collect())
}

/// When bigrams became the nearest strategy.
pub fn onset(run: &Run) -> Option<f64> {
    run.onset("bigram")
}

/// An early quantity of a run.
pub struct Early {
    pub label: &'static str,
    pub of: fn(&Run) -> Option<f64>,
}

fn at(run: &Run, column: Vec<f64>, step: f64) -> Option<f64> {
    column
        .get(run.record_at(step))
        .copied()
        .filter(|x| x.is_finite())
}

/// The early quantities that are tried; the first is the one that the claim is about.
pub const EARLY_QUANTITIES: [Early; 5] = [
    Early {
        label: "layer 2's copying, step 300",
        of: |run| at(run, run.over_heads(&COPY_STRENGTH, 1), 300.0),
    },
    Early {
        label: "layer 1's overlap with the construction, step 300",
        of: |run| at(run, run.column(CONSTRUCTION_OVERLAP.of_layer(0)), 300.0),
    },
    Early {
        label: "layer 2's overlap with the construction, at the start",
        of: |run| at(run, run.column(CONSTRUCTION_OVERLAP.of_layer(1)), 0.0),
    },
    Early {
        label: "onset of unigrams",
        of: |run| run.onset("unigram"),
    },
    Early {
        label: "layer 1's attention on the previous token, step 600",
        of: |run| at(run, run.over_heads(&PREVIOUS_TOKEN, 0), 600.0),
    },
];

/// The share of the variance of transition times, by rank, that an early quantity explains, in groups of runs.
pub fn explained(trained: &TrainedExperiment, of: impl Fn(&Run) -> Option<f64>) -> Sample {
    let runs: Vec<&Run> = trained.completed().collect();
    let share = |group: &[&Run]| {
        let pairs = group.iter().filter_map(|run| Some((of(run)?, onset(run)?)));
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
        rank_correlation(&x, &y).map(|r| r * r)
    };
    Sample::Numbers(runs.chunks_exact(GROUP).map(share).collect())
}

/// Whether the Gumbel law gives the transition times of each group of runs a larger likelihood than another law.
pub fn gumbel_wins(trained: &TrainedExperiment, normal: bool) -> Sample {
    let times: Vec<f64> = trained.completed().filter_map(onset).collect();
    let wins = |group: &[f64]| {
        let other = match normal {
            true => normal_log_likelihood(group),
            false => lognormal_log_likelihood(group),
        };
        Gumbel::fit(group).is_some_and(|law| law.log_likelihood(group) > other)
    };
    Sample::Hits(times.chunks_exact(GROUP).map(wins).collect())
}
