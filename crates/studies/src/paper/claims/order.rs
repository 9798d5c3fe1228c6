//! Claims about phases: which ones there are, their order, and how they begin and end.

use induct::measure::KL_TRUTH;
use induct::probe::median;

use super::{Claim, Limit, Part};
use crate::results::{Results, Trained};
use crate::run::Run;
use crate::statistics::Measured;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C2",
        title: "Uniform, then unigram, then bigram",
        statement: "In every run, the model first predicts uniformly, then from the frequencies of single \
                    symbols, then from those of pairs.",
        place: "abstract; figure 1; section 3.1",
        figure: 1,
        needs: &["main", "three-states"],
        remark: "",
        check: |results| {
            let part = |id: &str, what: &str| {
                in_order(results.of(id), what, &["uniform", "unigram", "bigram"])
            };
            vec![part("main", "k = 2"), part("three-states", "k = 3")]
        },
    },
    Claim {
        id: "C3",
        title: "The plateau is the unigram strategy",
        statement: "Between its two drops, the loss stays at the level of the unigram strategy, and the \
                    predictions are those of that strategy.",
        place: "section 3.1; figure 3",
        figure: 3,
        needs: &["main", "three-states"],
        remark: "The plateau is not exactly flat: for k = 2, the loss keeps falling slowly, below the level \
                 of the unigram strategy, before the second drop.",
        check: plateau_is_unigram,
    },
    Claim {
        id: "C4",
        title: "The second drop is sudden",
        statement: "The fall from the unigram to the bigram level is short and steep compared with the \
                    plateau before it.",
        place: "abstract; section 3.1",
        figure: 8,
        needs: &["main", "three-states"],
        remark: "",
        check: |results| {
            let main = results.of("main");
            let three = results.of("three-states");
            vec![
                steepness(main, "k = 2"),
                duration(main, "k = 2", Limit::AtLeast(2.0)),
                steepness(three, "k = 3"),
                duration(three, "k = 3", Limit::AtLeast(2.0)),
            ]
        },
    },
    Claim {
        id: "C8",
        title: "The minimal model learns bigrams and hardly stops at unigrams",
        statement: "Like the transformer, the minimal model ends at the bigram strategy, but it spends much \
                    less time at unigrams, if any.",
        place: "section 3.2; figure 3, below",
        figure: 12,
        needs: &["main", "minimal", "three-states", "minimal-three-states"],
        remark: "Its loss immediately dips to the unigram level, rises, and falls to its final value; its \
                 predictions are nearest to unigrams for a while, without a plateau in the loss. Its final \
                 loss stays above the transformer's: its logits are counts, which no softmax turns into \
                 frequencies.",
        check: minimal_learns,
    },
    Claim {
        id: "C13",
        title: "Seeds agree, up to the moment of the transition",
        statement: "Runs with different seeds follow the same course; only the time of the transition \
                    differs.",
        place: "appendix B, figure on seeds",
        figure: 8,
        needs: &["main"],
        remark: "",
        check: seeds_agree,
    },
    Claim {
        id: "C14",
        title: "More states behave alike",
        statement: "With five and eight states and a longer context, the same phases appear in the same \
                    order, and the model ends near the bigram strategy.",
        place: "appendix B, figure on more symbols",
        figure: 9,
        needs: &["five-states", "eight-states"],
        remark: "With more states, the loss still has its plateau and its drop, but with one head it ends \
                 farther from bigrams the more states there are, and with eight states unigrams are never \
                 the nearest strategy. Other learning rates (1e-3, 3e-3, 5e-3), widths (16, 64) and twice as \
                 many steps did not change that; two heads in the second layer came closer.",
        check: |results| {
            let order = |id: &str, what: &str| {
                in_order(results.of(id), what, &["uniform", "unigram", "bigram"])
            };
            let gap = |id: &str, what: &str| {
                super::final_loss::gap_closed(
                    results.of(id),
                    what,
                    "unigram",
                    "bigram",
                    Limit::AtLeast(0.9),
                )
            };
            vec![
                order("five-states", "k = 5"),
                gap("five-states", "k = 5"),
                order("eight-states", "k = 8"),
                gap("eight-states", "k = 8"),
            ]
        },
    },
];

/// The share of runs whose phases are exactly these.
pub(super) fn in_order(trained: &Trained, what: &str, phases: &[&str]) -> Part {
    Part::new(
        what,
        &format!(
            "share of runs whose nearest strategies are, in this order, {}",
            phases.join(", ")
        ),
        trained.share(|run| run.order() == phases),
        Limit::AtLeast(0.8),
    )
}

fn plateau_is_unigram(results: &Results) -> Vec<Part> {
    let mut parts = Vec::new();
    for (id, what) in [("main", "k = 2"), ("three-states", "k = 3")] {
        let trained = results.of(id);
        let off = |run: &Run| {
            Some((run.fall_from("unigram")?.plateau / run.level("unigram") - 1.0).abs())
        };
        parts.push(Part::new(
            what,
            "relative difference between the median loss of the unigram phase and the loss of the unigram \
             strategy",
            trained.mean(off),
            Limit::AtMost(0.15),
        ));
        // At the start the model predicts almost uniformly.
        let nearest = |run: &Run| {
            let distances = run.distance("unigram");
            let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
            Some(least / distances.first()?)
        };
        parts.push(Part::new(
            what,
            "smallest KL(unigram ‖ model) during training, relative to its value at the start",
            trained.mean(nearest),
            Limit::AtMost(0.1),
        ));
    }
    parts
}

