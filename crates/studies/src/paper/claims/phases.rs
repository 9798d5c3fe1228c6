//! Claims about phases: which ones there are, their order, and how they begin and end.

use induct::measure::{KL_TRUTH, PREVIOUS_TOKEN};
use induct::probe::median;

use super::{
    BEYOND, PHASES, PRINTED, PRINTED_COLLAPSE, RECOMMENDED, RELEASED, Runs, THREE_STATES,
    TWO_STATES, nothing,
};
use crate::claim::{Claim, Limit, Part, Role};
use crate::results::{Results, Trained};
use crate::run::Run;
use crate::statistics::Sample;

const IN_ORDER: &str =
    "share of runs whose nearest strategies are, in this order, uniform, unigram, bigram";
const PLATEAU_LEVEL: &str = "distance between the median loss of the unigram phase and the loss of the \
                             unigram strategy, as a fraction of the range of the figure (from the bigram \
                             strategy's loss to that of uniform predictions)";
const CLOSER_TO_UNIGRAM: &str =
    "KL(unigram ‖ model) over KL(bigram ‖ model), in the middle of the plateau";
const STEEPNESS: &str = "rate of decrease of the loss in the drop (from a tenth to nine tenths) over its rate \
                         in the second half of the plateau (which ends when a tenth of the drop is complete)";
const DURATION: &str = "length of the plateau in steps (from the onset of unigrams to a tenth of the drop) \
                        over the length of the drop (from a tenth to nine tenths)";
const APART: &str = "share of runs in which, from a tenth to nine tenths of the second drop, KL(unigram ‖ \
                     model) rises and KL(bigram ‖ model) falls";
