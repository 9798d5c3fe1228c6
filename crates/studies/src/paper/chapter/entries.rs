//! Entries of the ledger as HTML.

use maud::{Markup, PreEscaped, html};

use crate::html::{badge, joined, prose};
use induct_ledger::{Entry, Formula, Kind, Verdict};

/// A number in readable form: 1.3 · 10⁻¹⁶.
pub fn number(value: f64) -> Markup {
    if value == 0.0 {
        return html! { "0" };
    }
    if !value.is_finite() {
        return html! { "no number" };
    }
    if (1e-3..1e5).contains(&value.abs()) {
        let decimals = (2 - value.abs().log10().floor() as i32).max(0) as usize;
        return html! { (format!("{value:.decimals$}").replace('-', "−")) };
    }
    let text = format!("{value:.1e}").replace('-', "−");
    match text.split_once('e') {
        Some((digits, power)) => html! { (digits) " · 10" sup { (power) } },
        None => html! { (text) },
    }
}

/// One entry.
pub fn article(entry: &Entry) -> Markup {
    // A correction is shown only if it holds.
    let correction = match entry.verdict {
        Verdict::Misprint { .. } => entry.correction.as_ref(),
        _ => None,
    };
    let verdict = entry.verdict.name();
    html! {
        article id=(entry.id) {
            h3 {
                (badge(verdict, verdict)) " "
                span.place { (entry.place.section) ": " (place(entry.place.at)) }
            }
            p { (prose(entry.statement)) }
            (formula("printed", &entry.printed))
            @if let Some(correction) = correction { (formula("corrected", &correction.formula)) }
            (outcome(entry))
            (evidence(entry))
        }
    }
}

fn formula(label: &str, formula: &Formula) -> Markup {
    html! {
        div.formula {
            span.label { (label) }
            div.math tabindex="0" { (PreEscaped(formula.mathml())) }
        }
    }
}

/// Prose and quotations contain formulas; labels of equations do not.
fn place(at: &str) -> Markup {
    match at.contains("eq. ") || at.contains("eqs. ") {
        true => html! { (at) },
        false => prose(at),
    }
}

/// The change, condition or order of the remainder, and the deviations.
fn outcome(entry: &Entry) -> Markup {
    let evidence = &entry.evidence;
    let what = match evidence.kind {
        Kind::Equality => "Largest deviation",
        Kind::LeadingOrder => "Deviation at the longest length",
        Kind::Statement => "Smallest margin (negative: it fails)",
    };
    let corrected = match entry.verdict {
        Verdict::Misprint { .. } => evidence.corrected_off,
        _ => None,
    };
    html! {
        p.outcome {
            @match &entry.verdict {
                Verdict::Misprint { change } => { "Change: " strong { (prose(change)) } ". " }
                Verdict::CorrectUnderCondition { condition } => {
                    "Condition: " strong { (prose(condition)) } ". "
                }
                Verdict::CorrectToLeadingOrder { remainder } => {
                    "The remainder grows like " (evidence.worst.first().map_or("", |at| at.0))
                    " to the power " strong { (format!("{remainder:.2}").replace('-', "−")) } ". "
                }
                Verdict::Correct | Verdict::DoesNotFollow | Verdict::Open => {}
            }
            (what) " " (number(evidence.printed_off))
            @if let Some(off) = corrected { "; corrected " (number(off)) }
            "."
        }
    }
}

/// The evidence for the verdict, collapsed.
fn evidence(entry: &Entry) -> Markup {
    let evidence = &entry.evidence;
    let row = |name: Markup, value: Markup| {
        html! { tr { th scope="row" { (name) } td { (value) } } }
    };
    let named = |name: &str, value: Markup| row(html! { (name) }, value);
    let coordinate = |(name, value): &(&str, f64)| html! { (name) " = " (number(*value)) };
    let [first, second] = evidence.routes;
    html! {
        details {
            summary { "Evidence " code { (entry.id) } }
            table {
                (named("Independent routes", html! { (first) "; " (second) }))
                (named("They differ by", html! {
                    (number(evidence.routes_apart)) " (allowed: " (number(evidence.tolerance)) ")"
                }))
                (named("Points on the grid", html! { (evidence.points.len()) }))
                @if !evidence.worst.is_empty() {
                    (named("Worst point", joined(evidence.worst.iter().map(coordinate), ", ")))
                }
                @for (name, value) in &evidence.numbers { (row(prose(name), number(*value))) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let shown = |value: f64| number(value).into_string();
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(0.45), "0.450");
        assert_eq!(shown(-5.5), "−5.50");
        assert_eq!(shown(1.3e-16), "1.3 · 10<sup>−16</sup>");
        assert_eq!(shown(3513.0), "3513");
        assert_eq!(shown(f64::INFINITY), "no number");
    }
}
