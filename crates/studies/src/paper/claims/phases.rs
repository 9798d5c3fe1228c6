//! Claims about phases: which ones there are, their order, and how they begin and end.

use induct::measure::{KL_TRUTH, PREVIOUS_TOKEN};
use induct::probe::median;

use super::{
    BEYOND, BOTH, KEPT, PHASES, PRINTED, PRINTED_COLLAPSE, RECOMMENDED, RELEASED, TO_BIGRAM,
    TWO_STATES,
};
use crate::claim::Limit::{AtLeast, AtMost};
use crate::claim::{Claim, Part, Runs};
use crate::results::Trained;
use crate::run::Run;
use crate::statistics::{Sample, Statistic};

const FIRST_MEASURE: &str = "measure and limit of the first round";
const MOST: &str = "most runs, as for the order of phases (C2)";

const FIVE: Runs = &[(RECOMMENDED, "five-states")];
const EIGHT: Runs = &[(RECOMMENDED, "eight-states")];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C2",
        title: "Uniform, then unigram, then bigram",
        statement: "The model first predicts uniformly, then from the frequencies of single symbols, then \
                    from those of pairs.",
        question: PHASES,
        figure: 1,
        core: &[Part {
            on: "k = {2,3}",
            place: "abstract; caption of figure 1",
            statistic: IN_ORDER,
            limit: AtLeast(0.5),
            why: "most runs; no number of seeds can show that every run does it, and with the eight seeds that slow \
                  variants can afford, eight of eight show no more than this",
            runs: BOTH,
        }],
        probes: &[Part {
            on: "k = {2,3}",
            place: "is it so in four runs of five?",
            statistic: IN_ORDER,
            limit: AtLeast(0.8),
            why: KEPT,
            runs: BOTH,
        }],
        ..Claim::BARE
    },
    Claim {
        id: "C3",
        title: "The plateau is the unigram strategy",
        statement: "Between its two drops, the loss stays near the level of the unigram strategy, and the \
                    predictions are close to those of that strategy.",
        question: PHASES,
        figure: 3,
        core: &[
            Part {
                on: "k = {2,3}",
                place: "section 3.1, second paragraph: the plateau reaches the unigram baseline",
                statistic: Statistic::number(
                    "distance between the median loss of the unigram phase and the loss of the unigram \
                     strategy, as a fraction of the range of the figure (from the bigram strategy's loss to \
                     that of uniform predictions)",
                    |run| {
                        let range = run.level("uniform") - run.level("bigram");
                        let off = run.fall_from("unigram")?.plateau - run.level("unigram");
                        Some(off.abs() / range)
                    },
                ),
                limit: AtMost(0.1),
                why: "the paper reads it off a figure; a tenth of the figure's range is what an eye can tell, and \
                      as much as the error of reading the authors' curves (0.02 of 0.2 nats)",
                runs: BOTH,
            },
            Part {
                on: "k = {2,3}",
                place: "section 3.1, second paragraph: the unigram solution being significantly lower",
                statistic: Statistic::number(
                    "KL(unigram ‖ model) over KL(bigram ‖ model), in the middle of the plateau",
                    |run| {
                        let at = run.record_at(run.fall_from("unigram")?.on_plateau());
                        Some(run.distance("unigram")[at] / run.distance("bigram")[at])
                    },
                ),
                limit: AtMost(0.5),
                why: "significantly lower: half or less",
                runs: BOTH,
            },
        ],
        probes: &[
            Part {
                on: "k = {2,3}",
                place: "how near, relative to the level?",
                statistic: Statistic::number(
                    "relative difference between the median loss of the unigram phase and the loss of the \
                     unigram strategy",
                    |run| Some((plateau_over_unigram(run)? - 1.0).abs()),
                ),
                limit: AtMost(0.15),
                why: FIRST_MEASURE,
                runs: BOTH,
            },
            Part {
                on: "k = {2,3}",
                place: "how near do predictions come?",
                statistic: Statistic::number(
                    "smallest KL(unigram ‖ model) during training, relative to its value at the start",
                    |run| {
                        let distances = run.distance("unigram");
                        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
                        Some(least / distances.first()?)
                    },
                ),
                limit: AtMost(0.1),
                why: FIRST_MEASURE,
                runs: BOTH,
            },
            Part {
                on: "k = 2",
                place: "is the plateau explained by symbol counts and the current symbol?",
                statistic: Statistic::number(
                    "median loss of the unigram phase over the loss of the best predictor from symbol \
                     counts and the current symbol",
                    // Both relative to unigram, each on its own sequences.
                    |run| Some(plateau_over_unigram(run)? / counts_over_unigram(run)?),
                ),
                limit: AtLeast(1.0),
                why: "below it, the model must have looked at pairs",
                runs: &[TWO_STATES],
            },
        ],
        remark: |results| {
            let main = results.of("main");
            let off = main.median(|run| Some(plateau_over_unigram(run)? - 1.0));
            let fair = main.median(|run| Some(counts_over_unigram(run)? - 1.0));
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
        ..Claim::BARE
    },
    Claim {
        id: "C4",
        title: "The second drop is sudden",
        statement: "The fall from the unigram to the bigram level is short and steep compared with the \
                    plateau before it.",
        question: PHASES,
        figure: 8,
        core: &[
            Part {
                on: "k = {2,3}",
                place: "abstract: a rapid phase transition; section 3.1: only slight improvement before",
                statistic: STEEPNESS,
                limit: AtLeast(5.0),
                why: "five times as steep, as in the first round; the second half of the plateau ends with a tenth \
                      of the drop, so that its rate cannot come near zero, as that of its middle half can",
                runs: BOTH,
            },
            Part {
                on: "k = {2,3}",
                place: "section 3.1, first paragraph: a long period before a second rapid drop",
                statistic: Statistic::number(
                    "length of the plateau in steps (from the onset of unigrams to a tenth of the drop) \
                     over the length of the drop (from a tenth to nine tenths)",
                    |run| {
                        let fall = run.fall_from("unigram")?;
                        Some((fall.start - fall.onset) / (fall.end - fall.start))
                    },
                ),
                limit: AtLeast(2.0),
                why: "kept from the first round: long and rapid, one against the other, means at least twice",
                runs: BOTH,
            },
        ],
        ..Claim::BARE
    },
    Claim {
        id: "C13",
        title: "Seeds agree, up to the moment of the transition",
        statement: "Runs with different seeds follow the same course; only the time of the transition \
                    differs.",
        question: PHASES,
        figure: 8,
        core: &[Part {
            on: "k = 2",
            place: "appendix B, caption of figure 8: the dynamics are consistent (the sentence on the moment breaks off)",
            statistic: Statistic::experiments(
                "distance of a run's loss from the median over the others, with time in units of each run's \
                 own transition (root mean square up to twice that time), as a fraction of the gap \
                 between unigram and bigram",
                |of| aligned(of[0]),
            ),
            limit: AtMost(0.1),
            why: "kept from the first round: a tenth of the drop",
            runs: &[TWO_STATES],
        }],
        probes: &[Part {
            on: "k = 2",
            place: "how much does the moment differ?",
            statistic: Statistic::experiments(
                "distance of the transition's step from its median over runs, relative to that median",
                |of| {
                    let usual = of[0].median(|run| run.onset("bigram"));
                    of[0].numbers(|run| Some((run.onset("bigram")? / usual - 1.0).abs()))
                },
            ),
            limit: AtMost(0.25),
            why: "kept from the first round",
            runs: &[TWO_STATES],
        }],
        ..Claim::BARE
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
        core: &[
            Part {
                on: "k = {5,8}",
                place: "appendix B, caption of figure 9 (which names no k): a plateau before the final drop",
                statistic: PLATEAU_THEN_DROP,
                limit: AtLeast(0.5),
                why: "read from the loss, since with many states the nearest strategy misleads; most runs, as for \
                      two states (C2)",
                runs: &[FIVE, EIGHT],
            },
            Part {
                on: "k = {5,8}",
                place: "appendix B, caption of figure 9: our results extend to more symbols",
                statistic: Statistic::number(
                    "mean attention of the first layer to the previous token, at the end",
                    |run| run.best_head(&PREVIOUS_TOKEN, 0),
                ),
                limit: AtLeast(0.5),
                why: "as for the same head with fewer states (C5)",
                runs: &[FIVE, EIGHT],
            },
        ],
        probes: &[
            Part {
                on: "k = {5,8}",
                runs: &[FIVE, EIGHT],
                ..HOW_NEAR
            },
            Part {
                on: "k = 8, two heads in the second layer",
                runs: &[&[(RECOMMENDED, "eight-states-two-heads")]],
                ..HOW_NEAR
            },
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
        core: &[Part {
            on: "k = {2,3}",
            place: "section 3.1, second paragraph: one decreases, the other one increases",
            statistic: APART,
            limit: AtLeast(0.5),
            why: MOST,
            runs: BOTH,
        }],
        ..Claim::BARE
    },
];

const HOW_NEAR: Part = Part {
    on: "",
    place: "the paper does not say how near",
    statistic: TO_BIGRAM,
    limit: AtLeast(0.75),
    why: "near means the same as in C1",
    runs: &[],
};

const IN_ORDER: Statistic = Statistic::share(
    "share of runs whose nearest strategies are, in this order, uniform, unigram, bigram",
    |run| run.order() == ["uniform", "unigram", "bigram"],
);

/// The loss of the unigram phase over the unigram strategy's.
fn plateau_over_unigram(run: &Run) -> Option<f64> {
    Some(run.fall_from("unigram")?.plateau / run.level("unigram"))
}

/// The loss of the best predictor from symbol counts and the current symbol over the unigram strategy's.
fn counts_over_unigram(run: &Run) -> Option<f64> {
    let exam = run.exam()?;
    Some(exam.level("unigram-and-current")? / exam.level("unigram")?)
}

const STEEPNESS: Statistic = Statistic::number(
    "rate of decrease of the loss in the drop (from a tenth to nine tenths) over its rate in the second half \
     of the plateau (which ends when a tenth of the drop is complete)",
    |run| {
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
    },
);

const APART: Statistic = Statistic::share(
    "share of runs in which, from a tenth to nine tenths of the second drop, KL(unigram ‖ model) rises and \
     KL(bigram ‖ model) falls",
    |run| {
        let Some(fall) = run.fall_from("unigram") else {
            return false;
        };
        let [from, to] = [fall.start, fall.end].map(|step| run.record_at(step));
        let change = |strategy: &str| {
            let distances = run.distance(strategy);
            distances[to] - distances[from]
        };
        change("unigram") > 0.0 && change("bigram") < 0.0
    },
);

/// By the loss alone: the plateau lasts from when the loss is first near the unigram level until a tenth of the
/// fall from there is complete.
const PLATEAU_THEN_DROP: Statistic = Statistic::share(
    "share of runs whose loss, once it has come within a tenth of the unigram–bigram gap of the unigram level, \
     stays there for at least as long as its drop then takes (from a tenth to nine tenths), and ends below the \
     middle of that gap",
    |run| {
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
    },
);

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
