//! The page that contains entries and figures.

use maud::{Markup, PreEscaped, html};

use super::entries::article;
use super::figures::ChapterFigure;
use super::findings::{FINDINGS, said};
use crate::html::{badge, document, files, joined, layouts};
use induct_ledger::{Entry, counts};

/// Parts of the chapter: an anchor, a title, and its groups of entries (the prefixes of their names).
const PARTS: [(&str, &str, &[&str]); 6] = [
    (
        "strategies",
        "Strategies and constructions",
        &["posterior", "fact", "transformer", "construction"],
    ),
    (
        "model",
        "The model, its loss and its chains",
        &["model", "loss", "chain"],
    ),
    ("first-step", "The first step", &["first-step"]),
    ("second-step", "The second step", &["second-step"]),
    ("corollary", "The Corollary: a = b", &["corollary"]),
    (
        "proposition",
        "The Proposition, and remarks in the text",
        &["proposition", "text"],
    ),
];

/// How closely the two routes agree if neither is a measured order or a sample.
const CLOSE: f64 = 1e-10;

/// The widths for which inline figures are laid out.
const LAYOUTS: [(&str, u32); 2] = [("wide", 720), ("narrow", 350)];

/// The whole page.
pub fn page(entries: &[Entry], figures: &[ChapterFigure]) -> String {
    let body = html! {
        (summary(entries))
        (figures_after("summary", figures))
        (contents(entries))
        @for (anchor, title, groups) in PARTS {
            section id=(anchor) {
                h2 { (title) }
                p.counts { (verdict_counts(entries_of(entries, groups))) }
                (figures_after(anchor, figures))
                @for entry in entries_of(entries, groups) { (article(entry)) }
            }
        }
    };
    document("The theory, checked", "induct theory", "", &body)
}

fn entries_of<'a>(
    entries: &'a [Entry],
    groups: &'a [&str],
) -> impl Iterator<Item = &'a Entry> + Clone {
    entries
        .iter()
        .filter(move |entry| groups.contains(&entry.group()))
}

/// "53 correct, 26 misprint", each as a coloured badge.
pub fn verdict_counts<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> Markup {
    let each = counts(entries).into_iter();
    joined(
        each.map(|(name, count)| badge(name, &format!("{count} {name}"))),
        " ",
    )
}

fn summary(entries: &[Entry]) -> Markup {
    let of = |names: &[&str]| {
        entries
            .iter()
            .filter(|e| names.contains(&e.verdict.name()))
            .count()
    };
    let good = of(&[
        "correct",
        "correct to leading order",
        "correct under a condition",
    ]);
    let close = |entry: &&Entry| entry.evidence.routes_apart <= CLOSE;
    let close = entries.iter().filter(close).count();
    html! {
        header {
            h1 { "The theory, checked" }
            p.lead {
                "Every formula and quantitative claim of section 3.2 and Appendix A of "
                em { "The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains" }
                " (Edelman, Edelman, Goel, Malach, Tsilivis, 2024), and the posterior and constructions of "
                "section 2, checked against the truth by machine."
            }
        }
        section id="summary" {
            h2 { "Results" }
            p.counts { (verdict_counts(entries.iter())) }
            p {
                "Of " (entries.len()) " entries, " (good) " hold as printed, to leading order, or under a "
                "stated condition; " (of(&["misprint"])) " are misprints, with a corrected form that was "
                "verified like the rest; " (of(&["does not follow"])) " do not follow. Verdicts are not "
                "opinions: the printed form is code, the truth is computed by two routes that share no code "
                "(in " (close) " entries they agree to 10" sup { "−10" } " or better; in the others, which "
                "measure orders or use samples, they agree within the stated tolerance), and fixed rules "
                "decide from the deviations on a grid."
            }
            h3 { "What holds" }
            ul { (said(&FINDINGS.holds, entries)) }
            h3 { "What does not" }
            ul { (said(&FINDINGS.fails, entries)) }
            (meaning(entries))
        }
    }
}

/// What the verdicts mean for the paper's conclusions. A paragraph appears only if its entries have the
/// verdicts that it describes.
fn meaning(entries: &[Entry]) -> Markup {
    let is = |id: &str, name: &str| {
        entries
            .iter()
            .any(|e| e.id == id && e.verdict.name() == name)
    };
    let story = is("first-step.wk", "correct")
        && is("second-step.dominant", "correct under a condition")
        && is("second-step.larger", "misprint");
    let curriculum = is("proposition.reaches-bigrams", "does not follow");
    html! {
        @if story || curriculum { h3 { "What it means for the conclusions" } }
        @if story {
            p {
                "The paper's account of the first two steps stands: the second layer learns first, and the "
                "first layer follows in the second step. Its misprints need to be corrected, and the learning "
                "rate must be large enough for the length."
            }
        }
        @if curriculum {
            p {
                "The Proposition about the curriculum, as a statement about what two steps reach, does not "
                "stand."
            }
        }
    }
}

fn contents(entries: &[Entry]) -> Markup {
    html! {
        nav aria-label="Contents" {
            h2 { "Contents" }
            ol {
                @for (anchor, title, groups) in PARTS {
                    li {
                        a href={ "#" (anchor) } { (title) }
                        " (" (entries_of(entries, groups).count()) ")"
                    }
                }
            }
        }
    }
}

/// The figures of a part, each laid out for wide and for narrow screens; the style sheet shows one of them.
fn figures_after(anchor: &str, figures: &[ChapterFigure]) -> Markup {
    html! {
        @for figure in figures.iter().filter(|figure| figure.after == anchor) {
            figure id={ "figure-" (figure.name) } {
                (layouts(&figure.drawn, &LAYOUTS))
                figcaption {
                    (PreEscaped(&figure.caption)) " "
                    span.files { "Files: " (files(figure.name)) }
                }
            }
        }
    }
}