/// How much faster the loss falls in the drop than in the middle of the plateau before it.
fn steepness(trained: &Trained, what: &str) -> Part {
    let ratio = |run: &Run| {
        let fall = run.fall_from("unigram")?;
        let drop = 0.8 * (fall.plateau - fall.reached) / (fall.end - fall.start);
        let length = fall.start - fall.onset;
        let losses = run.column(&KL_TRUTH);
        let at = |share: f64| losses[run.record_at(fall.onset + share * length)];
        Some(drop / ((at(0.25) - at(0.75)) / (0.5 * length)).abs())
    };
    // A plateau that happens to be flat makes the ratio arbitrarily large; its logarithm is more robust.
    let ratios: Vec<f64> = trained.sound().filter_map(ratio).collect();
    Part::new(
        what,
        "rate of decrease of the loss in the drop (from a tenth to nine tenths) over its rate in the middle \
         half of the plateau, as a power of ten (0.7 means five times)",
        Measured::mean(&ratios.iter().map(|ratio| ratio.log10()).collect::<Vec<_>>()),
        Limit::AtLeast(0.7),
    )
}

/// How many times as long as the drop the plateau lasts.
fn duration(trained: &Trained, what: &str, limit: Limit) -> Part {
    let ratio = |run: &Run| {
        let fall = run.fall_from("unigram")?;
        Some((fall.start - fall.onset) / (fall.end - fall.start))
    };
    Part::new(
        what,
        "length of the plateau in steps (from the onset of unigrams to a tenth of the drop) over the length \
         of the drop (from a tenth to nine tenths)",
        trained.mean(ratio),
        limit,
    )
}

fn minimal_learns(results: &Results) -> Vec<Part> {
    let mut parts = Vec::new();
    let pairs = [
        ("minimal", "main", "k = 2"),
        ("minimal-three-states", "three-states", "k = 3"),
    ];
    for (minimal, transformer, what) in pairs {
        let (minimal, transformer) = (results.of(minimal), results.of(transformer));
        parts.push(Part::new(
            what,
            "share of the minimal model's runs that end nearest to the bigram strategy",
            minimal.share(|run| run.order().last().is_some_and(|last| last == "bigram")),
            Limit::AtLeast(0.8),
        ));
        let stay = |run: &Run| Some(run.onset("bigram")? - run.onset("unigram")?);
        let other: Vec<f64> = transformer.sound().filter_map(stay).collect();
        let other = median(&other);
        parts.push(Part::new(
            what,
            "steps spent at unigrams before bigrams, over the transformer's median",
            minimal.mean(|run| Some(stay(run).unwrap_or(0.0) / other)),
            Limit::AtMost(0.5),
        ));
        parts.push(duration(
            minimal,
            &format!("{what}, minimal model: no plateau"),
            Limit::AtMost(1.0),
        ));
    }
    parts
}

/// Relative times at which loss curves are compared; the transition is at 1.
const TIMES: [f64; 15] = [
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0,
];

fn seeds_agree(results: &Results) -> Vec<Part> {
    let main = results.of("main");
    let runs: Vec<&Run> = main
        .sound()
        .filter(|run| run.onset("bigram").is_some())
        .collect();
    let onsets: Vec<f64> = runs.iter().filter_map(|run| run.onset("bigram")).collect();
    let usual = median(&onsets);
    let course = |run: &Run, unit: f64| -> Vec<f64> {
        let losses = run.column(&KL_TRUTH);
        TIMES
            .iter()
            .map(|time| losses[run.record_at(time * unit)])
            .collect()
    };
    // Root mean square distance of each run from the mean curve, as a fraction of the gap between unigram and
    // bigram.
    let apart = |courses: &[Vec<f64>]| -> Vec<f64> {
        let count = courses.len() as f64;
        let mean = |at: usize| courses.iter().map(|course| course[at]).sum::<f64>() / count;
        let means: Vec<f64> = (0..TIMES.len()).map(mean).collect();
        let gap = |run: &Run| run.level("unigram") - run.level("bigram");
        let distance = |(course, run): (&Vec<f64>, &&Run)| {
            let squares = course.iter().zip(&means).map(|(a, b)| (a - b).powi(2));
            (squares.sum::<f64>() / TIMES.len() as f64).sqrt() / gap(run)
        };
        courses.iter().zip(&runs).map(distance).collect()
    };
    let aligned = runs
        .iter()
        .zip(&onsets)
        .map(|(run, onset)| course(run, *onset));
    let aligned = apart(&aligned.collect::<Vec<_>>());
    let plain = apart(
        &runs
            .iter()
            .map(|run| course(run, usual))
            .collect::<Vec<_>>(),
    );
    let gain: Vec<f64> = plain
        .iter()
        .zip(&aligned)
        .map(|(plain, aligned)| plain / aligned)
        .collect();
    let spread: Vec<f64> = onsets
        .iter()
        .map(|onset| (onset / usual - 1.0).abs())
        .collect();
    vec![
        Part::new(
            "time in units of each run's own transition",
            "distance of a run's loss from the mean over runs (root mean square up to twice the time of the \
             transition), as a fraction of the gap between unigram and bigram",
            Measured::mean(&aligned),
            Limit::AtMost(0.1),
        ),
        Part::new(
            "time in steps",
            "the same distance without aligning the transitions, over the distance with them aligned",
            Measured::mean(&gain),
            Limit::AtLeast(1.0),
        ),
        Part::new(
            "time of the transition",
            "distance of the transition's step from its median over runs, relative to that median",
            Measured::mean(&spread),
            Limit::AtMost(0.25),
        ),
    ]
}
