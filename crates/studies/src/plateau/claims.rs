//! What is claimed about the plateau, and how each claim is judged.

use super::measures::{
    EARLY_QUANTITIES, closed, dose_correlation, explained, formed, gradient_error, gumbel_wins,
    looks_back, ratio, recovery, remaining_wait, transition,
};
use crate::claim::{Claim, Limit, Part, Role};
use crate::results::Results;
use crate::statistics::Sample;

/// What the claims are about, in the order of the page.
pub const QUESTIONS: &[&str] = &[WAITS, WINDOW, SIMPLE, WHEN];

const WAITS: &str = "What does the model wait for?";
const WINDOW: &str = "What can go wrong at the start?";
const SIMPLE: &str = "Does the simpler solution delay the final one?";
const WHEN: &str = "When does it happen?";

/// All claims.
pub const CLAIMS: &[&[Claim]] = &[CLAIMED];

type Runs = &'static [(&'static str, &'static [&'static str])];

const PRINTED: &str = "printed";
const RELEASED: &str = "released";

/// The three transformers as they are, each beside one under an intervention.
macro_rules! pairs {
    ($name:literal) => {
        [
            (
                "k = 2",
                &[
                    (
                        PRINTED,
                        &["plateau-two", concat!("plateau-two", $name)] as &[&str],
                    ),
                    (
                        RELEASED,
                        &["plateau-released", concat!("plateau-released", $name)],
                    ),
                ] as Runs,
            ),
            (
                "k = 3",
                &[(
                    PRINTED,
                    &["plateau-three", concat!("plateau-three", $name)] as &[&str],
                )] as Runs,
            ),
        ]
    };
}

/// The same where the released model is trained with three states, too.
macro_rules! pairs_of_four {
    ($name:literal) => {
        [
            (
                "k = 2",
                &[
                    (
                        PRINTED,
                        &["plateau-two", concat!("plateau-two", $name)] as &[&str],
                    ),
                    (
                        RELEASED,
                        &["plateau-released", concat!("plateau-released", $name)],
                    ),
                ] as Runs,
            ),
            (
                "k = 3",
                &[
                    (
                        PRINTED,
                        &["plateau-three", concat!("plateau-three", $name)] as &[&str],
                    ),
                    (
                        RELEASED,
                        &[
                            "plateau-released-three",
                            concat!("plateau-released-three", $name),
                        ],
                    ),
                ] as Runs,
            ),
        ]
    };
}

/// The runs under one intervention.
macro_rules! alone {
    ($name:literal) => {
        [
            (
                "k = 2",
                &[
                    (PRINTED, &[concat!("plateau-two", $name)] as &[&str]),
                    (RELEASED, &[concat!("plateau-released", $name)]),
                ] as Runs,
            ),
            (
                "k = 3",
                &[(PRINTED, &[concat!("plateau-three", $name)] as &[&str])] as Runs,
            ),
        ]
    };
}

/// Transition over that of the same seed without the intervention.
const TIME: &str = "step of the transition (loss half way from the unigram to the bigram strategy's) over that of the \
                    same seed without the intervention";
const WAIT: &str = "steps from the intervention, 200 after the onset of unigrams took effect, to the transition; over \
                    those of the same seed without the intervention";

const fn clamped((on, runs): (&'static str, Runs)) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "layer 1 attends to the previous token from the start; the rest learns as ever",
        measure: TIME,
        limit: Limit::AtMost(0.5),
        why: "more than half of the wait is layer 1's",
        runs,
        sample: |results, runs| ratio(results, runs, transition),
    }
}

const fn clamped_at_the_end((on, runs): (&'static str, Runs)) -> Part {
    Part {
        role: Role::Probe,
        on,
        place: "is a perfect layer 1 better in the end?",
        measure: "fraction of the gap to bigrams closed at the end, over that of the same seed without the clamp",
        limit: Limit::AtLeast(0.95),
        why: "as good, within a twentieth",
        runs,
        sample: |results, runs| ratio(results, runs, closed),
    }
}

const fn full_dose((on, runs): (&'static str, Runs)) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "the paper, section 3: alignment of layers is crucial",
        measure: "step at which layer 1 gives a quarter of its attention to the previous token, with layer 2 at its \
                  final weights from the start; over that of the same seed without",
        limit: Limit::AtMost(0.75),
        why: "layer 1 learns at least a third faster",
        runs,
        sample: |results, runs| ratio(results, runs, looks_back),
    }
}

const fn monotone(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "the same as a dose and a response",
        measure: "rank correlation, by seed, of the fraction of layer 2's final weights at the start (0, a half, 1; with \
                  two states of the text's model also a quarter and three quarters) and the step of the transition",
        limit: Limit::AtMost(-0.8),
        why: "the larger the dose, the earlier, with hardly an exception",
        runs,
        sample: |results, runs| {
            let doses: &[f64] = match runs.len() {
                5 => &[0.0, 0.25, 0.5, 0.75, 1.0],
                _ => &[0.0, 0.5, 1.0],
            };
            dose_correlation(results, runs, doses, transition)
        },
    }
}

