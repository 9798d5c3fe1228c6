//! The first two gradient steps of the minimal model, as in the chapter on theory.

use crate::figure::Drawn;
use crate::paper::chapter::steps::{LENGTH, first_step, second_step};
use crate::paper::chapter::{coupling, prior};

pub(super) fn first() -> Drawn {
    let prior = prior();
    let figure = first_step(&prior, &coupling(&prior, LENGTH));
    Drawn::new(figure.drawn, figure.caption)
}

pub(super) fn second() -> Drawn {
    let prior = prior();
    let figure = second_step(&prior, &coupling(&prior, LENGTH));
    Drawn::new(figure.drawn, figure.caption)
}