const ALIGNED: &str = "distance of a run's loss from the median over the others, with time in units of each run's \
                       own transition (root mean square up to twice that time), as a fraction of the gap \
                       between unigram and bigram";

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C2",
        title: "Uniform, then unigram, then bigram",
        statement: "The model first predicts uniformly, then from the frequencies of single symbols, then \
                    from those of pairs.",
        question: PHASES,
        figure: 1,
        not_run: &[],
        parts: &[
            in_order("k = 2", TWO_STATES),
            in_order("k = 3", THREE_STATES),
            in_order_mostly("k = 2", TWO_STATES),
            in_order_mostly("k = 3", THREE_STATES),
        ],
        remark: nothing,
    },
    Claim {
        id: "C3",
        title: "The plateau is the unigram strategy",
        statement: "Between its two drops, the loss stays near the level of the unigram strategy, and the \
                    predictions are close to those of that strategy.",
        question: PHASES,
        figure: 3,
        not_run: &[],
        parts: &[
            plateau_level("k = 2", TWO_STATES),
            plateau_level("k = 3", THREE_STATES),
            closer_to_unigram("k = 2", TWO_STATES),
            closer_to_unigram("k = 3", THREE_STATES),
            relative_level("k = 2", TWO_STATES),
            relative_level("k = 3", THREE_STATES),
            smallest_distance("k = 2", TWO_STATES),
            smallest_distance("k = 3", THREE_STATES),
            Part {
                role: Role::Probe,
                on: "k = 2",
                place: "is the plateau explained by symbol counts and the current symbol?",
                measure: "median loss of the unigram phase over the loss of the best predictor from symbol \
                          counts and the current symbol",
                limit: Limit::AtLeast(1.0),
                why: "below it, the model must have looked at pairs",
                runs: TWO_STATES,
                sample: |results, runs| {
                    results.of(runs[0]).numbers(|run| {
                        let exam = run.exam()?;
                        // Both relative to unigram, each on its own sequences.
                        let plateau = run.fall_from("unigram")?.plateau / run.level("unigram");
                        let fair = exam.level("unigram-and-current")? / exam.level("unigram")?;
                        Some(plateau / fair)
                    })
                },
            },
        ],
        remark: |results| {
            let main = results.of("main");
            let off = main
                .median(|run| Some(run.fall_from("unigram")?.plateau / run.level("unigram") - 1.0));
            let fair = main.median(|run| {
                let exam = run.exam()?;
                Some(exam.level("unigram-and-current")? / exam.level("unigram")? - 1.0)
            });
            match off.is_finite() && fair.is_finite() {
                false => String::new(),
                true => format!(
                    "With two states the plateau lies {:.0} % below the unigram strategy's loss. The best \
                     predictor from symbol counts and the current symbol, which looks at no pair, lies {:.0} % \
                     below it.",
                    -100.0 * off,
                    -100.0 * fair
                ),
            }
        },
    },
    Claim {
        id: "C4",
        title: "The second drop is sudden",
        statement: "The fall from the unigram to the bigram level is short and steep compared with the \
                    plateau before it.",
        question: PHASES,
        figure: 8,
        not_run: &[],
        parts: &[
            steepness("k = 2", TWO_STATES),
            steepness("k = 3", THREE_STATES),
            duration("k = 2", TWO_STATES),
            duration("k = 3", THREE_STATES),
        ],
        remark: nothing,
    },
    Claim {
        id: "C13",
        title: "Seeds agree, up to the moment of the transition",
        statement: "Runs with different seeds follow the same course; only the time of the transition \
                    differs.",
        question: PHASES,
        figure: 8,
        not_run: &[],
        parts: &[
            Part {
                role: Role::Core,
                on: "k = 2",
                place: "appendix B, caption of figure 8: the dynamics are consistent (the sentence on the moment breaks off)",
                measure: ALIGNED,
                limit: Limit::AtMost(0.1),
                why: "kept from the first round: a tenth of the drop",
                runs: TWO_STATES,
                sample: |results, runs| aligned(results.of(runs[0])),
            },
            Part {
                role: Role::Probe,
                on: "k = 2",
                place: "how much does the moment differ?",
                measure: "distance of the transition's step from its median over runs, relative to that \
                          median",
                limit: Limit::AtMost(0.25),
                why: "kept from the first round",
                runs: TWO_STATES,
                sample: |results, runs| {
                    let trained = results.of(runs[0]);
                    let usual = trained.median(|run| run.onset("bigram"));
                    trained.numbers(|run| Some((run.onset("bigram")? / usual - 1.0).abs()))
                },
            },
        ],
        remark: nothing,
    },
    Claim {
        id: "C14",
        title: "More states behave alike",
        statement: "With five and eight states and a longer context, the loss has the same plateau and the \
                    same drop, made by the same heads.",
        question: BEYOND,
        figure: 9,
        not_run: &[
            (PRINTED, PRINTED_COLLAPSE),
            (
                RELEASED,
                "the release has no setting for more than three states",
            ),
        ],
        parts: &[
            plateau_then_drop("k = 5", &[(RECOMMENDED, &["five-states"])]),
            plateau_then_drop("k = 8", &[(RECOMMENDED, &["eight-states"])]),
            previous_token("k = 5", &[(RECOMMENDED, &["five-states"])]),
            previous_token("k = 8", &[(RECOMMENDED, &["eight-states"])]),
            near_bigram("k = 5", &[(RECOMMENDED, &["five-states"])]),
            near_bigram("k = 8", &[(RECOMMENDED, &["eight-states"])]),
            near_bigram(
                "k = 8, two heads in the second layer",
                &[(RECOMMENDED, &["eight-states-two-heads"])],
            ),
        ],
        remark: |results| {
            let nearest = |id: &str| {
                let runs: Vec<Vec<String>> = results.of(id).sound().map(Run::order).collect();
                let never = runs
                    .iter()
                    .filter(|order| !order.contains(&"unigram".into()));
                (never.count(), runs.len())
            };
            let (never, of) = nearest("eight-states");
            match of {
                0 => String::new(),
                _ => format!(
                    "With eight states the nearest strategy misleads: in {never} of {of} runs unigrams are \
                     never the nearest, since uniform predictions are almost as near. So phases are read \
                     from the loss here, and the mechanism from the heads."
                ),
            }
        },
    },
    Claim {
        id: "C17",
        title: "At the second drop the model leaves one strategy for the other",
        statement: "Around the second drop, the distance to the bigram strategy falls while the distance to \
                    the unigram strategy rises.",
        question: PHASES,
        figure: 3,
        not_run: &[],
        parts: &[apart("k = 2", TWO_STATES), apart("k = 3", THREE_STATES)],
        remark: nothing,
    },
];

const fn in_order(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "abstract; caption of figure 1",
        measure: IN_ORDER,
        limit: Limit::AtLeast(0.5),
        why: "most runs; no number of seeds can show that every run does it, and with the eight seeds that slow \
              variants can afford, eight of eight show no more than this",
        runs,
        sample: |results, runs| stages(results, runs, &["uniform", "unigram", "bigram"]),
    }
}

