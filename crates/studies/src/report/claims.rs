//! The first section of the report: the outcome of each claim.

use super::{number, scrolling, table_head};
use crate::html::escape;
use crate::paper::claims::{Decided, Part, Verdict};

/// The number of claims with each verdict.
pub(super) fn counts(claims: &[Decided]) -> String {
    let all = [
        Verdict::Holds,
        Verdict::HoldsInPart,
        Verdict::DoesNotHold,
        Verdict::Undecided,
    ];
    let count = |verdict: Verdict| {
        claims
            .iter()
            .filter(|claim| claim.verdict == verdict)
            .count()
    };
    let badges = all.into_iter().filter(|&verdict| count(verdict) > 0);
    let badges = badges.map(|verdict| format!("{} {}", count(verdict), badge(verdict)));
    badges.collect::<Vec<_>>().join(" ")
}

fn badge(verdict: Verdict) -> String {
    let class = verdict.name().replace(' ', "-");
    format!("<span class=\"badge {class}\">{}</span>", verdict.name())
}

/// The table of all claims.
pub(super) fn table(claims: &[Decided]) -> String {
    let row = |claim: &Decided| {
        let holding = claim
            .parts
            .iter()
            .filter(|part| part.verdict == Verdict::Holds);
        format!(
            "<tr><th scope=\"row\"><a href=\"#{id}\">{id}</a></th><td>{}</td><td>{} <span \
             class=\"interval\">{} of {}</span></td><td class=\"number\">{}</td><td>{}</td><td \
             class=\"number\">{}</td><td><a href=\"#figure-{figure}\">{figure}</a></td></tr>\n",
            escape(claim.title),
            badge(claim.verdict),
            holding.count(),
            claim.parts.len(),
            value(claim.effect, claim.interval),
            minus(&claim.limit.text()),
            claim.seeds,
            id = claim.id,
            figure = claim.figure,
        )
    };
    let heads = [
        "claim",
        "in short",
        "verdict (parts that hold)",
        "first part: effect",
        "holds if",
        "seeds",
        "figure",
    ];
    scrolling(
        "Claims",
        &format!(
            "<table class=\"claims\">\n{}<tbody>\n{}</tbody>\n</table>",
            table_head(&heads),
            claims.iter().map(row).collect::<String>()
        ),
    )
}

/// Replaces hyphens by minus signs.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}

fn value(effect: Option<f64>, interval: Option<[f64; 2]>) -> String {
    let effect = effect.map_or("–".into(), number);
    match interval {
        Some([low, high]) => format!(
            "{effect} <span class=\"interval\">[{}, {}]</span>",
            number(low),
            number(high)
        ),
        None => effect,
    }
}

/// A claim with all its measures.
pub(super) fn article(claim: &Decided) -> String {
    let row = |part: &Part| {
        format!(
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td>{}</td><td \
             class=\"number\">{}</td><td>{}</td></tr>\n",
            escape(&part.what),
            escape(&part.measure),
            value(part.effect, part.interval),
            minus(&part.limit.text()),
            part.seeds,
            badge(part.verdict),
        )
    };
    let remark = match claim.remark {
        "" => String::new(),
        remark => format!("<p>{}</p>\n", escape(remark)),
    };
    let heads = [
        "on",
        "what is measured",
        "effect",
        "holds if",
        "seeds",
        "verdict",
    ];
    let table = format!(
        "<table class=\"parts\">\n{}<tbody>\n{}</tbody>\n</table>",
        table_head(&heads),
        claim.parts.iter().map(row).collect::<String>()
    );
    format!(
        "<article id=\"{id}\">\n<h3>{id}. {} {}</h3>\n<p>{} <span class=\"place\">In the paper: {}. See <a \
         href=\"#figure-{figure}\">figure {figure}</a>.</span></p>\n{}{remark}</article>\n",
        escape(claim.title),
        badge(claim.verdict),
        escape(claim.statement),
        escape(claim.place),
        scrolling(&format!("Measures of {}", claim.id), &table),
        id = claim.id,
        figure = claim.figure,
    )
}
