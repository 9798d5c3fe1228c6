//! The first section of the report: the outcome of each claim.

use super::number;
use crate::claim::{Decided, JudgedPart, Verdict};
use crate::html::escape;

fn badge(verdict: Verdict) -> String {
    let class = verdict.name().replace(' ', "-");
    format!("<span class=\"badge {class}\">{}</span>", verdict.name())
}

/// A claim with all its measures.
pub(super) fn article(claim: &Decided) -> String {
    let row = |part: &JudgedPart| {
        format!(
            "<li>{} {} {}: {} {} {}</li>\n",
            badge(part.verdict),
            part.variant,
            escape(part.on),
            escape(part.measure),
            part.effect.map_or("–".into(), number),
            part.limit.text(),
        )
    };
    let verdicts = claim.verdicts.iter();
    let verdicts: String = verdicts
        .map(|v| format!("{} {} ", v.variant, badge(v.verdict)))
        .collect();
    format!(
        "<article id=\"{id}\">\n<h3>{id}. {}</h3><p>{verdicts}</p><ul>{}</ul></article>\n",
        escape(claim.title),
        claim.parts.iter().map(row).collect::<String>(),
        id = claim.id,
    )
}