const fn in_order_mostly(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Probe,
        limit: Limit::AtLeast(0.8),
        place: "is it so in four runs of five?",
        why: "the limit of the first round",
        ..in_order(on, runs)
    }
}

/// The share of runs whose phases are exactly these.
pub(super) fn stages(results: &Results, runs: &[&str], phases: &[&str]) -> Sample {
    results.of(runs[0]).hits(|run| run.order() == phases)
}

const fn plateau_level(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.1, second paragraph: the plateau reaches the unigram baseline",
        measure: PLATEAU_LEVEL,
        limit: Limit::AtMost(0.1),
        why: "the paper reads it off a figure; a tenth of the figure's range is what an eye can tell, and \
              as much as the error of reading the authors' curves (0.02 of 0.2 nats)",
        runs,
        sample: |results, runs| {
            results.of(runs[0]).numbers(|run| {
                let range = run.level("uniform") - run.level("bigram");
                Some((run.fall_from("unigram")?.plateau - run.level("unigram")).abs() / range)
            })
        },
    }
}

const fn relative_level(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Probe,
        on,
        place: "how near, relative to the level?",
        measure: "relative difference between the median loss of the unigram phase and the loss of the unigram \
                  strategy",
        limit: Limit::AtMost(0.15),
        why: "measure and limit of the first round",
        runs,
        sample: |results, runs| {
            results.of(runs[0]).numbers(|run| {
                Some((run.fall_from("unigram")?.plateau / run.level("unigram") - 1.0).abs())
            })
        },
    }
}

const fn smallest_distance(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Probe,
        on,
        place: "how near do predictions come?",
        measure: "smallest KL(unigram ‖ model) during training, relative to its value at the start",
        limit: Limit::AtMost(0.1),
        why: "measure and limit of the first round",
        runs,
        sample: |results, runs| {
            results.of(runs[0]).numbers(|run| {
                let distances = run.distance("unigram");
                let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
                Some(least / distances.first()?)
            })
        },
    }
}

const fn closer_to_unigram(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.1, second paragraph: the unigram solution being significantly lower",
        measure: CLOSER_TO_UNIGRAM,
        limit: Limit::AtMost(0.5),
        why: "significantly lower: half or less",
        runs,
        sample: |results, runs| {
            results.of(runs[0]).numbers(|run| {
                let at = run.record_at(run.fall_from("unigram")?.on_plateau());
                Some(run.distance("unigram")[at] / run.distance("bigram")[at])
            })
        },
    }
}

const fn steepness(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "abstract: a rapid phase transition; section 3.1: only slight improvement before",
        measure: STEEPNESS,
        limit: Limit::AtLeast(5.0),
        why: "five times as steep, as in the first round; the second half of the plateau ends with a tenth \
              of the drop, so that its rate cannot come near zero, as that of its middle half can",
        runs,
        sample: |results, runs| {
            results.of(runs[0]).numbers(|run| {
                let fall = run.fall_from("unigram")?;
                let drop = 0.8 * (fall.plateau - fall.reached) / (fall.end - fall.start);
                let losses = run.column(&KL_TRUTH);
                let at = |step: f64| losses[run.record_at(step)];
                let middle = fall.on_plateau();
                let plateau = (at(middle) - at(fall.start)) / (fall.start - middle);
                Some(if plateau > 0.0 {
                    drop / plateau
                } else {
                    f64::INFINITY
                })
            })
        },
    }
}

const fn duration(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.1, first paragraph: a long period before a second rapid drop",
        measure: DURATION,
        limit: Limit::AtLeast(2.0),
        why: "kept from the first round: long and rapid, one against the other, means at least twice",
        runs,
        sample: |results, runs| results.of(runs[0]).numbers(plateau_over_drop),
    }
}

/// How many times as long as the drop the plateau lasts.
fn plateau_over_drop(run: &Run) -> Option<f64> {
    let fall = run.fall_from("unigram")?;
    Some((fall.start - fall.onset) / (fall.end - fall.start))
}

const fn apart(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "section 3.1, second paragraph: one decreases, the other one increases",
        measure: APART,
        limit: Limit::AtLeast(0.5),
        why: "most runs, as for the order of phases (C2)",
        runs,
        sample: |results, runs| {
            results.of(runs[0]).hits(|run| {
                let Some(fall) = run.fall_from("unigram") else {
                    return false;
                };
                let [from, to] = [fall.start, fall.end].map(|step| run.record_at(step));
                let change = |strategy: &str| {
                    let distances = run.distance(strategy);
                    distances[to] - distances[from]
                };
                change("unigram") > 0.0 && change("bigram") < 0.0
            })
        },
    }
}

