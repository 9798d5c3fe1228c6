//! What is the plateau made of? Models taken apart while they learn, by interventions.

mod claims;
mod figures;
mod measures;
mod story;

use std::sync::LazyLock;

use induct::catalogue::Setting;

use crate::experiment::Plan;
use crate::study::{Study, Text, Variant, tables};

/// The settings of the study that are not in the catalogue.
pub static SETTINGS: LazyLock<Vec<Setting>> =
    LazyLock::new(|| Setting::all_in(include_str!("settings.toml")));

static EXPERIMENTS: LazyLock<Vec<Plan>> =
    LazyLock::new(|| tables(include_str!("experiments.toml")));

/// The study of the plateau.
pub static STUDY: Study = Study {
    name: "plateau",
    title: "What is the plateau made of?",
    about: "Interventions on models that learn bigrams: what they wait for on the unigram plateau",
    variants: &[
        Variant {
            name: "printed",
            about: "the text's model: no norm, positions that meet the key; at a rate of 1e-3, 4,000 steps",
        },
        Variant {
            name: "released",
            about: "the model of the authors' code without its dropout: layer norm, positions that meet the \
                    query, a projection after every head, uniform starts; at a rate of 5e-4, 4,000 steps",
        },
    ],
    experiments: &EXPERIMENTS,
    claims: &claims::CLAIMS,
    statistics: claims::STATISTICS,
    figures: &figures::FIGURES,
    first_seed: 3000,
    text: Text {
        lead: story::lead,
        found: story::found,
        theory: None,
        choices: include_str!("choices.toml"),
        protocol: include_str!("protocol.md"),
    },
};
