//! The head of the report: what became of each claim.

use super::{escape, number};
use crate::claims::{Decided, Part, Verdict};

/// How many claims have each verdict, in words.
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
        format!(
            "<tr><th scope=\"row\"><a href=\"#{id}\">{id}</a></th><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td><a href=\"#figure-{figure}\">{figure}</a></td></tr>\n",
            escape(claim.title),
            badge(claim.verdict),
            value(claim.effect, claim.interval),
            claim.seeds,
            id = claim.id,
            figure = claim.figure,
        )
    };
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"Claims\" tabindex=\"0\"><table class=\"claims\">\n<thead><tr><th scope=\"col\">claim</th><th scope=\"col\">in short</th>\
         <th scope=\"col\">verdict</th><th scope=\"col\">effect and 95 % interval</th><th scope=\"col\">seeds</th><th scope=\"col\">figure</th></tr></thead>\n\
         <tbody>\n{}</tbody>\n</table></div>\n",
        claims.iter().map(row).collect::<String>()
    )
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

/// A claim with all that was measured.
pub(super) fn article(claim: &Decided) -> String {
    let row = |part: &Part| {
        format!(
            "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>\n",
            escape(&part.what),
            escape(&part.measure),
            value(part.effect, part.interval),
            part.limit.text(),
            part.seeds,
            badge(part.verdict),
        )
    };
    format!(
        "<article id=\"{id}\">\n<h3>{id}. {} {}</h3>\n<p>{} <span class=\"place\">In the paper: {}. Shown in <a href=\"#figure-{figure}\">figure {figure}</a>.</span></p>\n\
         <div class=\"scroll\" role=\"region\" aria-label=\"Measures of {id}\" tabindex=\"0\"><table class=\"parts\">\n<thead><tr><th scope=\"col\">of</th><th scope=\"col\">what is measured</th>\
         <th scope=\"col\">effect</th><th scope=\"col\">holds if</th><th scope=\"col\">seeds</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n</article>\n",
        escape(claim.title),
        badge(claim.verdict),
        escape(claim.statement),
        escape(claim.place),
        claim.parts.iter().map(row).collect::<String>(),
        id = claim.id,
        figure = claim.figure,
    )
}
