//! What the page of the paper says beyond its claims and figures: what was found, with every number taken
//! from the runs, and the theory in short.

use induct::measure::PREVIOUS_TOKEN;
use induct_ledger::{Entry, ledger};
use maud::{Markup, html};

use super::chapter::verdict_counts;
use super::claims::allowed_by_counts;
use crate::claim::Verdict;
use crate::html::{joined, prose};
use crate::report::{PageContents, number};
use crate::results::TrainedExperiment;
use crate::run::Run;

/// The transformer of each variant, with two states and with three.
const TRANSFORMERS: [(&str, [&str; 2]); 3] = [
    ("printed", ["printed", "printed-three-states"]),
    ("released", ["released", "released-three-states"]),
    ("recommended", ["main", "three-states"]),
];

/// Near the bigram strategy, as in C1: at least this fraction of the gap is closed.
const NEAR: f64 = 0.75;

/// A head attends to what it should: at least as much as this, as in C5.
const ATTENDS: f64 = 0.5;

/// Layer 1 has a previous-token head if it gives at least this much attention to the previous token at the
/// end; the runs fall into two groups, far above and far below.
const FORMED: f64 = 0.3;

/// Where the horizontal axis of the paper's figures of two and three states ends, in thousands of sequences.
const THEIR_AXIS: f64 = 128.0;

/// The fraction of the gap between unigrams and bigrams at which the curves end that the authors' release
/// renders, with two and with three states. Read by eye, within 0.02 nats.
const THEIR_CURVES: [f64; 2] = [0.88, 0.87];

/// What is studied.
pub(super) fn lead() -> Markup {
    html! {
        "Every figure and every claim of "
        cite { "The Evolution of Statistical Induction Heads: In-Context Learning Markov Chains" }
        " (Edelman, Edelman, Goel, Malach, Tsilivis, 2024), trained anew: as the text says, as the authors' code "
        "does, and as we recommend."
    }
}

/// What was found. A sentence is missing if nothing was trained for it, or no run shows what it is about.
pub(super) fn found(shown: &PageContents) -> Vec<Markup> {
    let sentences = [
        bigrams, phases, drop, mechanism, one_layer, signal, minimal, rates, released, failures,
    ];
    sentences.iter().filter_map(|say| say(shown)).collect()
}

fn bigrams(shown: &PageContents) -> Option<Markup> {
    let closed = |trained: &TrainedExperiment| finite(trained.gap_closed("unigram", "bigram"));
    let ids = TRANSFORMERS.iter().flat_map(|(_, ids)| ids);
    let near = ids.filter_map(|id| Some(closed(trained(shown, id)?)? >= NEAR));
    let headline = headline(
        near,
        [
            "Two layers learn bigrams.",
            "Two layers learn bigrams, but not in every setting.",
            "Two layers have not come near bigrams here.",
        ],
    );
    let parts = ["two", "three"].into_iter().enumerate();
    let parts = parts.filter_map(|(at, states)| {
        let said = by_variant(shown, at, |trained| closed(trained).map(fraction))?;
        Some(html! { "with " (states) " states, " (said) })
    });
    let parts: Vec<Markup> = parts.collect();
    (!parts.is_empty()).then(|| {
        html! {
            strong { (headline) }
            " Of the gap between the unigram and the bigram strategy's loss, the final models close, "
            (joined(parts, "; ")) " (" (shown.claim("C1")) ", " (shown.figure(3)) ", " (shown.figure(12)) ")."
        }
    })
}

fn phases(shown: &PageContents) -> Option<Markup> {
    let ordered = |trained: &TrainedExperiment| {
        let ordered = |run: &&Run| run.order() == ["uniform", "unigram", "bigram"];
        trained.completed().filter(ordered).count()
    };
    let said = by_variant(shown, 0, |trained| {
        Some(format!(
            "{} of {} runs",
            ordered(trained),
            trained.runs.len()
        ))
    })?;
    let mostly = TRANSFORMERS.iter().filter_map(|(_, ids)| {
        let trained = trained(shown, ids[0])?;
        Some(2 * ordered(trained) > trained.runs.len())
    });
    let headline = headline(
        mostly,
        [
            "The phases are uniform, unigram, bigram.",
            "The phases are uniform, unigram, bigram, but not in every variant.",
            "The phases are not uniform, unigram, bigram here.",
        ],
    );
    let onset = by_variant(shown, 0, |trained| {
        let onset = finite(trained.thousands(trained.median(|run| run.onset("bigram"))))?;
        Some(format!("{} thousand", number(onset)))
    });
    Some(html! {
        strong { (headline) }
        " With two states, the nearest strategies come in this order in " (said)
        @if let Some(onset) = onset {
            "; bigrams become the nearest after " (onset) " sequences"
        }
        " (" (shown.claim("C2")) ", " (shown.figure(1)) ")."
    })
}

