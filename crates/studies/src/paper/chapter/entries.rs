//! Entries of the ledger as HTML.

use crate::html::escape;
use crate::paper::ledger::{Entry, Kind, Verdict};

/// Text of the ledger as HTML, with subscripts and superscripts for `v_2` and `ε^(2k)`.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = letters.next() {
        let tag = match c {
            '_' if before.is_alphanumeric() => "sub",
            '^' => "sup",
            _ => {
                out += &escape(&c.to_string());
                before = c;
                continue;
            }
        };
        let inside: String = match letters.next_if_eq(&'(') {
            Some(_) => letters.by_ref().take_while(|&c| c != ')').collect(),
            None => {
                let mut word = String::new();
                while let Some(c) = letters.next_if(|c| c.is_alphanumeric()) {
                    word.push(c);
                }
                word
            }
        };
        out += &format!("<{tag}>{}</{tag}>", prose(&inside));
        before = ' ';
    }
    out
}

/// A number in readable form: 1.3 · 10⁻¹⁶.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return "no number".into();
    }
    if (1e-3..1e5).contains(&value.abs()) {
        let decimals = (2 - value.abs().log10().floor() as i32).max(0) as usize;
        return format!("{value:.decimals$}").replace('-', "−");
    }
    let text = format!("{value:.1e}").replace('-', "−");
    match text.split_once('e') {
        Some((digits, power)) => format!("{digits} · 10<sup>{power}</sup>"),
        None => text,
    }
}

/// The verdict as a coloured badge. It includes the name, since colour alone is not accessible.
pub fn badge(verdict: &Verdict) -> String {
    let name = verdict.name();
    format!(
        "<span class=\"badge {}\">{name}</span>",
        name.replace(' ', "-")
    )
}

/// One entry.
pub fn article(entry: &Entry) -> String {
    let formula = |label: &str, mathml: String| {
        format!(
            "<div class=\"formula\"><span class=\"label\">{label}</span><div class=\"math\" \
             tabindex=\"0\">{mathml}</div></div>\n"
        )
    };
    let mut formulas = formula("printed", entry.printed.mathml());
    // A correction is shown only if it holds.
    if let (Verdict::Misprint { .. }, Some(correction)) = (&entry.verdict, &entry.correction) {
        formulas += &formula("corrected", correction.formula.mathml());
    }
    format!(
        "<article id=\"{id}\">\n<h3>{badge} <span class=\"place\">{section}: \
         {at}</span></h3>\n<p>{statement}</p>\n{formulas}{outcome}{evidence}</article>\n",
        id = entry.id,
        badge = badge(&entry.verdict),
        section = escape(entry.place.section),
        at = place(entry.place.at),
        statement = prose(entry.statement),
        outcome = outcome(entry),
        evidence = evidence(entry),
    )
}

/// Prose and quotations contain formulas; labels of equations do not.
fn place(at: &str) -> String {
    match at.contains("eq. ") || at.contains("eqs. ") {
        true => escape(at),
        false => prose(at),
    }
}

/// The change, condition or order of the remainder, and the deviations.
fn outcome(entry: &Entry) -> String {
    let mut parts = Vec::new();
    match &entry.verdict {
        Verdict::Misprint { change } => {
            parts.push(format!("Change: <strong>{}</strong>.", prose(change)))
        }
        Verdict::CorrectUnderCondition { condition } => {
            parts.push(format!("Condition: <strong>{}</strong>.", prose(condition)));
        }
        Verdict::CorrectToLeadingOrder { remainder } => {
            let x = entry.evidence.worst.first().map_or("", |at| at.0);
            let remainder = format!("{remainder:.2}").replace('-', "−");
            parts.push(format!(
                "The remainder grows like {x} to the power <strong>{remainder}</strong>."
            ));
        }
        Verdict::Correct | Verdict::DoesNotFollow | Verdict::Open => {}
    }
    let off = number(entry.evidence.printed_off);
    let what = match entry.evidence.kind {
        Kind::Equality => "Largest deviation",
        Kind::LeadingOrder => "Deviation at the longest length",
        Kind::Statement => "Smallest margin (negative: it fails)",
    };
    let corrected = match (entry.evidence.corrected_off, &entry.verdict) {
        (Some(off), Verdict::Misprint { .. }) => format!("; corrected {}", number(off)),
        _ => String::new(),
    };
    parts.push(format!("{what} {off}{corrected}."));
    format!("<p class=\"outcome\">{}</p>\n", parts.join(" "))
}

/// The evidence for the verdict, collapsed.
fn evidence(entry: &Entry) -> String {
    let evidence = &entry.evidence;
    let at = |point: &[(&str, f64)]| {
        let each = point
            .iter()
            .map(|(name, value)| format!("{} = {}", escape(name), number(*value)));
        each.collect::<Vec<_>>().join(", ")
    };
    let mut rows = format!(
        "<tr><th scope=\"row\">Independent routes</th><td>{}; {}</td></tr>\n\
         <tr><th scope=\"row\">They differ by</th><td>{} (allowed: {})</td></tr>\n\
         <tr><th scope=\"row\">Points on the grid</th><td>{}</td></tr>\n",
        escape(evidence.routes[0]),
        escape(evidence.routes[1]),
        number(evidence.routes_apart),
        number(evidence.tolerance),
        evidence.points.len()
    );
    if !evidence.worst.is_empty() {
        rows += &format!(
            "<tr><th scope=\"row\">Worst point</th><td>{}</td></tr>\n",
            at(&evidence.worst)
        );
    }
    for (name, value) in &evidence.numbers {
        rows += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
            prose(name),
            number(*value)
        );
    }
    format!(
        "<details><summary>Evidence <code>{}</code></summary>\n<table>\n{rows}</table>\n</details>\n",
        entry.id
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_stand_where_they_belong() {
        assert_eq!(prose("v_2 < w_init"), "v<sub>2</sub> &lt; w<sub>init</sub>");
        assert_eq!(
            prose("ε^(2k)/2 and x_(i−1)"),
            "ε<sup>2k</sup>/2 and x<sub>i−1</sub>"
        );
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(0.45), "0.450");
        assert_eq!(number(-5.5), "−5.50");
        assert_eq!(number(1.3e-16), "1.3 · 10<sup>−16</sup>");
        assert_eq!(number(3513.0), "3513");
        assert_eq!(number(f64::INFINITY), "no number");
    }
}