const FORMS: &str =
    "share of runs whose head forms: at the end, at least 0.75 of the gap to bigrams is closed";

const fn forms(
    role: Role,
    (on, runs): (&'static str, Runs),
    place: &'static str,
    limit: Limit,
    why: &'static str,
) -> Part {
    Part {
        role,
        on,
        place,
        measure: FORMS,
        limit,
        why,
        runs,
        sample: |results, runs| results.of(runs[0]).hits(formed),
    }
}

const FIRST_HUNDRED: &str = "layer 2 frozen for the first 100 of 4,000 steps";
const FIRST_LAYER: &str = "layer 1 frozen for the first 400 steps";
const LATER: &str = "layer 2 frozen from step 400 to 800";

const fn spoiled(at: (&'static str, Runs)) -> Part {
    forms(
        Role::Core,
        at,
        FIRST_HUNDRED,
        Limit::AtMost(0.5),
        "most runs are spoiled",
    )
}

const fn unharmed(at: (&'static str, Runs)) -> Part {
    forms(
        Role::Core,
        at,
        FIRST_LAYER,
        Limit::AtLeast(0.5),
        "most runs get over it",
    )
}

const fn past(at: (&'static str, Runs)) -> Part {
    forms(
        Role::Core,
        at,
        LATER,
        Limit::AtLeast(0.5),
        "the window is over for most runs",
    )
}

const fn probe(place: &'static str, limit: Limit, why: &'static str, runs: Runs) -> Part {
    forms(Role::Probe, ("k = 2", runs), place, limit, why)
}

const fn sooner((on, runs): (&'static str, Runs)) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "the paper, abstract: the simpler unigram solution may delay the final one",
        measure: TIME,
        limit: Limit::AtMost(0.9),
        why: "sooner by at least a tenth without what counts unigrams: the uniform part of layer 2's attention",
        runs,
        sample: |results, runs| ratio(results, runs, transition),
    }
}

const fn matching_counts((on, runs): (&'static str, Runs)) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "the paper, section 3: layer 2's weights are mostly final while its attention still differs; here its \
                queries and keys are set back to the start",
        measure: WAIT,
        limit: Limit::AtLeast(1.1),
        why: "if they were nearly final, it would cost at least a tenth of the wait to learn them again",
        runs,
        sample: remaining_wait,
    }
}

const fn waits_for_first((on, runs): (&'static str, Runs)) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "if layer 2 is nearly final, all that lacks is layer 1: it gets its final weights",
        measure: WAIT,
        limit: Limit::AtMost(0.33),
        why: "two thirds of what remains of the wait are gone",
        runs,
        sample: remaining_wait,
    }
}

const fn not_for_second((on, runs): (&'static str, Runs)) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "if layer 2 is nearly final, its final weights change little: it gets them",
        measure: WAIT,
        limit: Limit::AtLeast(0.75),
        why: "at least three quarters of what remains of the wait are still there",
        runs,
        sample: remaining_wait,
    }
}

const fn recovers(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Probe,
        on,
        place: "600 steps after bigrams: how long to learn again what is set back?",
        measure: "steps to come half way back to bigrams, over those from the start to the transition",
        limit: Limit::AtMost(0.5),
        why: "in half the time",
        runs,
        sample: recovery,
    }
}

const fn exact(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "theory: the gradient of the margin loss at the start, in closed form",
        measure: "distance between the gradient that one step of 16,384 sequences took and the exact one, over the \
                  size of the exact one",
        limit: Limit::AtMost(0.1),
        why: "what chance leaves in such a batch, generously",
        runs,
        sample: |results, runs| gradient_error(results.of(runs[0])),
    }
}

const TIMES: Runs = &[(PRINTED, &["plateau-times"])];

const fn law(place: &'static str, sample: fn(&Results, &[&str]) -> Sample) -> Part {
    Part {
        role: Role::Core,
        on: "k = 2",
        place,
        measure: "share of groups of 50 runs to whose transition times a Gumbel law gives the larger likelihood",
        limit: Limit::AtLeast(0.5),
        why: "in most groups",
        runs: TIMES,
        sample,
    }
}

const fn predicts(
    role: Role,
    place: &'static str,
    sample: fn(&Results, &[&str]) -> Sample,
) -> Part {
    Part {
        role,
        on: "k = 2",
        place,
        measure: "share of the variance of the ranks of transition times that it explains, in groups of 50 runs",
        limit: Limit::AtLeast(0.25),
        why: "at least a quarter: it would halve the guessing",
        runs: TIMES,
        sample,
    }
}

const NO_RELEASED_TIMES: (&str, &str) = (
    RELEASED,
    "a thousand runs of it take longer than all the rest together",
);

const CLAMPED: [(&str, Runs); 2] = pairs_of_four!("-clamped");
const DOSE: [(&str, Runs); 2] = pairs!("-dose-1.0");
const SPOILED: [(&str, Runs); 2] = alone!("-freeze-2-0-100");
const UNHARMED: [(&str, Runs); 2] = alone!("-freeze-1-0-400");
const PAST: [(&str, Runs); 2] = alone!("-freeze-2-400-800");
const WITHOUT: [(&str, Runs); 2] = pairs_of_four!("-without-uniform");
const RESET: [(&str, Runs); 2] = pairs!("-matching-reset");
const FIRST_FINAL: [(&str, Runs); 2] = pairs!("-first-final");
const SECOND_FINAL: [(&str, Runs); 2] = pairs!("-second-final");

const CLAIMED: &[Claim] = &[
    Claim {
        id: "C1",
        title: "Most of the plateau is layer 1's",
        statement: "With layer 1 clamped to the previous token from the start, the transition comes in less than half \
                    the steps: the plateau is mostly the time that layer 1 takes to look back.",
        question: WAITS,
        figure: 1,
        not_run: &[],
        parts: &[
            clamped(CLAMPED[0]),
            clamped(CLAMPED[1]),
            clamped_at_the_end(CLAMPED[0]),
            clamped_at_the_end(CLAMPED[1]),
        ],
        remark: nothing,
    },
    Claim {
        id: "C2",
        title: "The more layer 2 is aligned, the faster layer 1 learns",
        statement: "Started part of the way to its final weights, layer 2 speeds up layer 1 in proportion: the paper's \
                    sentence on alignment as a dose and a response.",
        question: WAITS,
        figure: 2,
        not_run: &[],
        parts: &[
            full_dose(DOSE[0]),
            full_dose(DOSE[1]),
            monotone(
                "k = 2",
                &[
                    (
                        PRINTED,
                        &[
                            "plateau-two",
                            "plateau-two-dose-0.25",
                            "plateau-two-dose-0.5",
                            "plateau-two-dose-0.75",
                            "plateau-two-dose-1.0",
                        ],
                    ),
                    (
                        RELEASED,
                        &[
                            "plateau-released",
                            "plateau-released-dose-0.5",
                            "plateau-released-dose-1.0",
                        ],
                    ),
                ],
            ),
            monotone(
                "k = 3",
                &[(
                    PRINTED,
                    &[
                        "plateau-three",
                        "plateau-three-dose-0.5",
                        "plateau-three-dose-1.0",
                    ],
                )],
            ),
        ],
        remark: nothing,
    },
    Claim {
        id: "C3",
        title: "There is a critical window for layer 2",
        statement: "Freezing layer 2 for only the first 100 of 4,000 steps keeps the induction head from forming well; \
                    freezing layer 1 for 400, or layer 2 later, does not.",
        question: WINDOW,
        figure: 3,
        not_run: &[],
        parts: &[
            spoiled(SPOILED[0]),
            spoiled(SPOILED[1]),
            unharmed(UNHARMED[0]),
            unharmed(UNHARMED[1]),
            past(PAST[0]),
            past(PAST[1]),
            probe(
                "layer 2's values alone frozen for 100 steps",
                Limit::AtMost(0.5),
                "as bad as the whole layer: what it cannot do is copy",
                &[(PRINTED, &["plateau-two-freeze-values"])],
            ),
            probe(
                "layer 2's queries, keys and positions frozen for 100 steps",
                Limit::AtLeast(0.5),
                "harmless: what it looks for does not matter yet",
                &[(PRINTED, &["plateau-two-freeze-scores"])],
            ),
            probe(
                "both layers frozen for 100 steps",
                Limit::AtLeast(0.5),
                "harmless: neither gets ahead of the other",
                &[(PRINTED, &["plateau-two-freeze-both"])],
            ),
            probe(
                "rescue: layer 1 set back when layer 2 thaws",
                Limit::AtLeast(0.5),
                "what layer 1 has learned is the harm",
                &[(PRINTED, &["plateau-two-rescued-by-reset"])],
            ),
            probe(
                "rescue: layer 1 does not reach the logits while layer 2 is frozen",
                Limit::AtLeast(0.5),
                "copying is what it has learned",
                &[(PRINTED, &["plateau-two-rescued-by-block"])],
            ),
            probe(
                "nothing frozen, but layer 1 never reaches the logits",
                Limit::AtLeast(0.5),
                "is layer 1's direct path needed at all?",
                &[(PRINTED, &["plateau-two-blocked"])],
            ),
        ],
        remark: nothing,
    },
    Claim {
        id: "C4",
        title: "Without unigrams the transition comes sooner",
        statement: "If layer 2 cannot count symbols, because the uniform part of its attention is left out, the \
                    induction head forms earlier.",
        question: SIMPLE,
        figure: 4,
        not_run: &[],
        parts: &[
            sooner(WITHOUT[0]),
            sooner(WITHOUT[1]),
            probe(
                "without the uniform part in both layers",
                Limit::AtLeast(0.5),
                "can it be learned without any uniform attention?",
                &[(PRINTED, &["plateau-two-without-uniform-anywhere"])],
            ),
        ],
        remark: nothing,
    },
    Claim {
        id: "C5",
        title: "On the plateau, layer 2 is nearly final",
        statement: "On the plateau layer 2 has learned most of what it will know, and waits for layer 1.",
        question: WAITS,
        figure: 5,
        not_run: &[],
        parts: &[
            matching_counts(RESET[0]),
            matching_counts(RESET[1]),
            waits_for_first(FIRST_FINAL[0]),
            waits_for_first(FIRST_FINAL[1]),
            not_for_second(SECOND_FINAL[0]),
            not_for_second(SECOND_FINAL[1]),
            recovers(
                "layer 2's queries and keys",
                &[(PRINTED, &["plateau-two-matching-reset-late"])],
            ),
            recovers("layer 1", &[(PRINTED, &["plateau-two-first-reset-late"])]),
        ],
        remark: nothing,
    },
    Claim {
        id: "C6",
        title: "The minimal model does what theory says, clamped or not",
        statement: "In the minimal model the measured gradient is the exact one, with M free and with M clamped to the \
                    previous token; clamped, it learns bigrams in less than half the steps.",
        question: WAITS,
        figure: 6,
        not_run: &[(RELEASED, "the released minimal model sees the future")],
        parts: &[
            exact("M free", &[(PRINTED, &["plateau-minimal-gradient"])]),
            exact(
                "M clamped",
                &[(PRINTED, &["plateau-minimal-clamped-gradient"])],
            ),
            clamped((
                "k = 2",
                &[(PRINTED, &["minimal", "plateau-minimal-clamped"])],
            )),
        ],
        remark: nothing,
    },
    Claim {
        id: "C7",
        title: "Transition times follow a Gumbel law, and are decided early",
        statement: "The steps that runs take to bigrams follow the law of the largest of many waiting times, and a \
                    quantity that is known by step 300 tells a good part of them.",
        question: WHEN,
        figure: 7,
        not_run: &[NO_RELEASED_TIMES],
        parts: &[
            law("against a normal law", |results, runs| {
                gumbel_wins(results.of(runs[0]), true)
            }),
            law("against a lognormal law", |results, runs| {
                gumbel_wins(results.of(runs[0]), false)
            }),
            predicts(Role::Core, EARLY_QUANTITIES[0].label, |results, runs| {
                explained(results.of(runs[0]), EARLY_QUANTITIES[0].of)
            }),
            predicts(Role::Probe, EARLY_QUANTITIES[1].label, |results, runs| {
                explained(results.of(runs[0]), EARLY_QUANTITIES[1].of)
            }),
            predicts(Role::Probe, EARLY_QUANTITIES[2].label, |results, runs| {
                explained(results.of(runs[0]), EARLY_QUANTITIES[2].of)
            }),
            predicts(Role::Probe, EARLY_QUANTITIES[3].label, |results, runs| {
                explained(results.of(runs[0]), EARLY_QUANTITIES[3].of)
            }),
            predicts(Role::Probe, EARLY_QUANTITIES[4].label, |results, runs| {
                explained(results.of(runs[0]), EARLY_QUANTITIES[4].of)
            }),
        ],
        remark: nothing,
    },
];

/// No remark.
fn nothing(_: &Results) -> String {
    String::new()
}
