//! What is claimed about the plateau, and how each claim is judged.

use super::measures::{
    EARLY_QUANTITIES, closed, explained, formed, gradient_error, gumbel_wins, looks_back,
    over_free, recovery, remaining_wait, transition,
};
use crate::claim::Limit::{AtLeast, AtMost};
use crate::claim::{Claim, Part, Runs};
use crate::statistics::{Statistic, trend};

/// What the claims are about, in the order of the page.
pub const QUESTIONS: &[&str] = &[WAITS, WINDOW, SIMPLE, WHEN];

const WAITS: &str = "What does the model wait for?";
const WINDOW: &str = "What can go wrong at the start?";
const SIMPLE: &str = "Does the simpler solution delay the final one?";
const WHEN: &str = "When does it happen?";

/// All claims.
pub const CLAIMS: &[&[Claim]] = &[CLAIMED];

const PRINTED: &str = "printed";
const RELEASED: &str = "released";

/// The transformers with two and with three states, with these endings of their experiments' names.
macro_rules! transformers {
    ($endings:literal $(, and $released_three:literal)?) => {
        &[
            &[
                (PRINTED, concat!("plateau-two", $endings)),
                (RELEASED, concat!("plateau-released", $endings)),
            ],
            &[
                (PRINTED, concat!("plateau-three", $endings)),
                $((RELEASED, concat!($released_three, $endings)),)?
            ],
        ]
    };
}

const CLAMPED: &[Runs] = transformers!("{,-clamped}", and "plateau-released-three");
const TIMES: &[Runs] = &[&[(PRINTED, "plateau-times")]];

