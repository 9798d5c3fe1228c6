//! Claims about the loss at which training ends.

use induct::measure::{KL_TRUTH, KL_TRUTH_ALL};

use super::phases::stages;
use super::{
    BEYOND, LEARNED, PRINTED, PRINTED_COLLAPSE, RECOMMENDED, RELEASED, Runs, THREE_STATES,
    TWO_STATES, nothing,
};
use crate::claim::{Claim, Limit, Part, Role};
use crate::results::Results;
use crate::run::Run;
use crate::statistics::Sample;

/// The gap between unigram and bigram, closed on the exam.
const TO_BIGRAM: &str = "fraction of the gap between the unigram and the bigram strategy's loss that the \
                         final model closed, on fresh sequences";
const TO_BAYES: &str = "fraction of the gap between the loss of uniform predictions and of exact Bayes that \
                        the final model closed, on fresh sequences";

const NEAR: &str = "nine tenths of what the authors' own rendered run with three states closes (0.87, read by \
                    eye within 0.02 nats), rounded down to a twentieth; one layer closes a fifth";
const NEAR_BAYES: &str = "nine tenths of what the authors' own rendered run with three states closes (0.92), \
                          rounded down to a twentieth";

fn to_bigram(results: &Results, runs: &[&str]) -> Sample {
    results
        .of(runs[0])
        .numbers(|run| run.exam()?.gap_closed("unigram", "bigram"))
}

fn to_bayes(results: &Results, runs: &[&str]) -> Sample {
    results
        .of(runs[0])
        .numbers(|run| run.exam()?.gap_closed("uniform", "bayes"))
}

