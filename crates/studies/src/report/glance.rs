//! The verdict on every claim in every variant, on one screen.

use maud::{Markup, html};

use crate::claim::{Decision, Verdict};
use crate::html::badge;
use crate::study::Study;

/// The variants, each with its number of verdicts; then all claims by question.
pub(super) fn section(study: &Study, decided: &[Decision]) -> Markup {
    html! {
        section id="claims" {
            h2 { "Claims at a glance" }
            dl.variants {
                @for (index, variant) in study.variants.iter().enumerate() {
                    dt { (variant.name) }
                    dd {
                        (variant.about) "."
                        div.counts { (counts(decided, index)) }
                    }
                }
            }
            table.glance {
                thead {
                    tr {
                        th scope="col" { "claim" }
                        @for variant in study.variants { th scope="col" { (variant.name) } }
                    }
                }
                @for question in study.questions() {
                    @let asked = decided.iter().filter(|claim| claim.question == question);
                    @if asked.clone().next().is_some() {
                        tbody {
                            tr.question {
                                th scope="rowgroup" colspan=(study.variants.len() + 1) { (question) }
                            }
                            @for claim in asked { (row(claim)) }
                        }
                    }
                }
            }
        }
    }
}

fn row(claim: &Decision) -> Markup {
    html! {
        tr {
            th scope="row" { a href={ "#" (claim.id) } { (claim.id) } " " (claim.title) }
            @for found in &claim.verdicts {
                td { (badge(found.verdict.name(), found.verdict.name())) }
            }
        }
    }
}

/// How often each verdict occurs in a variant.
fn counts(decided: &[Decision], variant: usize) -> Markup {
    let of = |verdict: Verdict| {
        let found = decided
            .iter()
            .filter_map(|claim| claim.verdicts.get(variant));
        found.filter(|found| found.verdict == verdict).count()
    };
    html! {
        @for verdict in Verdict::ALL {
            @if of(verdict) > 0 {
                (badge(verdict.name(), &format!("{} {}", of(verdict), verdict.name()))) " "
            }
        }
    }
}