fn drop(shown: &PageContents) -> Option<Markup> {
    let lengths = |trained: &TrainedExperiment| {
        let plateau = trained.median(|run| {
            let fall = run.fall_from("unigram")?;
            Some(fall.start - fall.onset)
        });
        let drop = trained.median(|run| {
            let fall = run.fall_from("unigram")?;
            Some(fall.end - fall.start)
        });
        Some((finite(plateau)?, finite(drop)?))
    };
    let said = by_variant(shown, 0, |trained| {
        let (plateau, drop) = lengths(trained)?;
        Some(format!("{plateau:.0} and {drop:.0} steps"))
    })?;
    let sudden = TRANSFORMERS.iter().filter_map(|(_, ids)| {
        let (plateau, drop) = lengths(trained(shown, ids[0])?)?;
        Some(plateau >= 2.0 * drop)
    });
    let headline = headline(
        sudden,
        [
            "The second drop is sudden.",
            "The second drop is sudden, but not in every variant.",
            "The second drop is not sudden here.",
        ],
    );
    Some(html! {
        strong { (headline) }
        " With two states, the plateau and the drop last " (said) " (" (shown.claim("C4")) ", "
        (shown.figure(8)) ")."
    })
}

fn mechanism(shown: &PageContents) -> Option<Markup> {
    let back = effect(shown, PREVIOUS_BY_SYMBOL)?;
    let followers = effect(shown, FOLLOWERS)?;
    let headline = match back.min(followers) >= ATTENDS {
        true => "The mechanism is an induction head.",
        false => "The heads are not those of an induction head here.",
    };
    Some(html! {
        strong { (headline) }
        " With two states (recommended), layer 1 gives " (fraction(back)) " of its attention to the previous "
        "token where that is the symbol it marks (to tell two symbols apart, it is enough to mark one), and "
        "layer 2 gives " (fraction(followers)) " to the tokens that followed the current symbol ("
        (shown.claim("C5")) ", " (shown.figure(2)) ", " (shown.figure(10)) ")."
    })
}

