//! Claims about the effect of unigram signal on learning.

use super::{PRINTED, PRINTED_COLLAPSE, RECOMMENDED, RELEASED, Runs, SIGNAL, nothing};
use crate::claim::{Claim, Limit, Part, Role};
use crate::paper::experiments::{INTERPOLATED, INTERPOLATED_NAMES};
use crate::results::Results;
use crate::run::Run;
use crate::statistics::{Sample, rank_correlation};

const ALL: Runs = &[(RECOMMENDED, &INTERPOLATED_NAMES)];
const ENDS: Runs = &[
    (
        RELEASED,
        &["released-interpolated-0.5", "released-interpolated-1.0"],
    ),
    (RECOMMENDED, &["interpolated-0.5", "interpolated-1.0"]),
];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C7",
        title: "The weaker the unigram signal, the earlier the transition",
        statement: "When trained on chains whose symbol frequencies say less about the next symbol, the \
                    model reaches bigrams sooner, even when measured on the original chains.",
        question: SIGNAL,
        figure: 4,
        not_run: &[
            (PRINTED, PRINTED_COLLAPSE),
            (RELEASED, "two values of p are trained there"),
        ],
        parts: &[
            Part {
                role: Role::Core,
                on: "p = 1 against p = 0.5",
                place: "section 3.1, varying the data distribution: train much faster; figure 4a",
                measure: "share of pairs of runs with the same seed in which bigrams become nearest sooner at \
                          p = 1, where unigrams say nothing, than at p = 0.5",
                limit: Limit::AtLeast(0.5),
                why: "most pairs; a run that never gets there counts as the slower one",
                runs: ENDS,
                sample: |results, runs| sooner(results, runs, 1.0),
            },
            Part {
                role: Role::Core,
                on: "all eleven values of p",
                place: "section 3.1, varying the data distribution; caption of figure 4a",
                measure: "rank correlation between p and the step at which bigrams become nearest on the \
                          original chains; at p = 0 rows are nearly equal and unigrams say everything, at \
                          p = 1 they say nothing; a run that never gets there counts as the slowest",
                limit: Limit::AtMost(-0.5),
                why: "kept from the first round: a strong trend over the whole family",
                runs: ALL,
                sample: |results, runs| {
                    correlation(results, runs, 0.0, |run| {
                        Some(run.onset("bigram").unwrap_or(f64::MAX))
                    })
                },
            },
            Part {
                role: Role::Probe,
                on: "p = 1 against p = 0.5",
                place: "is it twice as fast?",
                measure: "share of pairs of runs with the same seed in which bigrams become nearest in at most \
                          half the steps at p = 1",
                limit: Limit::AtLeast(0.5),
                why: "much faster might mean twice as fast; the paper compares the ends of the family, of \
                      which the other one is not learned at all",
                runs: ENDS,
                sample: |results, runs| sooner(results, runs, 0.5),
            },
            Part {
                role: Role::Probe,
                on: "p of at least 0.5, where chains differ most from independent symbols",
                place: "does the trend hold where bigrams are learned at all?",
                measure: "rank correlation between p and the step at which bigrams become nearest on the \
                          original chains",
                limit: Limit::AtMost(-0.5),
                why: "as for all values of p",
                runs: ALL,
                sample: |results, runs| {
                    correlation(results, runs, 0.5, |run| {
                        Some(run.onset("bigram").unwrap_or(f64::MAX))
                    })
                },
            },
        ],
        remark: |_| {
            "The paper's caption says that the end without unigram signal is 0; by the definition in its \
             appendix, it is 1."
                .into()
        },
    },
    Claim {
        id: "C21",
        title: "Less unigram signal shortens the plateau",
        statement: "With little signal from unigrams, the model does not stay long at the intermediate \
                    stage: the plateau itself is shorter, not only its end earlier.",
        question: SIGNAL,
        figure: 4,
        not_run: &[
            (PRINTED, PRINTED_COLLAPSE),
            (
                RELEASED,
                "two values of p are trained there, which is enough for C7 but not for a trend",
            ),
        ],
        parts: &[Part {
            role: Role::Core,
            on: "all eleven values of p",
            place: "caption of figure 4a: without long plateaus; section 3.2, if the unigram solution is not \
                    correlated, it is skipped",
            measure: "rank correlation between p and the length of the plateau (steps at which unigrams are \
                      the nearest strategy on the original chains)",
            limit: Limit::AtMost(-0.5),
            why: "the same strength of trend as in C7",
            runs: ALL,
            sample: |results, runs| {
                correlation(results, runs, 0.0, |run| Some(run.steps_at("unigram")))
            },
        }],
        remark: nothing,
    },
];

/// Whether, with the same seed, bigrams become nearest at p = 1 within the given fraction of the steps that it
/// takes at p = 0.5.
fn sooner(results: &Results, runs: &[&str], fraction: f64) -> Sample {
    let [half, one] = [0, 1].map(|at| results.of(runs[at]));
    let of_pair = |(half, one): (&Run, &Run)| {
        let sound = half.is_sound() && one.is_sound();
        let half = half.onset("bigram").unwrap_or(f64::INFINITY);
        // Not to be later is not enough.
        let sooner = |one: f64| one < half && one <= fraction * half;
        sound && one.onset("bigram").is_some_and(sooner)
    };
    Sample::Hits(half.runs.iter().zip(&one.runs).map(of_pair).collect())
}

/// For every seed, the rank correlation between p and a quantity, over all p of at least `from`. None for a
/// seed of which a run diverged.
fn correlation(
    results: &Results,
    runs: &[&str],
    from: f64,
    quantity: impl Fn(&Run) -> Option<f64>,
) -> Sample {
    let by_p: Vec<&[Run]> = runs
        .iter()
        .map(|id| results.of(id).runs.as_slice())
        .collect();
    let seeds = by_p.iter().map(|runs| runs.len()).min().unwrap_or(0);
    let of_seed = |seed: usize| {
        let points = INTERPOLATED.iter().zip(&by_p).filter(|(p, _)| **p >= from);
        let points: Option<(Vec<f64>, Vec<f64>)> = points
            .map(|(p, runs)| Some((*p, quantity(&runs[seed]).filter(|_| runs[seed].is_sound())?)))
            .collect();
        let (ps, values) = points?;
        rank_correlation(&ps, &values)
    };
    Sample::Numbers((0..seeds).map(of_seed).collect())
}
