//! The paper's figures, drawn from the trained models.

mod attention;
mod by_position;
mod models;
mod priors;
mod rates;
mod seeds;
mod task;

use std::sync::LazyLock;

use induct::chain::TaskPrior;
use induct::theory::Coupling;

use super::chapter::steps::{LENGTH, first_step, second_step};
use super::chapter::{ChapterFigure, coupling, prior};
use crate::figure::{Draw, Illustration, StudyFigure};

/// All figures, by number.
pub static FIGURES: LazyLock<Vec<StudyFigure>> =
    LazyLock::new(|| StudyFigure::all_in(include_str!("../figures.toml"), DRAW));

/// How each is drawn.
const DRAW: &[(&str, Draw)] = &[
    ("phases", task::phases),
    ("attention", attention::arcs),
    ("three-states", |results| {
        models::beside(results, "three-states", "minimal-three-states", 3)
    }),
    ("priors", priors::priors),
    ("trigrams", models::trigrams),
    ("first-step", |_| of_chapter(first_step)),
    ("second-step", |_| of_chapter(second_step)),
    ("seeds", seeds::seeds),
    ("more-states", models::more_states),
    ("scores", attention::scores),
    ("elsewhere", models::elsewhere),
    ("two-states", |results| {
        models::beside(results, "main", "minimal", 2)
    }),
    ("one-layer", models::one_layer),
    ("rates", rates::rates),
    ("by-position", by_position::by_position),
];

/// A figure that the chapter on theory shows too.
fn of_chapter(draw: fn(&TaskPrior, &Coupling) -> ChapterFigure) -> Illustration {
    let prior = prior();
    let figure = draw(&prior, &coupling(&prior, LENGTH));
    Illustration::new(figure.drawn, figure.caption)
}
