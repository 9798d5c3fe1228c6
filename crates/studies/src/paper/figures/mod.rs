//! The paper's figures, drawn from the trained models.

mod attention;
mod curves;
mod models;
mod priors;
mod seeds;
mod steps;
mod task;

use induct_figure::Figure;

use crate::experiment::LAYERS;
use crate::results::Results;

pub use attention::Slider;

/// A figure of the paper, and how to draw it.
pub struct PaperFigure {
    /// Its number in the paper, in order of appearance; those beyond 13 are ours.
    pub number: u8,
    /// Its name, also of its files.
    pub id: &'static str,
    /// What it is.
    pub title: &'static str,
    /// The experiments it needs.
    pub needs: &'static [&'static str],
    draw: fn(&Results) -> Drawn,
}

/// A figure, drawn.
pub struct Drawn {
    /// The figure itself.
    pub figure: Figure,
    /// How to read it, in about two sentences of HTML.
    pub reading: String,
    /// Frames for a slider that moves through training.
    pub slider: Option<Slider>,
}

impl Drawn {
    fn new(figure: Figure, reading: impl Into<String>) -> Self {
        Self {
            figure,
            reading: reading.into(),
            slider: None,
        }
    }
}

impl PaperFigure {
    /// Draws it.
    pub fn draw(&self, results: &Results) -> Drawn {
        (self.draw)(results)
    }

    /// The stem of its file names, such as `01-phases`.
    pub fn file(&self) -> String {
        format!("{:02}-{}", self.number, self.id)
    }
}

/// All figures, by number.
pub static FIGURES: &[PaperFigure] = &[
    PaperFigure {
        number: 1,
        id: "phases",
        title: "The task, and the phases of learning it",
        needs: &["main"],
        draw: task::phases,
    },
    PaperFigure {
        number: 2,
        id: "attention",
        title: "Attention on one sequence over training",
        needs: &["main"],
        draw: attention::arcs,
    },
    PaperFigure {
        number: 3,
        id: "three-states",
        title: "Three states: transformer above, minimal model below",
        needs: &["three-states", "minimal-three-states"],
        draw: |results| models::beside(results, "three-states", "minimal-three-states", 3),
    },
    PaperFigure {
        number: 4,
        id: "priors",
        title: "The effect of unigram signal on learning; the minimal model's weights",
        needs: &priors::NEEDS,
        draw: priors::priors,
    },
    PaperFigure {
        number: 5,
        id: "trigrams",
        title: "Trigrams: three heads per layer and one",
        needs: &["trigram", "trigram-one-head"],
        draw: models::trigrams,
    },
    PaperFigure {
        number: 6,
        id: "first-step",
        title: "The minimal model after its first gradient step",
        needs: &[],
        draw: |_| steps::first(),
    },
    PaperFigure {
        number: 7,
        id: "second-step",
        title: "The minimal model after its second gradient step",
        needs: &[],
        draw: |_| steps::second(),
    },
    PaperFigure {
        number: 8,
        id: "seeds",
        title: "Many seeds",
        needs: &["main"],
        draw: seeds::seeds,
    },
    PaperFigure {
        number: 9,
        id: "more-states",
        title: "Five and eight states",
        needs: &["five-states", "eight-states"],
        draw: models::more_states,
    },
    PaperFigure {
        number: 10,
        id: "scores",
        title: "Attention scores of both layers over training",
        needs: &["main"],
        draw: attention::scores,
    },
    PaperFigure {
        number: 11,
        id: "elsewhere",
        title: "Loss in and out of distribution",
        needs: &["main", "minimal"],
        draw: models::elsewhere,
    },
    PaperFigure {
        number: 12,
        id: "two-states",
        title: "Two states: transformer above, minimal model below",
        needs: &["main", "minimal"],
        draw: |results| models::beside(results, "main", "minimal", 2),
    },
    PaperFigure {
        number: 13,
        id: "one-layer",
        title: "One layer, eight times as long",
        needs: &LAYERS,
        draw: models::one_layer,
    },
    PaperFigure {
        number: 14,
        id: "rates",
        title: "Which learning rate?",
        needs: &["main", "printed-rate", "released-rate"],
        draw: models::rates,
    },
];