const CLAIMED: &[Claim] = &[
    Claim {
        id: "C1",
        title: "Most of the plateau is layer 1's",
        statement: "With layer 1 clamped to the previous token from the start, the transition comes in less than half \
                    the steps: the plateau is mostly the time that layer 1 takes to look back.",
        question: WAITS,
        figure: 1,
        core: &[Part {
            on: "k = {2,3}",
            runs: CLAMPED,
            ..SOONER_CLAMPED
        }],
        probes: &[Part {
            on: "k = {2,3}",
            place: "is a perfect layer 1 better in the end?",
            statistic: Statistic::experiments(
                "fraction of the gap to bigrams closed at the end, over that of the same seed without the clamp",
                |of| over_free(of, closed),
            ),
            limit: AtLeast(0.95),
            why: "as good, within a twentieth",
            runs: CLAMPED,
        }],
        ..Claim::BARE
    },
    Claim {
        id: "C2",
        title: "The more layer 2 is aligned, the faster layer 1 learns",
        statement: "Started part of the way to its final weights, layer 2 speeds up layer 1 in proportion: the paper's \
                    sentence on alignment as a dose and a response.",
        question: WAITS,
        figure: 2,
        core: &[
            Part {
                on: "k = {2,3}",
                place: "the paper, section 3: alignment of layers is crucial",
                statistic: Statistic::experiments(
                    "step at which layer 1 gives a quarter of its attention to the previous token, with layer 2 at its \
                     final weights from the start; over that of the same seed without",
                    |of| over_free(of, looks_back),
                ),
                limit: AtMost(0.75),
                why: "layer 1 learns at least a third faster",
                runs: transformers!("{,-dose-1.0}"),
            },
            Part {
                on: "k = {2,3}",
                place: "the same as a dose and a response",
                statistic: Statistic::experiments(
                    "rank correlation, by seed, of the fraction of layer 2's final weights at the start (0, a half, 1; \
                     with two states of the text's model also a quarter and three quarters) and the step of the \
                     transition",
                    |of| {
                        let doses: &[f64] = match of.len() {
                            5 => &[0.0, 0.25, 0.5, 0.75, 1.0],
                            _ => &[0.0, 0.5, 1.0],
                        };
                        // A run without a transition counts as the slowest.
                        trend(of, doses, |run| Some(transition(run).unwrap_or(f64::MAX)))
                    },
                ),
                limit: AtMost(-0.8),
                why: "the larger the dose, the earlier, with hardly an exception",
                runs: &[
                    &[
                        (
                            PRINTED,
                            "plateau-two{,-dose-0.25,-dose-0.5,-dose-0.75,-dose-1.0}",
                        ),
                        (RELEASED, "plateau-released{,-dose-0.5,-dose-1.0}"),
                    ],
                    &[(PRINTED, "plateau-three{,-dose-0.5,-dose-1.0}")],
                ],
            },
        ],
        ..Claim::BARE
    },
    Claim {
        id: "C3",
        title: "There is a critical window for layer 2",
        statement: "Freezing layer 2 for only the first 100 of 4,000 steps keeps the induction head from forming well; \
                    freezing layer 1 for 400, or layer 2 later, does not.",
        question: WINDOW,
        figure: 3,
        core: &[
            Part {
                on: "k = {2,3}",
                place: "layer 2 frozen for the first 100 of 4,000 steps",
                limit: AtMost(0.5),
                why: "most runs are spoiled",
                runs: transformers!("-freeze-2-0-100"),
                ..FORMS
            },
            Part {
                on: "k = {2,3}",
                place: "layer 1 frozen for the first 400 steps",
                why: "most runs get over it",
                runs: transformers!("-freeze-1-0-400"),
                ..FORMS
            },
            Part {
                on: "k = {2,3}",
                place: "layer 2 frozen from step 400 to 800",
                why: "the window is over for most runs",
                runs: transformers!("-freeze-2-400-800"),
                ..FORMS
            },
        ],
        probes: &[
            Part {
                place: "layer 2's values alone frozen for 100 steps",
                limit: AtMost(0.5),
                why: "as bad as the whole layer: what it cannot do is copy",
                runs: &[&[(PRINTED, "plateau-two-freeze-values")]],
                ..FORMS
            },
            Part {
                place: "layer 2's queries, keys and positions frozen for 100 steps",
                why: "harmless: what it looks for does not matter yet",
                runs: &[&[(PRINTED, "plateau-two-freeze-scores")]],
                ..FORMS
            },
            Part {
                place: "both layers frozen for 100 steps",
                why: "harmless: neither gets ahead of the other",
                runs: &[&[(PRINTED, "plateau-two-freeze-both")]],
                ..FORMS
            },
            Part {
                place: "rescue: layer 1 set back when layer 2 thaws",
                why: "what layer 1 has learned is the harm",
                runs: &[&[(PRINTED, "plateau-two-rescued-by-reset")]],
                ..FORMS
            },
            Part {
                place: "rescue: layer 1 does not reach the logits while layer 2 is frozen",
                why: "copying is what it has learned",
                runs: &[&[(PRINTED, "plateau-two-rescued-by-block")]],
                ..FORMS
            },
            Part {
                place: "nothing frozen, but layer 1 never reaches the logits",
                why: "is layer 1's direct path needed at all?",
                runs: &[&[(PRINTED, "plateau-two-blocked")]],
                ..FORMS
            },
        ],
        ..Claim::BARE
    },
    Claim {
        id: "C4",
        title: "Without unigrams the transition comes sooner",
        statement: "If layer 2 cannot count symbols, because the uniform part of its attention is left out, the \
                    induction head forms earlier.",
        question: SIMPLE,
        figure: 4,
        core: &[Part {
            on: "k = {2,3}",
            place: "the paper, abstract: the simpler unigram solution may delay the final one",
            statistic: TIME,
            limit: AtMost(0.9),
            why: "sooner by at least a tenth without what counts unigrams: the uniform part of layer 2's attention",
            runs: transformers!("{,-without-uniform}", and "plateau-released-three"),
        }],
        probes: &[Part {
            place: "without the uniform part in both layers",
            why: "can it be learned without any uniform attention?",
            runs: &[&[(PRINTED, "plateau-two-without-uniform-anywhere")]],
            ..FORMS
        }],
        ..Claim::BARE
    },
    Claim {
        id: "C5",
        title: "On the plateau, layer 2 is nearly final",
        statement: "On the plateau layer 2 has learned most of what it will know, and waits for layer 1.",
        question: WAITS,
        figure: 5,
        core: &[
            Part {
                on: "k = {2,3}",
                place: "the paper, section 3: layer 2's weights are mostly final while its attention still differs; here \
                        its queries and keys are set back to the start",
                statistic: WAIT,
                limit: AtLeast(1.1),
                why: "if they were nearly final, it would cost at least a tenth of the wait to learn them again",
                runs: transformers!("{,-matching-reset}"),
            },
            Part {
                on: "k = {2,3}",
                place: "if layer 2 is nearly final, all that lacks is layer 1: it gets its final weights",
                statistic: WAIT,
                limit: AtMost(0.33),
                why: "two thirds of what remains of the wait are gone",
                runs: transformers!("{,-first-final}"),
            },
            Part {
                on: "k = {2,3}",
                place: "if layer 2 is nearly final, its final weights change little: it gets them",
                statistic: WAIT,
                limit: AtLeast(0.75),
                why: "at least three quarters of what remains of the wait are still there",
                runs: transformers!("{,-second-final}"),
            },
        ],
        probes: &[Part {
            on: "{layer 2's queries and keys,layer 1}",
            place: "600 steps after bigrams: how long to learn again what is set back?",
            statistic: Statistic::model(
                "steps to come half way back to bigrams, over those from the start to the transition",
                recovery,
            ),
            limit: AtMost(0.5),
            why: "in half the time",
            runs: &[
                &[(PRINTED, "plateau-two-matching-reset-late")],
                &[(PRINTED, "plateau-two-first-reset-late")],
            ],
        }],
        ..Claim::BARE
    },
    Claim {
        id: "C6",
        title: "The minimal model does what theory says, clamped or not",
        statement: "In the minimal model the measured gradient is the exact one, with M free and with M clamped to the \
                    previous token; clamped, it learns bigrams in less than half the steps.",
        question: WAITS,
        figure: 6,
        not_run: &[(RELEASED, "the released minimal model sees the future")],
        core: &[
            Part {
                on: "M {free,clamped}",
                place: "theory: the gradient of the margin loss at the start, in closed form",
                statistic: Statistic::experiments(
                    "distance between the gradient that one step of 16,384 sequences took and the exact one, over the \
                     size of the exact one",
                    |of| gradient_error(of[0]),
                ),
                limit: AtMost(0.1),
                why: "what chance leaves in such a batch, generously",
                runs: &[
                    &[(PRINTED, "plateau-minimal-gradient")],
                    &[(PRINTED, "plateau-minimal-clamped-gradient")],
                ],
            },
            Part {
                runs: &[&[(PRINTED, "{minimal,plateau-minimal-clamped}")]],
                ..SOONER_CLAMPED
            },
        ],
        ..Claim::BARE
    },
    Claim {
        id: "C7",
        title: "Transition times follow a Gumbel law, and are decided early",
        statement: "The steps that runs take to bigrams follow the law of the largest of many waiting times, and a \
                    quantity that is known by step 300 tells a good part of them.",
        question: WHEN,
        figure: 7,
        not_run: &[(
            RELEASED,
            "a thousand runs of it take longer than all the rest together",
        )],
        core: &[
            Part {
                on: "k = 2",
                place: "against a normal law",
                statistic: Statistic::experiments(GUMBEL_WINS, |of| gumbel_wins(of[0], true)),
                limit: AtLeast(0.5),
                why: "in most groups",
                runs: TIMES,
            },
            Part {
                on: "k = 2",
                place: "against a lognormal law",
                statistic: Statistic::experiments(GUMBEL_WINS, |of| gumbel_wins(of[0], false)),
                limit: AtLeast(0.5),
                why: "in most groups",
                runs: TIMES,
            },
            predicts::<0>(),
        ],
        probes: &[
            predicts::<1>(),
            predicts::<2>(),
            predicts::<3>(),
            predicts::<4>(),
        ],
        ..Claim::BARE
    },
];

