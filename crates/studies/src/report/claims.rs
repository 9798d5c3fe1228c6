//! Claims one by one: every measure, its limit, and what was found in each variant.

use maud::{Markup, html};

use super::contents::PageContents;
use super::{count, number};
use crate::claim::{Decision, JudgedPart, Limit, Role};
use crate::html::{badge, prose};
use crate::study::Study;

/// A section for each question.
pub(super) fn sections(study: &Study, shown: &PageContents) -> Markup {
    html! {
        @for (index, &question) in study.questions().iter().enumerate() {
            @let asked = shown.claims.iter().filter(|claim| claim.question == question);
            @if asked.clone().next().is_some() {
                section id={ "question-" (index + 1) } {
                    h2 { (question) }
                    @for claim in asked { (article(claim, shown)) }
                }
            }
        }
    }
}

/// A claim with all its measures.
fn article(claim: &Decision, shown: &PageContents) -> Markup {
    let of = |role: Role| -> Vec<&JudgedPart> {
        claim.parts.iter().filter(|p| p.role == role).collect()
    };
    let (core, probes) = (of(Role::Core), of(Role::Probe));
    let (core, probes) = (groups(&core), groups(&probes));
    let variants: Vec<&str> = claim.verdicts.iter().map(|found| found.variant).collect();
    html! {
        article id=(claim.id) {
            h3 { (claim.id) ". " (claim.title) }
            div.part.whole {
                p { (prose(claim.statement)) }
                ul.values {
                    @for found in &claim.verdicts {
                        li { span.of { (found.variant) } (badge(found.verdict.name(), found.verdict.name())) }
                    }
                }
            }
            @for found in claim.verdicts.iter().filter(|found| !found.why_not.is_empty()) {
                p.place { "Not run, or not all of it, as " (found.variant) ": " (prose(found.why_not)) "." }
            }
            @for group in &core { (part(group, &variants)) }
            @if !probes.is_empty() {
                details.probes {
                    summary { "Further questions (" (probes.len()) ")" }
                    @for group in &probes { (part(group, &variants)) }
                }
            }
            @if !claim.remark.is_empty() { p.remark { (prose(&claim.remark)) } }
            p.place { "Shown in " (shown.figure(claim.figure)) "." }
        }
    }
}

/// The same part in several variants stands together.
fn groups<'a>(parts: &[&'a JudgedPart]) -> Vec<Vec<&'a JudgedPart>> {
    let same = |a: &&JudgedPart, b: &&JudgedPart| {
        let key = |part: &JudgedPart| (part.measure, part.place, part.why);
        key(a) == key(b) && a.on == b.on && a.limit == b.limit && a.variant != b.variant
    };
    parts.chunk_by(same).map(<[_]>::to_vec).collect()
}

/// A part: what is measured and where it must be, beside what was found.
fn part(group: &[&JudgedPart], variants: &[&str]) -> Markup {
    let part = group[0];
    html! {
        div.part {
            div.criterion {
                p { strong { (prose(&part.on)) } ": " (prose(part.measure)) "." }
                details {
                    summary { "Holds if " strong { (part.limit.text()) } }
                    p { "Why: " (prose(part.why)) "." }
                }
                p.place {
                    @match part.role {
                        Role::Core => { "In the paper: " (prose(part.place)) "." }
                        Role::Probe => { "Why we ask: " (prose(part.place)) }
                    }
                }
            }
            ul.values {
                @if part.variant.is_empty() {
                    (value("without training", "draw", part))
                } @else {
                    @for &variant in variants {
                        @match group.iter().find(|part| part.variant == variant) {
                            Some(part) => (value(variant, "seed", part)),
                            None => li.none { span.of { (variant) } span.seeds { "not run" } },
                        }
                    }
                }
            }
        }
    }
}

/// What was found in a variant.
fn value(variant: &str, unit: &str, part: &JudgedPart) -> Markup {
    // Runs without the measured event count as the worst value.
    let worst = match part.limit {
        Limit::AtLeast(_) => "−∞",
        Limit::AtMost(_) => "∞",
    };
    let shown = |x: Option<f64>| x.map_or(worst.into(), number);
    html! {
        li {
            span.of { (variant) }
            @if part.seeds == 0 {
                span.seeds { "no runs" }
            } @else {
                span.effect { (shown(part.effect)) }
                @if let Some([low, high]) = part.interval {
                    span.interval { "[" (shown(low)) ", " (shown(high)) "]" }
                }
                span.seeds {
                    @match part.missing {
                        0 => (count(part.seeds, unit)),
                        missing => { (missing) " of " (count(part.seeds, unit)) " without" }
                    }
                }
            }
            (badge(part.verdict.name(), part.verdict.name()))
        }
    }
}
