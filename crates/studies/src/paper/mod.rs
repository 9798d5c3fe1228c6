//! The paper: *The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains*.

pub mod chapter;

mod claims;
mod figures;
mod story;

use std::sync::LazyLock;

use crate::experiment::Plan;
use crate::study::{Study, Text, Variant, tables};

/// The values of p for the interpolated priors, in the order of their experiments.
const INTERPOLATED: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

static EXPERIMENTS: LazyLock<Vec<Plan>> =
    LazyLock::new(|| tables(include_str!("experiments.toml")));

/// The paper as a study.
pub static STUDY: Study = Study {
    name: "paper",
    title: "Statistical induction heads, reproduced",
    about: "The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains (2024)",
    variants: &[
        Variant {
            name: "printed",
            about: "what the text says: no norm, positions that meet the key, a learning rate of 3e-5 for \
                    80,000 steps; the minimal model by SGD at 2e-3; trigrams at 3e-2",
        },
        Variant {
            name: "released",
            about: "what the authors' code trains: layer norm, dropout, positions that meet the query, a \
                    projection after every head, uniform starts, a rate of 5e-4 for 2,000 steps (4,000 with \
                    three states)",
        },
        Variant {
            name: "recommended",
            about: "ours: the text's model at a rate of 1e-3, which shows the same in a twentieth of the \
                    steps",
        },
    ],
    experiments: &EXPERIMENTS,
    claims: &claims::CLAIMS,
    statistics: claims::STATISTICS,
    figures: &figures::FIGURES,
    first_seed: 1000,
    text: Text {
        lead: story::lead,
        found: story::found,
        theory: Some(story::theory),
        choices: include_str!("choices.toml"),
        protocol: include_str!("protocol.md"),
    },
};
