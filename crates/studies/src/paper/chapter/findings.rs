//! What the summary says about individual entries. Each sentence is tied to a verdict and takes its numbers
//! from the ledger.

use std::sync::LazyLock;

use maud::{Markup, html};
use serde::Deserialize;

use crate::html::prose;
use induct_ledger::{Entry, Verdict};

/// A sentence about an entry, shown only if the entry has the expected verdict: a table of `findings.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    id: String,
    verdict: String,
    headline: String,
    /// What follows the headline, with places for numbers.
    says: String,
}

#[derive(Deserialize)]
pub struct Findings {
    /// What holds, possibly under a condition.
    pub holds: Vec<Finding>,
    /// What does not hold.
    pub fails: Vec<Finding>,
}

pub static FINDINGS: LazyLock<Findings> = LazyLock::new(|| {
    let found = toml::from_str(include_str!("../findings.toml"));
    found.unwrap_or_else(|error| panic!("{error}"))
});

/// A text with numbers of an entry in their places, such as `{2: at t = 100}`.
fn filled(text: &str, entry: &Entry) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, after) = part.split_once('}').expect("places are closed");
        filled += &match (place.split_once(": "), &entry.verdict) {
            (Some((decimals, name)), _) => {
                let decimals: usize = decimals.parse().expect("a number of decimals");
                format!("{:.decimals$}", entry.number(name)).replace('-', "−")
            }
            (None, Verdict::CorrectUnderCondition { condition }) => condition.clone(),
            _ => String::new(),
        };
        filled += after;
    }
    filled
}

/// The findings whose entries have the expected verdicts, as list items.
pub fn said(findings: &[Finding], entries: &[Entry]) -> Markup {
    html! {
        @for finding in findings {
            @let entry = entries.iter().find(|entry| entry.id == finding.id);
            @if let Some(entry) = entry.filter(|e| e.verdict.name() == finding.verdict) {
                li {
                    strong { (prose(&finding.headline)) }
                    (prose(&filled(&finding.says, entry))) " "
                    a href={ "#" (finding.id) } { "Entry" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_has_its_verdict_and_numbers() {
        let entries = induct_ledger::ledger();
        let items = |findings: &[Finding], entries: &[Entry]| {
            let items = said(findings, entries).into_string();
            assert!(!items.contains("NaN"), "{items}");
            items.matches("<li>").count()
        };
        assert_eq!(items(&FINDINGS.holds, &entries), FINDINGS.holds.len());
        assert_eq!(items(&FINDINGS.fails, &entries), FINDINGS.fails.len());
        // Without its verdict, a sentence is not shown.
        let mut other = entries.clone();
        let entry = other.iter_mut().find(|e| e.id == "second-step.geometric");
        entry.unwrap().verdict = Verdict::Correct;
        assert_eq!(items(&FINDINGS.fails, &other), FINDINGS.fails.len() - 1);
    }
}
