//! The page that contains entries and figures.

use super::entries::article;
use super::figures::ChapterFigure;
use super::findings;
use crate::html::{self, escape};
use crate::paper::ledger::{Entry, counts};

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
    let mut body = summary(entries);
    body += &figures_after("summary", figures);
    body += &contents(entries);
    for (anchor, title, groups) in PARTS {
        let held: Vec<&Entry> = entries_of(entries, groups).collect();
        body += &format!(
            "<section id=\"{anchor}\">\n<h2>{title}</h2>\n<p class=\"counts\">{}</p>\n",
            verdict_counts(held.iter().copied())
        );
        body += &figures_after(anchor, figures);
        held.iter().for_each(|entry| body += &article(entry));
        body += "</section>\n";
    }
    html::document("The theory, checked", "induct theory", "", &body)
}

fn entries_of<'a>(entries: &'a [Entry], groups: &'a [&str]) -> impl Iterator<Item = &'a Entry> {
    entries
        .iter()
        .filter(move |entry| groups.contains(&entry.group()))
}

/// "53 correct, 26 misprint", each as a coloured badge.
fn verdict_counts<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> String {
    let each = counts(entries).into_iter().map(|(name, count)| {
        let class = name.replace(' ', "-");
        format!("<span class=\"badge {class}\">{count} {name}</span>")
    });
    each.collect::<Vec<_>>().join(" ")
}

fn summary(entries: &[Entry]) -> String {
    let [holds, fails] = findings::lists(entries);
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
    format!(
        "<header>\n<h1>The theory, checked</h1>\n<p class=\"lead\">Every formula and quantitative claim of \
         section 3.2 and Appendix A of <em>The Evolution of Statistical Induction Heads: In-Context Learning \
         Markov Chains</em> (Edelman, Edelman, Goel, Malach, Tsilivis, 2024), and the posterior and \
         constructions of section 2, checked against the truth by machine.</p>\n</header>\n\
         <section id=\"summary\">\n<h2>Results</h2>\n<p class=\"counts\">{all}</p>\n\
         <p>Of {count} entries, {good} hold as printed, to leading order, or under a stated condition; \
         {misprints} are misprints, with a corrected form that was verified like the rest; {lost} do not \
         follow. Verdicts are not opinions: the printed form is code, the truth is computed by two routes \
         that share no code (in {close} entries they agree to 10<sup>−10</sup> or better; in the others, \
         which measure orders or use samples, they agree within the stated tolerance), and fixed rules \
         decide from the deviations on a grid.</p>\n\
         <h3>What holds</h3>\n<ul>\n{holds}</ul>\n<h3>What does not</h3>\n<ul>\n{fails}</ul>\n\
         {meaning}</section>\n",
        all = verdict_counts(entries.iter()),
        count = entries.len(),
        misprints = of(&["misprint"]),
        lost = of(&["does not follow"]),
        meaning = meaning(entries),
    )
}

/// What the verdicts mean for the paper's conclusions. A paragraph appears only if its entries have the
/// verdicts that it describes.
fn meaning(entries: &[Entry]) -> String {
    let is = |id: &str, name: &str| {
        entries
            .iter()
            .any(|e| e.id == id && e.verdict.name() == name)
    };
    let story = is("first-step.wk", "correct")
        && is("second-step.dominant", "correct under a condition")
        && is("second-step.larger", "misprint");
    let curriculum = is("proposition.reaches-bigrams", "does not follow");
    let mut text = String::new();
    if story {
        text += "<p>The paper's account of the first two steps stands: the second layer learns first, and \
                 the first layer follows in the second step. Its misprints need to be corrected, and the \
                 learning rate must be large enough for the length.</p>\n";
    }
    if curriculum {
        text += "<p>The Proposition about the curriculum, as a statement about what two steps reach, does \
                 not stand.</p>\n";
    }
    match text.is_empty() {
        true => text,
        false => format!("<h3>What it means for the conclusions</h3>\n{text}"),
    }
}

fn contents(entries: &[Entry]) -> String {
    let items = PARTS.map(|(anchor, title, groups)| {
        let count = entries_of(entries, groups).count();
        format!("<li><a href=\"#{anchor}\">{title}</a> ({count})</li>\n")
    });
    format!(
        "<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n<ol>\n{}</ol>\n</nav>\n",
        items.concat()
    )
}

/// The figures of a part, each laid out for wide and for narrow screens; the style sheet shows one of them.
fn figures_after(anchor: &str, figures: &[ChapterFigure]) -> String {
    let chosen = figures.iter().filter(|figure| figure.after == anchor);
    let each = chosen.map(|figure| {
        format!(
            "<figure id=\"figure-{name}\">\n{}<figcaption>{} <span class=\"files\">Files: <a \
             href=\"{name}.svg\">SVG</a>, <a href=\"{name}.png\">PNG</a>, <a \
             href=\"{name}.csv\">CSV</a></span></figcaption>\n</figure>\n",
            html::layouts(&figure.drawn, &LAYOUTS),
            figure.caption,
            name = escape(figure.name),
        )
    });
    each.collect()
}