const fn plateau_then_drop(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "appendix B, caption of figure 9 (which names no k): a plateau before the final drop",
        measure: "share of runs whose loss, once it has come within a tenth of the unigram–bigram gap of the \
                  unigram level, stays there for at least as long as its drop then takes (from a tenth to nine \
                  tenths), and ends below the middle of that gap",
        limit: Limit::AtLeast(0.5),
        why: "read from the loss, since with many states the nearest strategy misleads; most runs, as for \
              two states (C2)",
        runs,
        sample: |results, runs| results.of(runs[0]).hits(has_plateau_then_drop),
    }
}

/// By the loss alone: the plateau lasts from when the loss is first near the unigram level until a tenth of the
/// fall from there is complete.
fn has_plateau_then_drop(run: &Run) -> bool {
    let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
    let (steps, losses) = (run.steps(), run.column(&KL_TRUTH));
    let Some(&reached) = losses.last() else {
        return false;
    };
    let complete_for_good = |share: f64| {
        let level = unigram - share * (unigram - reached);
        let last_above = losses.iter().rposition(|&loss| loss > level)?;
        steps.get(last_above + 1).copied()
    };
    let near = run.first(&KL_TRUTH, |loss| loss <= unigram + 0.1 * (unigram - bigram));
    let times = (near, complete_for_good(0.1), complete_for_good(0.9));
    let (Some(near), Some(start), Some(end)) = times else {
        return false;
    };
    reached < 0.5 * (unigram + bigram) && start - near >= end - start
}

const fn previous_token(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Core,
        on,
        place: "appendix B, caption of figure 9: our results extend to more symbols",
        measure: "mean attention of the first layer to the previous token, at the end",
        limit: Limit::AtLeast(0.5),
        why: "as for the same head with fewer states (C5)",
        runs,
        sample: |results, runs| {
            results
                .of(runs[0])
                .numbers(|run| run.best_head(&PREVIOUS_TOKEN, 0))
        },
    }
}

const fn near_bigram(on: &'static str, runs: Runs) -> Part {
    Part {
        role: Role::Probe,
        on,
        place: "the paper does not say how near",
        measure: "fraction of the gap between the unigram and the bigram strategy's loss that the final \
                  model closed, on fresh sequences",
        limit: Limit::AtLeast(0.75),
        why: "near means the same as in C1",
        runs,
        sample: |results, runs| {
            results
                .of(runs[0])
                .numbers(|run| run.exam()?.gap_closed("unigram", "bigram"))
        },
    }
}

/// Relative times at which loss curves are compared; the transition is at 1.
const TIMES: [f64; 15] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0,
];

/// The distance of each run's loss from the median over the others, aligned at the transition. A run ends its
/// comparison where its training ends.
fn aligned(trained: &Trained) -> Sample {
    let course = |run: &Run| -> Option<Vec<Option<f64>>> {
        let onset = run.onset("bigram")?;
        let (steps, losses) = (run.steps(), run.column(&KL_TRUTH));
        let end = *steps.last()?;
        let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
        // In units of the gap on the run's own test set.
        let at = |time: &f64| {
            let step = time * onset;
            (step <= end).then(|| (losses[run.record_at(step)] - bigram) / (unigram - bigram))
        };
        Some(TIMES.iter().map(at).collect())
    };
    let courses: Vec<Option<Vec<Option<f64>>>> = trained
        .runs
        .iter()
        .map(|run| course(run).filter(|_| run.is_sound()))
        .collect();
    // From the median over the other runs: a run's own course would pull the median towards it.
    let distance = |own: usize| {
        let course = courses[own].as_ref()?;
        let square = |at: usize| {
            let others = courses
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != own);
            let others = others.filter_map(|(_, course)| course.as_ref()?[at]);
            let others: Vec<f64> = others.collect();
            let distance = course[at]? - median(&others);
            (!others.is_empty()).then(|| distance.powi(2))
        };
        let squares: Vec<f64> = (0..TIMES.len()).filter_map(square).collect();
        (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
    };
    Sample::Numbers((0..courses.len()).map(distance).collect())
}