const THREE_HEADS: Runs = &[(RECOMMENDED, &["three-states-more-heads"])];
const CONSTRUCTED: Runs = &[(RECOMMENDED, &["three-states-from-construction"])];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C1",
        title: "Two layers end near the bigram strategy",
        statement: "A two-layer attention-only transformer trained on fresh chains ends close to the \
                    strategy that counts pairs, for both two and three states.",
        question: LEARNED,
        figure: 3,
        not_run: &[],
        parts: &[
            Part {
                role: Role::Core,
                on: "k = 2",
                place: "section 3.1, first paragraph; figure 12, by eye",
                measure: TO_BIGRAM,
                limit: Limit::AtLeast(0.75),
                why: NEAR,
                runs: TWO_STATES,
                sample: to_bigram,
            },
            Part {
                role: Role::Core,
                on: "k = 3",
                place: "section 3.1, first paragraph; figure 3",
                measure: TO_BIGRAM,
                limit: Limit::AtLeast(0.75),
                why: NEAR,
                runs: THREE_STATES,
                sample: to_bigram,
            },
            Part {
                role: Role::Probe,
                on: "k = 2",
                place: "does it come nearer than the authors' own runs?",
                measure: TO_BIGRAM,
                limit: Limit::AtLeast(0.9),
                why: "the limit of the first round",
                runs: TWO_STATES,
                sample: to_bigram,
            },
            Part {
                role: Role::Probe,
                on: "k = 3",
                place: "does it come nearer than the authors' own runs?",
                measure: TO_BIGRAM,
                limit: Limit::AtLeast(0.9),
                why: "the limit of the first round",
                runs: THREE_STATES,
                sample: to_bigram,
            },
            Part {
                role: Role::Probe,
                on: "k = 3, three heads in the second layer",
                place: "is one head the obstacle?",
                measure: TO_BIGRAM,
                limit: Limit::AtLeast(0.9),
                why: "the limit of the first round",
                runs: THREE_HEADS,
                sample: to_bigram,
            },
            Part {
                role: Role::Probe,
                on: "k = 3, trained from the hand-made construction",
                place: "is the loss that training minimises the obstacle?",
                measure: "change of the loss at the last position by training, in units of its value before",
                limit: Limit::AtLeast(0.0),
                why: "training averages the loss over all positions, the exam reads the last: if training \
                      makes the last one worse, the two pull apart",
                runs: CONSTRUCTED,
                sample: |results, runs| change(results, runs, |run| run.column(&KL_TRUTH)),
            },
            Part {
                role: Role::Probe,
                on: "k = 3, trained from the hand-made construction",
                place: "is the loss that training minimises the obstacle?",
                measure: "change of the loss at all positions by training, in units of its value before",
                limit: Limit::AtMost(0.0),
                why: "the mean over all positions is what training minimises",
                runs: CONSTRUCTED,
                sample: |results, runs| change(results, runs, |run| run.column(&KL_TRUTH_ALL)),
            },
        ],
        remark: |results| {
            let made = results.of("three-states-from-construction");
            if made.sound().next().is_none() {
                return String::new();
            }
            let ends = |column: fn(&Run) -> Vec<f64>| {
                [
                    made.median(|run| column(run).first().copied()),
                    made.median(|run| column(run).last().copied()),
                ]
            };
            let last = ends(|run| run.column(&KL_TRUTH));
            let all = ends(|run| run.column(&KL_TRUTH_ALL));
            let apart = match last[1] > last[0] && all[1] < all[0] {
                true => {
                    ": what training minimises is not what the exam reads, and the last position pays for the \
                     early ones, where counts are small"
                }
                false => "",
            };
            format!(
                "With three states, trained from the hand-made construction, the loss at the last position \
                 goes from {:.4} to {:.4} nats, and the mean over all positions from {:.4} to {:.4}{apart}.",
                last[0], last[1], all[0], all[1]
            )
        },
    },
    Claim {
        id: "C6",
        title: "One layer never passes unigrams",
        statement: "A single layer stays near the unigram level however long it is trained, with or without \
                    an MLP, with absolute or relative positions; two layers pass it in an eighth of the steps.",
        question: LEARNED,
        figure: 13,
        not_run: &[
            (PRINTED, PRINTED_COLLAPSE),
            (
                RELEASED,
                "one of the four one-layer models is trained there",
            ),
        ],
        parts: &[
            one_layer(
                "one layer, relative positions",
                &[
                    (RELEASED, &["released-one-layer"]),
                    (RECOMMENDED, &["one-layer-relative"]),
                ],
            ),
            one_layer(
                "one layer with an MLP, relative positions",
                &[(RECOMMENDED, &["one-layer-relative-mlp"])],
            ),
            one_layer(
                "one layer, absolute positions",
                &[(RECOMMENDED, &["one-layer-absolute"])],
            ),
            one_layer(
                "one layer with an MLP, absolute positions",
                &[(RECOMMENDED, &["one-layer-absolute-mlp"])],
            ),
            Part {
                role: Role::Core,
                on: "two layers, one eighth of the steps",
                place: "appendix C, caption of figure 13: eight times longer",
                measure: "fraction of the gap between the unigram and the bigram strategy's loss that it \
                          closed by step 2,000",
                limit: Limit::AtLeast(0.75),
                why: NEAR,
                runs: &[(RELEASED, &["released"]), (RECOMMENDED, &["main"])],
                sample: |results, runs| {
                    results.of(runs[0]).numbers(|run| {
                        let loss = run.column(&KL_TRUTH)[run.record_at(2000.0)];
                        let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
                        Some((unigram - loss) / (unigram - bigram))
                    })
                },
            },
            Part {
                role: Role::Probe,
                on: "one layer, relative positions",
                place: "does one layer do what counting symbols and knowing the current one allows?",
                measure: "loss at the end over the loss of the best predictor from symbol counts and the \
                          current symbol",
                limit: Limit::AtLeast(1.0),
                why: "a single layer sees counts and the current symbol, and little else",
                runs: &[
                    (RELEASED, &["released-one-layer"]),
                    (RECOMMENDED, &["one-layer-relative"]),
                ],
                sample: |results, runs| {
                    results.of(runs[0]).numbers(|run| {
                        let exam = run.exam()?;
                        Some(exam.loss / exam.level("unigram-and-current")?)
                    })
                },
            },
        ],
        remark: |results| {
            let one = results.of("one-layer-relative");
            let closed = one.median(|run| {
                let exam = run.exam()?;
                let [from, to] = [exam.level("unigram")?, exam.level("bigram")?];
                Some((from - exam.level("unigram-and-current")?) / (from - to))
            });
            match closed.is_finite() {
                false => String::new(),
                true => format!(
                    "One layer does pass the unigram strategy a little: whoever knows symbol counts and the \
                     current symbol can close {closed:.2} of the gap to bigrams without looking at a single \
                     pair. That is the fair line to compare one layer with, and figure 13 shows it."
                ),
            }
        },
    },
    Claim {
        id: "C12",
        title: "Trigrams: four stages; one head does not pass bigrams",
        statement: "On trigrams, a model with three heads per layer passes through uniform, unigram, bigram \
                    and trigram; with one head it stays at bigrams.",
        question: BEYOND,
        figure: 5,
        not_run: &[(RELEASED, "the release has no setting for trigrams")],
        parts: &[
            Part {
                role: Role::Core,
                on: "three heads",
                place: "caption of figure 5: 4 stages of learning",
                measure: "share of runs whose nearest strategies are, in this order, uniform, unigram, \
                          bigram, trigram",
                limit: Limit::AtLeast(0.5),
                why: "most runs, as for two states (C2)",
                runs: &[(PRINTED, &["printed-trigram"]), (RECOMMENDED, &["trigram"])],
                sample: |results, runs| {
                    stages(results, runs, &["uniform", "unigram", "bigram", "trigram"])
                },
            },
            Part {
                role: Role::Core,
                on: "three heads",
                place: "section 3.3 and caption of figure 5: converges close to the optimum",
                measure: "fraction of the gap between the bigram and the trigram strategy's loss that the \
                          final model closed, on fresh sequences",
                limit: Limit::AtLeast(0.75),
                why: "near means the same as in C1",
                runs: &[(PRINTED, &["printed-trigram"]), (RECOMMENDED, &["trigram"])],
                sample: to_trigram,
            },
            Part {
                role: Role::Probe,
                on: "three heads",
                place: "does it come nearer?",
                measure: "fraction of the gap between the bigram and the trigram strategy's loss that the \
                          final model closed, on fresh sequences",
                limit: Limit::AtLeast(0.8),
                why: "the limit of the first round",
                runs: &[(PRINTED, &["printed-trigram"]), (RECOMMENDED, &["trigram"])],
                sample: to_trigram,
            },
            Part {
                role: Role::Core,
                on: "one head",
                place: "section 3.3, last sentence but one: could not achieve better performance than bigrams",
                measure: "fraction of the gap between the bigram and the trigram strategy's loss that the \
                          final model closed, on fresh sequences",
                limit: Limit::AtMost(0.2),
                why: "kept from the first round: a fifth of the gap is hardly visible in a figure",
                runs: &[
                    (PRINTED, &["printed-trigram-one-head"]),
                    (RECOMMENDED, &["trigram-one-head"]),
                ],
                sample: to_trigram,
            },
        ],
        remark: nothing,
    },
    Claim {
        id: "C16",
        title: "The final model is near exact Bayes",
        statement: "The trained transformers come close to the best possible predictor that knows the prior: \
                    exact Bayes, not just counting pairs.",
        question: LEARNED,
        figure: 3,
        not_run: &[],
        parts: &[
            Part {
                role: Role::Core,
                on: "k = 2",
                place: "introduction, first finding; section 3.1",
                measure: TO_BAYES,
                limit: Limit::AtLeast(0.8),
                why: NEAR_BAYES,
                runs: TWO_STATES,
                sample: to_bayes,
            },
            Part {
                role: Role::Core,
                on: "k = 3",
                place: "introduction, first finding; section 3.1",
                measure: TO_BAYES,
                limit: Limit::AtLeast(0.8),
                why: NEAR_BAYES,
                runs: THREE_STATES,
                sample: to_bayes,
            },
            Part {
                role: Role::Probe,
                on: "k = 2",
                place: "does it come nearer than the authors' own runs?",
                measure: TO_BAYES,
                limit: Limit::AtLeast(0.95),
                why: "the limit of the first round",
                runs: TWO_STATES,
                sample: to_bayes,
            },
            Part {
                role: Role::Probe,
                on: "k = 3",
                place: "does it come nearer than the authors' own runs?",
                measure: TO_BAYES,
                limit: Limit::AtLeast(0.95),
                why: "the limit of the first round",
                runs: THREE_STATES,
                sample: to_bayes,
            },
        ],
        remark: nothing,
    },
];

const fn one_layer(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.1, first paragraph; appendix C, caption of figure 13",
        measure: TO_BIGRAM,
        limit: Limit::AtMost(0.25),
        why: "the best predictor from symbol counts and the current symbol, which looks at no pair, closes \
              0.20 of the gap (`induct eval --strategies`); a quarter leaves room for no more than that",
        runs,
        sample: to_bigram,
    }
}

fn to_trigram(results: &Results, runs: &[&str]) -> Sample {
    results
        .of(runs[0])
        .numbers(|run| run.exam()?.gap_closed("bigram", "trigram"))
}

/// The change of a loss from the first record to the last, in units of the first.
fn change(results: &Results, runs: &[&str], loss: fn(&Run) -> Vec<f64>) -> Sample {
    results.of(runs[0]).numbers(|run| {
        let losses = loss(run);
        Some(losses.last()? / losses.first()? - 1.0)
    })
}