/// The parts of claims that the story quotes: claim, what it is measured on, variant.
type Quoted = (&'static str, &'static str, &'static str);
const PREVIOUS_BY_SYMBOL: Quoted = ("C5", "k = 2, layer 1", "recommended");
const FOLLOWERS: Quoted = ("C5", "k = 2, layer 2", "recommended");

/// The effect of a claim's first part on this.
fn effect(shown: &PageContents, (id, on, variant): Quoted) -> Option<f64> {
    let claim = shown.claims.iter().find(|claim| claim.id == id)?;
    let mut parts = claim.parts.iter();
    let part = parts.find(|part| part.on == on && part.variant == variant)?;
    part.effect
}

fn one_layer(shown: &PageContents) -> Option<Markup> {
    let one = trained(shown, "one-layer-relative")?;
    let closed = finite(one.gap_closed("unigram", "bigram"))?;
    let allowed = allowed_by_counts(one);
    let headline = match closed < NEAR {
        true => "One layer cannot do it.",
        false => "One layer comes near bigrams here.",
    };
    Some(html! {
        strong { (headline) }
        " After " (one.experiment.recipe.train.steps) " steps it closes " (fraction(closed)) " of the gap"
        @if allowed.is_finite() {
            "; symbol counts together with the current symbol allow " (fraction(allowed))
            ", without looking at a single pair"
        }
        " (" (shown.claim("C6")) ", " (shown.figure(13)) ")."
    })
}

fn signal(shown: &PageContents) -> Option<Markup> {
    let onset = |id: &str| {
        let trained = trained(shown, id)?;
        finite(trained.median(|run| run.onset("bigram")))
    };
    let (half, one) = (onset("interpolated-0.5")?, onset("interpolated-1.0")?);
    let headline = match one < half {
        true => "Less unigram signal, earlier transition.",
        false => "Less unigram signal does not bring an earlier transition here.",
    };
    Some(html! {
        strong { (headline) }
        " Trained on chains whose unigrams say nothing (p = 1), the model comes nearest to bigrams after "
        (format!("{one:.0}")) " steps, and after " (format!("{half:.0}")) " at p = 0.5 ("
        (shown.claim("C7")) ", " (shown.figure(4)) ")."
    })
}

fn minimal(shown: &PageContents) -> Option<Markup> {
    let closed = |id: &str| finite(trained(shown, id)?.gap_closed("unigram", "bigram"));
    let (two, three) = (closed("minimal")?, closed("minimal-three-states")?);
    let headline = match (two >= NEAR, three >= NEAR) {
        (true, true) => "The minimal model comes near bigrams.",
        (true, false) => {
            "The minimal model comes near bigrams with two states, but not with three."
        }
        (false, true) => {
            "The minimal model comes near bigrams with three states, but not with two."
        }
        (false, false) => "The minimal model does not come near bigrams.",
    };
    Some(html! {
        strong { (headline) }
        " It closes " (fraction(two)) " of the gap with two states and " (fraction(three)) " with three ("
        (shown.claim("C8")) ", " (shown.figure(3)) ", " (shown.figure(12)) ")."
    })
}

/// The main setting at other rates, slowest first.
const RATES: [&str; 4] = ["printed", "rate-1e-4", "rate-3e-4", "main"];

fn rates(shown: &PageContents) -> Option<Markup> {
    let onset = |trained: &TrainedExperiment| finite(trained.median(|run| run.onset("bigram")));
    let collapsed: Vec<(f64, f64)> = (RATES.iter())
        .filter_map(|id| {
            let trained = trained(shown, id)?;
            let rate = trained.experiment.recipe.train.optimizer.lr()?;
            Some((rate, rate * onset(trained)?))
        })
        .collect();
    let ends = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        (
            low,
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        )
    };
    let (slow, fast) = ends(collapsed.iter().map(|(rate, _)| *rate).collect());
    let (low, high) = ends(collapsed.iter().map(|(_, at)| *at).collect());
    let printed = trained(shown, "printed")?;
    let at = printed.thousands(onset(printed)?);
    let headline = match at > THEIR_AXIS {
        true => "The printed learning rate cannot have made the paper's figures.",
        false => "The printed learning rate is fast enough for the paper's figures.",
    };
    Some(html! {
        strong { (headline) }
        " With two states its transition comes after " (number(at / 1000.0)) " million sequences; the axis of "
        "the paper's figures ends at " (format!("{THEIR_AXIS:.0}")) " thousand. "
        @if collapsed.len() > 1 {
            "What counts is rate × steps: at rates from " (format!("{slow:e}")) " to " (format!("{fast:e}"))
            ", the transition comes between " (number(low)) " and " (number(high)) " "
        }
        "(" (shown.figure(14)) ")."
    })
}

fn released(shown: &PageContents) -> Option<Markup> {
    let two = trained(shown, "released")?;
    let formed = |run: &&Run| {
        let attention = run.best_head(&PREVIOUS_TOKEN, 0);
        attention.is_some_and(|attention| attention >= FORMED)
    };
    let formed = two.completed().filter(formed).count();
    let headline = match formed == two.runs.len() {
        true => "The released code forms the head within its steps.",
        false => "The released code stops before some of its runs form the head.",
    };
    let ends = [
        ("released", "two", THEIR_CURVES[0]),
        ("released-three-states", "three", THEIR_CURVES[1]),
    ];
    let ends = ends.into_iter().filter_map(|(id, states, theirs)| {
        let ours = finite(trained(shown, id)?.gap_closed("unigram", "bigram"))?;
        Some(html! {
            "with " (states) " states at " (fraction(ours)) " of the gap (their own curve: "
            (fraction(theirs)) ")"
        })
    });
    Some(html! {
        strong { (headline) }
        " With two states, " (formed) " of " (two.runs.len()) " runs have a previous-token head after "
        (two.experiment.recipe.train.steps) " steps. The runs end " (joined(ends, ", "))
        "; the authors' curves are those that their release renders, read by eye (" (shown.claim("C1")) ")."
    })
}

