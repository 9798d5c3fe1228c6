//! Claims about the loss at which training ends.

use induct::measure::KL_TRUTH;

use super::order::in_order;
use super::{Claim, Limit, Part};
use crate::experiment::{LAYERS, ONE_LAYER};
use crate::results::{Results, Trained};
use crate::run::Run;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C1",
        title: "Two layers end near the bigram strategy",
        statement: "A two-layer attention-only transformer trained on fresh chains ends close to the \
                    strategy that counts pairs, for both two and three states.",
        place: "section 3.1; figure 3",
        figure: 3,
        needs: &["main", "three-states", "three-states-more-heads"],
        remark: "A head's output enters the logits linearly. For two states that is enough to come close to \
                 counting; for three it is not, and with the paper's single head the loss stays where the \
                 figure shows it. Three heads in the second layer come closer.",
        check: |results| gaps_closed(results, "unigram", "bigram", Limit::AtLeast(0.9)),
    },
    Claim {
        id: "C6",
        title: "One layer never passes unigrams",
        statement: "A single layer stays at the unigram level no matter how long it is trained, with or \
                    without an MLP, with absolute or relative positions.",
        place: "section 3.1; appendix C, figure on one layer",
        figure: 13,
        needs: &LAYERS,
        remark: "Strictly speaking, one layer does pass unigrams: its loss ends slightly below that of \
                 counting symbols, since it can distinguish near symbols from far ones. It stays far from \
                 bigrams.",
        check: one_layer,
    },
    Claim {
        id: "C12",
        title: "Trigrams: four stages; one head does not pass bigrams",
        statement: "On trigrams, a model with three heads per layer passes through uniform, unigram, bigram \
                    and trigram; with one head it stays at bigrams.",
        place: "section 3.3; figure 5",
        figure: 5,
        needs: &["trigram", "trigram-one-head"],
        remark: "",
        check: |results| {
            let (three, one) = (results.of("trigram"), results.of("trigram-one-head"));
            vec![
                in_order(
                    three,
                    "three heads",
                    &["uniform", "unigram", "bigram", "trigram"],
                ),
                gap_closed(
                    three,
                    "three heads",
                    "bigram",
                    "trigram",
                    Limit::AtLeast(0.8),
                ),
                gap_closed(one, "one head", "bigram", "trigram", Limit::AtMost(0.2)),
            ]
        },
    },
    Claim {
        id: "C16",
        title: "The final model is near exact Bayes",
        statement: "The trained transformers come close to the best possible predictor that knows the prior: \
                    exact Bayes, not just counting pairs.",
        place: "introduction; section 3.1",
        figure: 3,
        needs: &["main", "three-states", "three-states-more-heads"],
        remark: "",
        check: |results| gaps_closed(results, "uniform", "bayes", Limit::AtLeast(0.95)),
    },
];

/// The fraction of a gap that the two-layer models closed, for two and three states.
fn gaps_closed(results: &Results, from: &str, to: &str, limit: Limit) -> Vec<Part> {
    let settings = [
        ("main", "k = 2, one head"),
        ("three-states", "k = 3, one head as in the paper"),
        (
            "three-states-more-heads",
            "k = 3, three heads in the second layer",
        ),
    ];
    let part = |(id, what)| gap_closed(results.of(id), what, from, to, limit);
    settings.map(part).into()
}

/// The fraction of the gap between two strategies' losses that the final models closed.
pub(super) fn gap_closed(
    trained: &Trained,
    what: &str,
    from: &str,
    to: &str,
    limit: Limit,
) -> Part {
    Part::new(
        what,
        &format!(
            "fraction of the gap between the {from} and the {to} strategy's loss that the final model \
             closed, on fresh sequences"
        ),
        trained.exam.gap_closed(from, to),
        limit,
    )
}

fn one_layer(results: &Results) -> Vec<Part> {
    let best = |run: &Run| {
        let losses = run.column(&KL_TRUTH);
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let (unigram, bigram) = (run.level("unigram"), run.level("bigram"));
        Some((unigram - least) / (unigram - bigram))
    };
    let measure = "fraction of the gap between the unigram and the bigram strategy's loss that it closed at \
                   its smallest loss";
    let mut parts: Vec<Part> = ONE_LAYER
        .iter()
        .map(|(id, about)| {
            Part::new(
                *about,
                measure,
                results.of(id).mean(best),
                Limit::AtMost(0.2),
            )
        })
        .collect();
    parts.push(Part::new(
        "two layers, one eighth of the steps",
        measure,
        results.of("two-layers-short").mean(best),
        Limit::AtLeast(0.8),
    ));
    // And in the strict sense: no better than counting symbols.
    let strict = |(id, about): &(&str, &str)| {
        let what = format!("{about}, strictly");
        Part::new(
            what,
            measure,
            results.of(id).mean(best),
            Limit::AtMost(0.02),
        )
    };
    parts.extend(ONE_LAYER.iter().map(strict));
    parts
}
