//! Claims on where training ends.

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
        statement: "A two-layer attention-only transformer trained on fresh chains ends close to the strategy that counts pairs, for two and for three states.",
        place: "section 3.1; figure 3",
        figure: 3,
        needs: &["main", "three-states", "three-states-more-heads"],
        remark: "A head's answer enters the logits linearly. For two states that is enough to come near to counting; for three it is not, and with the paper's single head the loss stays where the figure shows it. Three heads in the second layer come nearer.",
        check: |results| gaps_closed(results, "unigram", "bigram", Limit::AtLeast(0.9)),
    },
    Claim {
        id: "C6",
        title: "One layer never passes unigrams",
        statement: "A single layer stays at the unigram level however long it is trained, with or without an MLP, with absolute or relative positions.",
        place: "section 3.1; appendix C, figure on one layer",
        figure: 13,
        needs: &LAYERS,
        remark: "In the strict sense one layer does pass unigrams: its loss ends somewhat below that of counting symbols, since it can tell near symbols from far ones. It stays far from bigrams.",
        check: one_layer,
    },
    Claim {
        id: "C12",
        title: "Trigrams: four stages; one head does not pass bigrams",
        statement: "On trigrams a model with three heads a layer passes through uniform, unigram, bigram and trigram; with one head it stays at bigrams.",
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
        statement: "The trained transformers come close to the best that anyone can do who knows the prior: exact Bayes, not only counting pairs.",
        place: "introduction; section 3.1",
        figure: 3,
        needs: &["main", "three-states", "three-states-more-heads"],
        remark: "",
        check: |results| gaps_closed(results, "uniform", "bayes", Limit::AtLeast(0.95)),
    },
];

/// How far the two-layer models have come, for two and three states.
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

/// How much of the way from one strategy's loss to another's the final models have come.
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
            "how much of the way from the {from} to the {to} strategy's loss the final model has come, on fresh sequences"
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
    let measure = "how much of the way from the unigram to the bigram strategy's loss it has come where its loss is smallest";
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
        "two layers, an eighth of the steps",
        measure,
        results.of("two-layers-short").mean(best),
        Limit::AtLeast(0.8),
    ));
    // In the strict sense, too: no better than counting symbols.
    let strict = |(id, about): &(&str, &str)| {
        let what = format!("{about}, in the strict sense");
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