fn failures(shown: &PageContents) -> Option<Markup> {
    let failed: Vec<Markup> = (shown.claims.iter())
        .filter_map(|claim| {
            let fails = [Verdict::DoesNotHold, Verdict::HoldsInPart].map(|verdict| {
                let found = claim
                    .verdicts
                    .iter()
                    .filter(|found| found.verdict == verdict);
                let variants: Vec<&str> = found.map(|found| found.variant).collect();
                (verdict, variants)
            });
            let fails = fails
                .into_iter()
                .filter(|(_, variants)| !variants.is_empty());
            let fails = fails.map(|(verdict, variants)| {
                html! { (verdict.name()) ": " (variants.join(", ")) }
            });
            let fails: Vec<Markup> = fails.collect();
            (!fails.is_empty()).then(|| {
                html! { (shown.claim(claim.id)) " (" (joined(fails, "; ")) ")" }
            })
        })
        .collect();
    (!failed.is_empty()).then(|| {
        html! { strong { "Not everything holds:" } " " (joined(failed, ", ")) "." }
    })
}

/// The theory: how many of the paper's formulas are right.
pub(super) fn theory() -> Markup {
    let entries = ledger();
    let of = |name: &'static str| {
        let named = move |entry: &&Entry| entry.verdict.name() == name;
        entries.iter().filter(named)
    };
    html! {
        p {
            "Every formula and quantitative claim of the paper's section 3.2 and Appendix A, and the "
            "constructions of section 2, was checked against the truth, computed by two routes that share no "
            "code. Of " (entries.len()) " entries:"
        }
        p.counts { (verdict_counts(entries.iter())) }
        p {
            (of("misprint").count()) " are misprints, each with a corrected form that was verified like the "
            "rest. What does not follow:"
        }
        ul {
            @for entry in of("does not follow") {
                li { (prose(entry.statement)) " " span.place { (entry.place.section) } }
            }
        }
        p { code { "induct theory --out chapter" } " writes the whole chapter, with its figures and evidence." }
    }
}

/// An experiment with at least one run that completed.
fn trained<'a>(shown: &PageContents<'a>, id: &str) -> Option<&'a TrainedExperiment> {
    let trained = shown.results.get(id)?;
    trained.completed().next().map(|_| trained)
}

/// "0.91 (printed), 0.93 (recommended)": what the transformers of each variant say; none if none says
/// anything.
fn by_variant(
    shown: &PageContents,
    states: usize,
    say: impl Fn(&TrainedExperiment) -> Option<String>,
) -> Option<String> {
    let said = TRANSFORMERS.iter().filter_map(|(variant, ids)| {
        let said = say(trained(shown, ids[states])?)?;
        Some(format!("{said} ({variant})"))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// One of three headlines: all variants show something, some do, or none does.
fn headline(
    shows: impl Iterator<Item = bool>,
    [all, some, none]: [&'static str; 3],
) -> &'static str {
    let shows: Vec<bool> = shows.collect();
    match (shows.contains(&true), shows.contains(&false)) {
        (true, false) => all,
        (true, true) => some,
        (false, _) => none,
    }
}

fn finite(x: f64) -> Option<f64> {
    Some(x).filter(|x| x.is_finite())
}

fn fraction(x: f64) -> String {
    format!("{x:.2}").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::STUDY;

    #[test]
    fn quoted_parts_exist() {
        for (id, on, variant) in [PREVIOUS_BY_SYMBOL, FOLLOWERS] {
            let claim = STUDY.claims().iter().find(|claim| claim.id == id).unwrap();
            let mut rows = claim.parts().flat_map(|(_, part)| part.rows());
            assert!(
                rows.any(|row| row.on == on && row.variant == variant),
                "{id}: {on}, {variant}"
            );
        }
    }
}
