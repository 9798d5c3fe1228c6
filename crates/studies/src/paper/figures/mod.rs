//! The paper's figures, drawn from the trained models.

mod attention;
mod by_position;
mod models;
mod priors;
mod rates;
mod seeds;
mod task;

use induct::chain::TaskPrior;
use induct::theory::Coupling;

use super::chapter::steps::{LENGTH, first_step, second_step};
use super::chapter::{ChapterFigure, coupling, prior};
use super::experiments::INTERPOLATED_NAMES;
use crate::figure::{Illustration, StudyFigure};

/// All figures, by number.
pub static FIGURES: &[StudyFigure] = &[
    StudyFigure {
        number: 1,
        id: "phases",
        title: "The task, and the phases of learning it",
        ours: false,
        needs: &["main"],
        draw: task::phases,
    },
    StudyFigure {
        number: 2,
        id: "attention",
        title: "Attention on one sequence over training",
        ours: false,
        needs: &["three-states"],
        draw: attention::arcs,
    },
    StudyFigure {
        number: 3,
        id: "three-states",
        title: "Three states: transformer above, minimal model below",
        ours: false,
        needs: &["three-states", "minimal-three-states"],
        draw: |results| models::beside(results, "three-states", "minimal-three-states", 3),
    },
    StudyFigure {
        number: 4,
        id: "priors",
        title: "The effect of unigram signal on learning; the minimal model's weights",
        ours: false,
        needs: &[INTERPOLATED_NAMES, "minimal"],
        draw: priors::priors,
    },
    StudyFigure {
        number: 5,
        id: "trigrams",
        title: "Trigrams: three heads per layer and one",
        ours: false,
        needs: &["trigram", "trigram-one-head"],
        draw: models::trigrams,
    },
    StudyFigure {
        number: 6,
        id: "first-step",
        title: "The minimal model after its first gradient step",
        ours: false,
        needs: &[],
        draw: |_| of_chapter(first_step),
    },
    StudyFigure {
        number: 7,
        id: "second-step",
        title: "The minimal model after its second gradient step",
        ours: false,
        needs: &[],
        draw: |_| of_chapter(second_step),
    },
    StudyFigure {
        number: 8,
        id: "seeds",
        title: "Many seeds",
        ours: false,
        needs: &["main"],
        draw: seeds::seeds,
    },
    StudyFigure {
        number: 9,
        id: "more-states",
        title: "Five and eight states",
        ours: false,
        needs: &["five-states", "eight-states"],
        draw: models::more_states,
    },
    StudyFigure {
        number: 10,
        id: "scores",
        title: "Attention scores of both layers over training",
        ours: false,
        needs: &["main"],
        draw: attention::scores,
    },
    StudyFigure {
        number: 11,
        id: "elsewhere",
        title: "Loss in and out of distribution",
        ours: false,
        needs: &["main", "minimal"],
        draw: models::elsewhere,
    },
    StudyFigure {
        number: 12,
        id: "two-states",
        title: "Two states: transformer above, minimal model below",
        ours: false,
        needs: &["main", "minimal"],
        draw: |results| models::beside(results, "main", "minimal", 2),
    },
    StudyFigure {
        number: 13,
        id: "one-layer",
        title: "One layer, and longer",
        ours: false,
        needs: &["main", "one-layer-{relative,absolute}{,-mlp}"],
        draw: models::one_layer,
    },
    StudyFigure {
        number: 14,
        id: "rates",
        title: "Four learning rates",
        ours: true,
        needs: &["main", "rate-3e-4", "rate-1e-4", "printed"],
        draw: rates::rates,
    },
    StudyFigure {
        number: 15,
        id: "by-position",
        title: "Loss by position",
        ours: true,
        needs: &["main", "three-states", "three-states-from-construction"],
        draw: by_position::by_position,
    },
];

/// A figure that the chapter on theory shows too.
fn of_chapter(draw: fn(&TaskPrior, &Coupling) -> ChapterFigure) -> Illustration {
    let prior = prior();
    let figure = draw(&prior, &coupling(&prior, LENGTH));
    Illustration::new(figure.drawn, figure.caption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Changes, Scale};
    use crate::paper::STUDY;
    use crate::reproduction::Reproduction;
    use crate::results::Results;

    #[test]
    fn experiments_without_runs_leave_sentences_and_no_panic() {
        let changes = Changes {
            seeds: None,
            first_seed: 0,
            set: Vec::new(),
        };
        let all = Reproduction::new(&STUDY, &[], Scale::Quick, &changes).unwrap();
        let results = Results::new(&all.experiments).unwrap();
        for figure in FIGURES.iter().filter(|figure| !figure.needs.is_empty()) {
            let drawn = (figure.draw)(&results);
            let (id, reading) = (figure.id, &drawn.reading);
            for word in ["NaN", "inf"] {
                assert!(!reading.contains(word), "{id}: {reading}");
            }
            let csv = drawn.figure.csv();
            assert!(!csv.contains("NaN"), "{id}: {csv}");
            assert!(drawn.figure.svg_inline(1000).contains("<text"), "{id}");
        }
    }
}