const SOONER_CLAMPED: Part = Part {
    on: "k = 2",
    place: "layer 1 attends to the previous token from the start; the rest learns as ever",
    statistic: TIME,
    limit: AtMost(0.5),
    why: "more than half of the wait is layer 1's",
    runs: &[],
};

const FORMS: Part = Part {
    on: "k = 2",
    place: "",
    statistic: Statistic::share(
        "share of runs whose head forms: at the end, at least 0.75 of the gap to bigrams is closed",
        formed,
    ),
    limit: AtLeast(0.5),
    why: "",
    runs: &[],
};

const TIME: Statistic = Statistic::experiments(
    "step of the transition (loss half way from the unigram to the bigram strategy's) over that of the same seed \
     without the intervention",
    |of| over_free(of, transition),
);

const WAIT: Statistic = Statistic::experiments(
    "steps from the intervention, 200 after the onset of unigrams took effect, to the transition; over those of the \
     same seed without the intervention",
    remaining_wait,
);

const GUMBEL_WINS: &str =
    "share of groups of 50 runs to whose transition times a Gumbel law gives the larger likelihood";

/// What an early quantity tells of the transition.
const fn predicts<const EARLY: usize>() -> Part {
    Part {
        on: "k = 2",
        place: EARLY_QUANTITIES[EARLY].label,
        statistic: Statistic::experiments(
            "share of the variance of the ranks of transition times that it explains, in groups of 50 runs",
            |of| explained(of[0], EARLY_QUANTITIES[EARLY].of),
        ),
        limit: AtLeast(0.25),
        why: "at least a quarter: it would halve the guessing",
        runs: TIMES,
    }
}
