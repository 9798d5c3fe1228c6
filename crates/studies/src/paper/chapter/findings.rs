//! What the summary says about individual entries. Each sentence is tied to a verdict and takes its numbers
//! from the ledger.

use maud::{Markup, html};

use crate::html::prose;
use crate::paper::ledger::{Entry, Verdict};

/// A number of an entry by name; NaN if there is none, which a test rules out.
pub fn number(entries: &[Entry], id: &str, name: &str) -> f64 {
    let entry = entries.iter().find(|entry| entry.id == id);
    let numbers = entry.map_or(&[][..], |entry| &entry.evidence.numbers);
    let found = numbers.iter().find(|(own, _)| own == name);
    found.map_or(f64::NAN, |(_, value)| *value)
}

/// A sentence about an entry, shown only if the entry has the expected verdict.
pub struct Finding {
    id: &'static str,
    verdict: &'static str,
    headline: &'static str,
    /// What follows the headline.
    says: fn(&[Entry]) -> String,
}

/// What holds, possibly under a condition.
pub const HOLDS: [Finding; 4] = [
    Finding {
        id: "first-step.wk",
        verdict: "correct",
        headline: "The first step is correct.",
        says: |_| {
            " Its gradients, term by term and in closed form, \
             agree with all three routes to rounding, and so do the constants A, B and D."
                .into()
        },
    },
    Finding {
        id: "first-step.ratio",
        verdict: "correct under a condition",
        headline: "The diagonal bias appears in the first step",
        says: |entries| {
            let of = |name| number(entries, "first-step.ratio", name);
            format!(
                ", and at practical lengths it \
                 is stronger than “B ≈ 4A”: the ratio is {:.2} at t = 100. It is within 5 % of 4 from t = {} \
                 on; the limit is {:.3}.",
                of("at t = 100"),
                of("first t within 5 % of 4"),
                of("limit, B/A")
            )
        },
    },
    Finding {
        id: "second-step.dominant",
        verdict: "correct under a condition",
        headline: "v_2 does become the largest weight in the second step, but only above a learning rate",
        says: |entries| {
            let of = |name| number(entries, "second-step.dominant", name);
            format!(
                " η*, which is {:.5} at t = 100 and falls like {:.0}/t³. The paper's \
                 figures (η = 0.03, t = 100) are well above it; η = 1/t² would need sequences longer than \
                 {:.0}. Below t = {} no learning rate suffices.",
                of("η* at t = 100"),
                of("24 D/((B−A)(K₂−K₁)), its limit"),
                of("t above which η = 1/t², as in the Proposition's first step, is enough"),
                of("shortest t with a threshold")
            )
        },
    },
    Finding {
        id: "second-step.even-over-odd",
        verdict: "correct under a condition",
        headline: "The even/odd pattern is real",
        says: |entries| format!(", for {}.", condition(entries, "second-step.even-over-odd")),
    },
];

/// What does not hold.
pub const FAILS: [Finding; 6] = [
    Finding {
        id: "second-step.larger",
        verdict: "misprint",
        headline: "The step on which the second half of the argument rests is printed with the wrong sign.",
        says: |entries| {
            let of = |name| number(entries, "second-step.larger", name);
            format!(
                " With the printed constant, v_2 would not grow faster than \
                 v_1; with the correct one, {:.4} against {:.4}, it does, and the argument stands.",
                of("constant of v_2"),
                of("constant of v_1")
            )
        },
    },
    Finding {
        id: "second-step.geometric",
        verdict: "does not follow",
        headline: "The even lags do not follow a geometric series.",
        says: |entries| {
            let of = |name| number(entries, "second-step.geometric", name);
            format!(
                " From one even lag to the \
                 next, the moment shrinks by a factor that rises from {:.2} to {:.2}: averaged over chains, \
                 it falls like j to the power −{:.1}.",
                of("first ratio"),
                of("last ratio"),
                -of("power of j along even j")
            )
        },
    },
    Finding {
        id: "corollary.v",
        verdict: "does not follow",
        headline: "For a = b, the printed change of v has the wrong sign and the wrong growth rate.",
        says: |entries| {
            format!(
                " It is positive and grows with ln t (measured: {:.3} per unit of ln t; ¼ in \
                 the limit); the diagonal of W_k is not infinite but grows like (t ln t)/16. The \
                 conclusion, that there is no strong preference for the first coordinate, holds.",
                number(
                    entries,
                    "corollary.v",
                    "growth of v_1 with ln t, measured (1/4)"
                )
            )
        },
    },
    Finding {
        id: "proposition.remainder",
        verdict: "does not follow",
        headline: "What the Proposition neglects is not small.",
        says: |entries| {
            let of = |name| number(entries, "proposition.remainder", name);
            format!(
                " Each other lag is of order \
                 1/t, but there are t of them: together they weigh {:.1} times as much as v_2 at t \
                 = 512 (ε = 0.2, w_init = 0), and {:.0} times with w_init = \
                 v_init.",
                of("all other lags over v_2 at t = 512, ε = 0.2, w_init = 0"),
                of("the same with w_init = v_init")
            )
        },
    },
    Finding {
        id: "proposition.reaches-bigrams",
        verdict: "does not follow",
        headline: "Two steps of the curriculum do not reach the bigram solution",
        says: |entries| {
            let of = |what: &str| {
                let name = format!("right at t = 256, ε = 0.2, {what}");
                number(entries, "proposition.reaches-bigrams", &name)
            };
            format!(
                " at the \
                 lengths tried. At t = 256 and ε = 0.2, the model ranks the next symbols correctly with \
                 frequency {:.2} from w_init = v_init and {:.2} from w_init = \
                 0; for counting transitions it is {:.2}.",
                of("w_init = v_init"),
                of("w_init = 0"),
                of("bigrams")
            )
        },
    },
    Finding {
        id: "construction.layer-2",
        verdict: "misprint",
        headline: "The transformer construction does not work as printed",
        says: |_| {
            ": queries and keys of \
             layer 2 occupy different columns, so all scores are zero and it counts symbols. With the blocks \
             in rows, it does what is claimed, up to one extra transition x₁ → x₁ that the first position \
             counts."
                .into()
        },
    },
];

fn condition(entries: &[Entry], id: &str) -> String {
    let entry = entries.iter().find(|entry| entry.id == id);
    match entry.map(|entry| &entry.verdict) {
        Some(Verdict::CorrectUnderCondition { condition }) => condition.clone(),
        _ => String::new(),
    }
}

/// The findings whose entries have the expected verdicts, as list items.
pub fn said(findings: &[Finding], entries: &[Entry]) -> Markup {
    html! {
        @for finding in findings {
            @if entries.iter().any(|e| e.id == finding.id && e.verdict.name() == finding.verdict) {
                li {
                    strong { (prose(finding.headline)) }
                    (prose(&(finding.says)(entries))) " "
                    a href={ "#" (finding.id) } { "Entry" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_has_its_verdict_and_numbers() {
        let entries = crate::paper::ledger::ledger();
        let items = |findings: &[Finding], entries: &[Entry]| {
            let items = said(findings, entries).into_string();
            assert!(!items.contains("NaN"), "{items}");
            items.matches("<li>").count()
        };
        assert_eq!(items(&HOLDS, &entries), HOLDS.len());
        assert_eq!(items(&FAILS, &entries), FAILS.len());
        // Without its verdict, a sentence is not shown.
        let mut other = entries.clone();
        let entry = other.iter_mut().find(|e| e.id == "second-step.geometric");
        entry.unwrap().verdict = Verdict::Correct;
        assert_eq!(items(&FAILS, &other), FAILS.len() - 1);
    }
}
