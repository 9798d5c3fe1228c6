//! A study: what is trained, claimed and drawn, and what its page says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use maud::Markup;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::claim::Claim;
use crate::experiment::Plan;
use crate::figure::StudyFigure;
use crate::report::PageContents;
use crate::statistics::Statistic;
use crate::{paper, plateau};

/// A study, as data. To add one, write a folder like the paper's and list it in [`STUDIES`].
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    pub(crate) title: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// The variants in which each claim is decided.
    pub variants: &'static [Variant],
    pub(crate) experiments: &'static LazyLock<Vec<Plan>>,
    /// What is claimed, by number.
    pub(crate) claims: &'static LazyLock<Vec<Claim>>,
    pub(crate) statistics: &'static [&'static [Statistic]],
    /// What is drawn, by number.
    pub figures: &'static LazyLock<Vec<StudyFigure>>,
    /// The first seed: runs before it were used to fix the limits.
    pub first_seed: u64,
    pub(crate) text: Text,
}

/// A variant of a study's settings, in which each claim gets a verdict of its own.
pub struct Variant {
    pub name: &'static str,
    pub about: &'static str,
}

/// The text of a study. Numbers in it are computed.
pub struct Text {
    /// What is studied, in a sentence or two.
    pub lead: fn() -> Markup,
    /// What was found, in a sentence or two each.
    pub found: fn(&PageContents) -> Vec<Markup>,
    /// The study's theory in short, if it has one.
    pub theory: Option<fn() -> Markup>,
    /// What each variant does where sources disagree, in TOML.
    pub choices: &'static str,
    /// The opening of the protocol, in Markdown.
    pub protocol: &'static str,
}

/// A choice that the settings make: a table of a study's `choices.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    pub what: String,
    /// What each variant does, in the order of the study's variants.
    pub does: Vec<String>,
    pub why: String,
}

/// All studies, the default one first.
pub static STUDIES: &[&Study] = &[&paper::STUDY, &plateau::STUDY];

impl Study {
    /// The study called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        STUDIES.iter().copied().find(|study| study.name == name)
    }

    /// All claims, by number.
    pub fn claims(&self) -> &'static [Claim] {
        self.claims
    }

    /// The questions that claims answer, in the order of the page.
    pub fn questions(&self) -> Vec<&'static str> {
        let mut all: Vec<&str> = Vec::new();
        for claim in self.claims() {
            if !all.contains(&claim.question.as_str()) {
                all.push(&claim.question);
            }
        }
        all
    }

    /// What each variant does where sources disagree.
    pub(crate) fn choices(&self) -> Vec<Choice> {
        tables(self.text.choices)
    }

    /// The names of its variants.
    pub fn variants(&self) -> Vec<&'static str> {
        self.variants.iter().map(|variant| variant.name).collect()
    }
}

/// The tables of a text in TOML that is part of the program and has one list of them.
///
/// # Panics
///
/// If it is not such a text.
pub(crate) fn tables<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let found: BTreeMap<String, Vec<T>> =
        toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
    found.into_values().next().expect("there is a list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn studies_are_complete() {
        for study in STUDIES {
            assert!(std::ptr::eq(Study::named(study.name).unwrap(), *study));
            let variants = study.variants();
            for choice in study.choices() {
                assert_eq!(choice.does.len(), variants.len(), "{}", choice.what);
            }
            for (index, claim) in study.claims().iter().enumerate() {
                let id = &claim.id;
                assert_eq!(*id, format!("C{}", index + 1));
                assert!(
                    study.figures.iter().any(|f| f.number == claim.figure),
                    "{id}"
                );
                assert!(!claim.core.is_empty(), "{id}");
                let untrained = claim.core.iter().any(|part| part.runs.is_empty());
                for variant in &variants {
                    let rows = claim.core.iter().flat_map(|part| part.rows());
                    let run = untrained || rows.into_iter().any(|row| row.variant == *variant);
                    let excused = claim.not_run.iter().any(|(name, _)| name == variant);
                    assert!(run || excused, "{id} is neither run nor excused: {variant}");
                }
                for (_, part) in claim.parts() {
                    let measure = &part.measure;
                    for words in [&part.on, &part.place, measure, &part.why] {
                        assert!(!words.is_empty(), "{id}: {measure}");
                    }
                    // Either what it is measured on needs no training, or all of it has experiments.
                    let cases = part.rows().chunk_by(|a, b| a.on == b.on).count();
                    assert!([0, cases].contains(&part.runs.len()), "{id}: {measure}");
                    for row in part.rows().iter().filter(|_| !part.runs.is_empty()) {
                        assert!(
                            variants.contains(&row.variant) && !row.experiments.is_empty(),
                            "{id}"
                        );
                    }
                }
            }
        }
    }
}
