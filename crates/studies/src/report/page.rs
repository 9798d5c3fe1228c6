//! The page itself.

use maud::{Markup, html};

use super::contents::PageContents;
use super::{claims, count, figures, glance, method, settings};
use crate::claim::{Decision, Role, Verdict};
use crate::figure::{Illustration, StudyFigure};
use crate::html::{document, joined};
use crate::reproduction::Reproduction;
use crate::results::Results;
use crate::statistics::{ERROR, FEWEST};
use crate::study::Study;

/// How a report was made.
pub struct Making {
    /// The command that reproduces it.
    pub command: String,
    /// Whether it is the full form.
    pub full: bool,
    /// Overrides of every recipe.
    pub set: Vec<String>,
    /// How long this took, in seconds.
    pub seconds: f64,
    /// Whether some runs had been trained before.
    pub resumed: bool,
    /// The machine it ran on.
    pub machine: String,
    /// The version of the program.
    pub version: &'static str,
}

/// The whole page.
pub fn report(
    reproduction: &Reproduction,
    results: &Results,
    drawn: &[(&StudyFigure, Illustration)],
    decided: &[Decision],
    making: &Making,
) -> String {
    let study = reproduction.study();
    let numbers: Vec<u8> = drawn.iter().map(|(figure, _)| figure.number).collect();
    let shown = PageContents {
        results,
        claims: decided,
        figures: &numbers,
    };
    let found = (study.text.found)(&shown);
    // The theory is about the whole study, and takes some seconds.
    let theory = study.text.theory.filter(|_| !reproduction.is_part());
    let body = html! {
        div style={ "--variants:" (study.variants.len()) } {
            (head(reproduction, &shown, making))
            (contents(study, &shown, &found, theory.is_some()))
            @if !found.is_empty() {
                section id="found" {
                    h2 { "What was found" }
                    ul.found { @for sentence in &found { li { (sentence) } } }
                    p.place {
                        "Numbers are medians over seeds. The claims below have intervals, and decide by them."
                    }
                }
            }
            @if !decided.is_empty() {
                (glance::section(study, decided))
                (claims::sections(study, &shown))
            }
            (figures::section(drawn, results))
            @if let Some(theory) = theory {
                section id="theory" { h2 { "The theory in short" } (theory()) }
            }
            (method::protocol(study))
            (settings::section(results))
            (method::choices(study))
        }
    };
    document(
        study.title,
        "induct reproduce",
        include_str!("report.css"),
        &body,
    )
}

/// What this is, how it was made, and how much of the study it is.
fn head(reproduction: &Reproduction, shown: &PageContents, making: &Making) -> Markup {
    let study = reproduction.study();
    let runs: usize = shown.results.all().iter().map(|t| t.runs.len()).sum();
    let first = reproduction.experiments.first().map(|e| e.seed(0));
    html! {
        header {
            h1 { (study.title) }
            p.lead { ((study.text.lead)()) }
            p.place {
                code { (making.command) }
                ", " (format!("{:.0}", making.seconds)) " s"
                @if making.resumed { " (some runs are from an earlier session)" }
                ", " (making.machine) ", version " (making.version) "; " (count(runs, "run"))
                @if let Some(first) = first { ", the first seed of each experiment is " (first) }
                "."
            }
            div.note {
                @match making.full {
                    true => (full_note(shown.claims)),
                    false => (quick_note(study, runs)),
                }
                @if reproduction.is_part() { (part_note(shown)) }
                @if !making.set.is_empty() {
                    p {
                        strong { "The settings are not the study's: " }
                        "every recipe was changed by "
                        (joined(making.set.iter().map(|set| html! { code { (set) } }), ", ")) "."
                    }
                }
            }
        }
    }
}

fn quick_note(study: &Study, runs: usize) -> Markup {
    html! {
        p {
            strong { "This is the quick form" } ": " (count(runs, "run")) ". Claims with fewer than "
            (FEWEST) " seeds are not judged. " code { "induct reproduce --full" }
            " trains batches of seeds in all " (study.variants.len()) " variants until every core part is "
            "decided or has all its seeds (at most 40 minutes on two cores)."
        }
    }
}

/// How many decisions the page makes, and how many of them may be wrong.
fn full_note(claims: &[Decision]) -> Markup {
    let core = claims.iter().flat_map(|claim| &claim.parts);
    let core = core.filter(|part| part.role == Role::Core);
    let judged = |verdict: Verdict| !matches!(verdict, Verdict::NotJudged | Verdict::NotRun);
    let judged = core.filter(|part| judged(part.verdict)).count();
    html! {
        p {
            strong { "This is the full form" } ". It judges " (count(judged, "core part"))
            " of claims, over all variants. Each is decided wrongly with a probability of "
            (format!("{:.0}", 100.0 * ERROR)) " % at most, so expect at most "
            (format!("{:.1}", ERROR * judged as f64)) " false decisions among them."
        }
    }
}

fn part_note(shown: &PageContents) -> Markup {
    let figures = shown.figures.iter().map(|&number| shown.figure(number));
    let claims = shown.claims.iter().map(|claim| shown.claim(claim.id));
    html! {
        p {
            strong { "This is a part of the study" } ": " (joined(figures.chain(claims), ", ")) "."
        }
    }
}

fn contents(study: &Study, shown: &PageContents, found: &[Markup], theory: bool) -> Markup {
    let asked = |question: &str| shown.claims.iter().any(|claim| claim.question == question);
    let item = |anchor: &str, title: &str| html! { li { a href={ "#" (anchor) } { (title) } } };
    html! {
        nav aria-label="Contents" {
            ol {
                @if !found.is_empty() { (item("found", "What was found")) }
                @if !shown.claims.is_empty() { (item("claims", "Claims at a glance")) }
                @for (index, &question) in study.questions().iter().enumerate() {
                    @if asked(question) { (item(&format!("question-{}", index + 1), question)) }
                }
                @if !shown.figures.is_empty() { (item("figures", "Figures")) }
                @if theory { (item("theory", "The theory in short")) }
                (item("protocol", "The protocol"))
                (item("experiments", "Experiments"))
                (item("choices", "Choices"))
            }
        }
    }
}
