//! What the summary says about individual entries. Each sentence is tied to a verdict and takes its numbers
//! from the ledger.

use maud::{Markup, html};

use crate::html::prose;
use crate::paper::ledger::{Entry, Verdict};

/// A sentence about an entry, shown only if the entry has the expected verdict.
pub struct Finding {
    id: &'static str,
    verdict: &'static str,
    headline: &'static str,
    /// What follows the headline.
    says: fn(&Entry) -> String,
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
        says: |entry| {
            format!(
                ", and at practical lengths it \
                 is stronger than “B ≈ 4A”: the ratio is {:.2} at t = 100. It is within 5 % of 4 from t = {} \
                 on; the limit is {:.3}.",
                entry.number("at t = 100"),
                entry.number("first t within 5 % of 4"),
                entry.number("limit, B/A")
            )
        },
    },
    Finding {
        id: "second-step.dominant",
        verdict: "correct under a condition",
        headline: "v_2 does become the largest weight in the second step, but only above a learning rate",
        says: |entry| {
            format!(
                " η*, which is {:.5} at t = 100 and falls like {:.0}/t³. The paper's \
                 figures (η = 0.03, t = 100) are well above it; η = 1/t² would need sequences longer than \
                 {:.0}. Below t = {} no learning rate suffices.",
                entry.number("η* at t = 100"),
                entry.number("24 D/((B−A)(K₂−K₁)), its limit"),
                entry.number(
                    "t above which η = 1/t², as in the Proposition's first step, is enough"
                ),
                entry.number("shortest t with a threshold")
            )
        },
    },
    Finding {
        id: "second-step.even-over-odd",
        verdict: "correct under a condition",
        headline: "The even/odd pattern is real",
        says: |entry| format!(", for {}.", condition(entry)),
    },
];

/// What does not hold.
pub const FAILS: [Finding; 6] = [
    Finding {
        id: "second-step.larger",
        verdict: "misprint",
        headline: "The step on which the second half of the argument rests is printed with the wrong sign.",
        says: |entry| {
            format!(
                " With the printed constant, v_2 would not grow faster than \
                 v_1; with the correct one, {:.4} against {:.4}, it does, and the argument stands.",
                entry.number("constant of v_2"),
                entry.number("constant of v_1")
            )
        },
    },
    Finding {
        id: "second-step.geometric",
        verdict: "does not follow",
        headline: "The even lags do not follow a geometric series.",
        says: |entry| {
            format!(
                " From one even lag to the \
                 next, the moment shrinks by a factor that rises from {:.2} to {:.2}: averaged over chains, \
                 it falls like j to the power −{:.1}.",
                entry.number("first ratio"),
                entry.number("last ratio"),
                -entry.number("power of j along even j")
            )
        },
    },
    Finding {
        id: "corollary.v",
        verdict: "does not follow",
        headline: "For a = b, the printed change of v has the wrong sign and the wrong growth rate.",
        says: |entry| {
            format!(
                " It is positive and grows with ln t (measured: {:.3} per unit of ln t; ¼ in \
                 the limit); the diagonal of W_k is not infinite but grows like (t ln t)/16. The \
                 conclusion, that there is no strong preference for the first coordinate, holds.",
                entry.number("growth of v_1 with ln t, measured (1/4)")
            )
        },
    },
    Finding {
        id: "proposition.remainder",
        verdict: "does not follow",
        headline: "What the Proposition neglects is not small.",
        says: |entry| {
            format!(
                " Each other lag is of order \
                 1/t, but there are t of them: together they weigh {:.1} times as much as v_2 at t \
                 = 512 (ε = 0.2, w_init = 0), and {:.0} times with w_init = \
                 v_init.",
                entry.number("all other lags over v_2 at t = 512, ε = 0.2, w_init = 0"),
                entry.number("the same with w_init = v_init")
            )
        },
    },
    Finding {
        id: "proposition.reaches-bigrams",
        verdict: "does not follow",
        headline: "Two steps of the curriculum do not reach the bigram solution",
        says: |entry| {
            let of = |what: &str| entry.number(&format!("right at t = 256, ε = 0.2, {what}"));
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

fn condition(entry: &Entry) -> &str {
    match &entry.verdict {
        Verdict::CorrectUnderCondition { condition } => condition,
        _ => "",
    }
}

/// The findings whose entries have the expected verdicts, as list items.
pub fn said(findings: &[Finding], entries: &[Entry]) -> Markup {
    html! {
        @for finding in findings {
            @let entry = entries.iter().find(|entry| entry.id == finding.id);
            @if let Some(entry) = entry.filter(|e| e.verdict.name() == finding.verdict) {
                li {
                    strong { (prose(finding.headline)) }
                    (prose(&(finding.says)(entry))) " "
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
