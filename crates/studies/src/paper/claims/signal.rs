//! Claims about the effect of unigram signal on learning.

use super::{PRINTED, PRINTED_COLLAPSE, RECOMMENDED, RELEASED, SIGNAL};
use crate::claim::Limit::{AtLeast, AtMost};
use crate::claim::{Claim, Part, Runs};
use crate::paper::experiments::{INTERPOLATED, INTERPOLATED_NAMES};
use crate::results::Trained;
use crate::run::Run;
use crate::statistics::{Sample, Statistic, by_seed, trend};

const ALL: Runs = &[(RECOMMENDED, INTERPOLATED_NAMES)];
const ENDS: Runs = &[
    (RELEASED, "released-interpolated-{0.5,1.0}"),
    (RECOMMENDED, "interpolated-{0.5,1.0}"),
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
        core: &[
            Part {
                on: "p = 1 against p = 0.5",
                place: "section 3.1, varying the data distribution: train much faster; figure 4a",
                statistic: Statistic::experiments(
                    "share of pairs of runs with the same seed in which bigrams become nearest sooner at \
                     p = 1, where unigrams say nothing, than at p = 0.5",
                    |of| sooner(of, 1.0),
                ),
                limit: AtLeast(0.5),
                why: "most pairs; a run that never gets there counts as the slower one",
                runs: &[ENDS],
            },
            Part {
                on: "all eleven values of p",
                place: "section 3.1, varying the data distribution; caption of figure 4a",
                statistic: Statistic::experiments(
                    "rank correlation between p and the step at which bigrams become nearest on the \
                     original chains; at p = 0 rows are nearly equal and unigrams say everything, at \
                     p = 1 they say nothing; a run that never gets there counts as the slowest",
                    |of| trend(of, &INTERPOLATED, onset_or_never),
                ),
                limit: AtMost(-0.5),
                why: "kept from the first round: a strong trend over the whole family",
                runs: &[ALL],
            },
        ],
        probes: &[
            Part {
                on: "p = 1 against p = 0.5",
                place: "is it twice as fast?",
                statistic: Statistic::experiments(
                    "share of pairs of runs with the same seed in which bigrams become nearest in at most \
                     half the steps at p = 1",
                    |of| sooner(of, 0.5),
                ),
                limit: AtLeast(0.5),
                why: "much faster might mean twice as fast; the paper compares the ends of the family, of \
                      which the other one is not learned at all",
                runs: &[ENDS],
            },
            Part {
                on: "p of at least 0.5, where chains differ most from independent symbols",
                place: "does the trend hold where bigrams are learned at all?",
                statistic: Statistic::experiments(
                    "rank correlation between p and the step at which bigrams become nearest on the \
                     original chains",
                    |of| trend(&of[5..], &INTERPOLATED[5..], onset_or_never),
                ),
                limit: AtMost(-0.5),
                why: "as for all values of p",
                runs: &[ALL],
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
        core: &[Part {
            on: "all eleven values of p",
            place: "caption of figure 4a: without long plateaus; section 3.2, if the unigram solution is not \
                    correlated, it is skipped",
            statistic: Statistic::experiments(
                "rank correlation between p and the length of the plateau (steps at which unigrams are \
                 the nearest strategy on the original chains)",
                |of| trend(of, &INTERPOLATED, |run| Some(run.steps_at("unigram"))),
            ),
            limit: AtMost(-0.5),
            why: "the same strength of trend as in C7",
            runs: &[ALL],
        }],
        ..Claim::BARE
    },
];

fn onset_or_never(run: &Run) -> Option<f64> {
    Some(run.onset("bigram").unwrap_or(f64::MAX))
}

/// Whether, with the same seed, bigrams become nearest at p = 1 within the given fraction of the steps that it
/// takes at p = 0.5.
fn sooner(of: &[&Trained], fraction: f64) -> Sample {
    let of_pair = |runs: Vec<&Run>| {
        let half = runs[0].onset("bigram").unwrap_or(f64::INFINITY);
        // Not to be later is not enough.
        let sooner = |one: f64| one < half && one <= fraction * half;
        runs[1].onset("bigram").is_some_and(sooner)
    };
    let hits = by_seed(of).map(|runs| runs.is_some_and(of_pair));
    Sample::Hits(hits.collect())
}
