//! The loss at which training ends.

use induct::measure::{KL_TRUTH, KL_TRUTH_ALL};

use crate::results::{Results, TrainedExperiment};
use crate::run::Run;
use crate::statistics::{Statistic, number, share};

pub(super) const STATISTICS: &[Statistic] = &[
    number("gap to bigrams", |run| {
        run.exam()?.gap_closed("unigram", "bigram")
    }),
    number("change of the last loss", |run| {
        change(&run.column(&KL_TRUTH))
    }),
    number("change of the mean loss", |run| {
        change(&run.column(&KL_TRUTH_ALL))
    }),
    number("gap by step 2,000", |run| {
        let loss = run.column(&KL_TRUTH)[run.record_at(2000.0)];
        let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
        Some((unigram - loss) / (unigram - bigram))
    }),
    number("loss against counts", |run| {
        let exam = run.exam()?;
        Some(exam.loss / exam.level("unigram-and-current")?)
    }),
    share("four phases in order", |run| {
        run.order() == ["uniform", "unigram", "bigram", "trigram"]
    }),
    number("gap to Bayes", |run| {
        run.exam()?.gap_closed("uniform", "bayes")
    }),
    number("gap to trigrams", |run| {
        run.exam()?.gap_closed("bigram", "trigram")
    }),
];

/// What one layer can do without looking at a pair.
pub(super) fn open_to_counts(results: &Results) -> String {
    let closed = allowed_by_counts(results.of("one-layer-relative"));
    match closed.is_finite() {
        false => String::new(),
        true => format!(
            "One layer does pass the unigram strategy a little: whoever knows symbol counts and the \
         current symbol can close {closed:.2} of the gap to bigrams without looking at a single \
         pair. That is the fair line to compare one layer with, and figure 13 shows it."
        ),
    }
}

/// What training does to the hand-made construction.
pub(super) fn effect_of_training(results: &Results) -> String {
    let made = results.of("three-states-from-construction");
    if made.completed().next().is_none() {
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
}

/// The change of a loss from the first record to the last, in units of the first.
fn change(losses: &[f64]) -> Option<f64> {
    Some(losses.last()? / losses.first()? - 1.0)
}

/// The fraction of the gap to bigrams that symbol counts and the current symbol allow to close: a median.
pub(in crate::paper) fn allowed_by_counts(trained: &TrainedExperiment) -> f64 {
    trained.median(|run| {
        let exam = run.exam()?;
        let [from, to] = [exam.level("unigram")?, exam.level("bigram")?];
        Some((from - exam.level("unigram-and-current")?) / (from - to))
    })
}
