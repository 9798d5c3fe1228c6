//! The minimal model's first two gradient steps, as the chapter on theory draws them.

use induct::chain::{Prior, PriorSpec};
use induct::theory::Coupling;

use super::Drawn;
use crate::chapter::steps::{LENGTH, first_step, second_step};

fn coupling() -> (Prior, Coupling) {
    let prior = Prior::new(&PriorSpec::default(), 2, 2).expect("two states, Markov chains");
    let coupling = Coupling::of_prior(&prior, LENGTH).expect("a uniform prior");
    (prior, coupling)
}

pub(super) fn first() -> Drawn {
    let (prior, coupling) = coupling();
    let figure = first_step(&prior, &coupling);
    Drawn::new(figure.drawn, figure.caption)
}

pub(super) fn second() -> Drawn {
    let (prior, coupling) = coupling();
    let figure = second_step(&prior, &coupling);
    Drawn::new(figure.drawn, figure.caption)
}
