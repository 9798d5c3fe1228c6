//! What the summary says of single entries. Each sentence is bound to a verdict and takes its numbers from the ledger.

use crate::ledger::{Entry, Verdict};

/// A number of an entry by its name; NaN if there is none, which a test forbids.
pub fn number(entries: &[Entry], id: &str, name: &str) -> f64 {
    let entry = entries.iter().find(|entry| entry.id == id);
    let numbers = entry.map_or(&[][..], |entry| &entry.evidence.numbers);
    let found = numbers.iter().find(|(own, _)| own == name);
    found.map_or(f64::NAN, |(_, value)| *value)
}

/// A sentence about an entry, as long as its verdict is the expected one.
struct Finding {
    id: &'static str,
    verdict: &'static str,
    /// HTML.
    says: fn(&[Entry]) -> String,
}

/// What holds, perhaps with a condition.
const HOLDS: [Finding; 4] = [
    Finding {
        id: "first-step.wk",
        verdict: "correct",
        says: |_| {
            "<strong>The first step is right.</strong> Its gradients, term by term and in closed form, agree with all three routes to \
             rounding, and so do the constants A, B and D."
                .into()
        },
    },
    Finding {
        id: "first-step.ratio",
        verdict: "correct under a condition",
        says: |entries| {
            let of = |name| number(entries, "first-step.ratio", name);
            format!(
                "<strong>The diagonal bias is there from the first step on</strong>, and at practical lengths it is stronger than \
                 “B ≈ 4A”: {:.2} at t = 100. Within 5 % of 4 it is from t = {} on; the limit is {:.3}.",
                of("at t = 100"),
                of("first t within 5 % of 4"),
                of("limit, B/A")
            )
        },
    },
    Finding {
        id: "second-step.dominant",
        verdict: "correct under a condition",
        says: |entries| {
            let of = |name| number(entries, "second-step.dominant", name);
            format!(
                "<strong>v<sub>2</sub> does come to lead after the second step, but only above a learning rate</strong> η*, which is {:.5} at \
                 t = 100 and falls like {:.0}/t³. The paper's figures (η = 0.03, t = 100) are well above it; with η = 1/t² it \
                 would take sequences longer than {:.0}. Below t = {} no learning rate does it.",
                of("η* at t = 100"),
                of("24 D/((B−A)(K₂−K₁)), its limit"),
                of("t from which on η = 1/t², the Proposition's first step, would be enough"),
                of("shortest t with a threshold")
            )
        },
    },
    Finding {
        id: "second-step.even-over-odd",
        verdict: "correct under a condition",
        says: |entries| {
            format!(
                "<strong>The even/odd pattern is real</strong>, as far as {}.",
                condition(entries, "second-step.even-over-odd")
            )
        },
    },
];

/// What does not.
const FAILS: [Finding; 6] = [
    Finding {
        id: "second-step.larger",
        verdict: "misprint",
        says: |entries| {
            let of = |name| number(entries, "second-step.larger", name);
            format!(
                "<strong>The step on which the second half rests has the wrong sign in print.</strong> With the constant that is printed, \
                 v<sub>2</sub> would not grow faster than v<sub>1</sub>; with the right one, {:.4} against {:.4}, it does, and the argument stands.",
                of("constant of v_2"),
                of("constant of v_1")
            )
        },
    },
    Finding {
        id: "second-step.geometric",
        verdict: "does not follow",
        says: |entries| {
            let of = |name| number(entries, "second-step.geometric", name);
            format!(
                "<strong>The even lags do not follow a geometric series.</strong> From one even lag to the next the moment shrinks by a factor that \
                 rises from {:.2} to {:.2}: averaged over chains it falls like j to the power −{:.1}.",
                of("first ratio"),
                of("last ratio"),
                -of("power of j along even j")
            )
        },
    },
    Finding {
        id: "corollary.v",
        verdict: "does not follow",
        says: |entries| {
            format!(
                "<strong>For a = b the printed change of v has the wrong sign and the wrong growth.</strong> It is positive, and grows with ln t \
                 (measured: {:.3} for each unit of it; ¼ in the limit); the diagonal of W<sub>k</sub> is not infinite but grows like \
                 (t ln t)/16. The conclusion, no heavy preference for the first coordinate, holds.",
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
        says: |entries| {
            let of = |name| number(entries, "proposition.remainder", name);
            format!(
                "<strong>What the Proposition leaves out is not small.</strong> Each other lag is of order 1/t, but there are t of them: together \
                 they weigh {:.1} times as much as v<sub>2</sub> at t = 512 (ε = 0.2, w<sub>init</sub> = 0), and {:.0} times with \
                 w<sub>init</sub> = v<sub>init</sub>.",
                of("all other lags over v_2 at t = 512, ε = 0.2, w_init = 0"),
                of("the same with w_init = v_init")
            )
        },
    },
    Finding {
        id: "proposition.reaches-bigrams",
        verdict: "does not follow",
        says: |entries| {
            let of = |what: &str| {
                let name = format!("right at t = 256, ε = 0.2, {what}");
                number(entries, "proposition.reaches-bigrams", &name)
            };
            format!(
                "<strong>Two steps of the curriculum do not reach the bigram solution</strong> at the lengths tried. At t = 256, ε = 0.2 the model \
                 ranks the next symbols rightly {:.2} of the time from w<sub>init</sub> = v<sub>init</sub> and {:.2} from w<sub>init</sub> = 0, \
                 where counting transitions is right {:.2} of the time.",
                of("w_init = v_init"),
                of("w_init = 0"),
                of("bigrams")
            )
        },
    },
    Finding {
        id: "construction.layer-2",
        verdict: "misprint",
        says: |_| {
            "<strong>The transformer construction does not work as printed</strong>: queries and keys of layer 2 fill different columns, so all \
             scores are zero and it counts symbols. With the blocks in rows it does what is claimed, up to one extra transition x₁ → x₁ \
             that the first position counts."
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

/// List items on what holds and on what does not.
pub fn lists(entries: &[Entry]) -> [String; 2] {
    let list = |findings: &[Finding]| {
        let items = findings.iter().filter_map(|finding| {
            let entry = entries.iter().find(|entry| entry.id == finding.id)?;
            let says =
                (entry.verdict.name() == finding.verdict).then(|| (finding.says)(entries))?;
            let id = finding.id;
            Some(format!("<li>{says} <a href=\"#{id}\">Entry</a></li>\n"))
        });
        items.collect()
    };
    [list(&HOLDS), list(&FAILS)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_has_its_verdict_and_its_numbers() {
        let entries = crate::ledger::ledger();
        let [holds, fails] = lists(&entries);
        assert_eq!(holds.matches("<li>").count(), HOLDS.len());
        assert_eq!(fails.matches("<li>").count(), FAILS.len());
        assert!(!holds.contains("NaN") && !fails.contains("NaN"));
        // Without its verdict a sentence is not said.
        let mut other = entries.clone();
        let entry = other.iter_mut().find(|e| e.id == "second-step.geometric");
        entry.unwrap().verdict = Verdict::Correct;
        assert_eq!(lists(&other)[1].matches("<li>").count(), FAILS.len() - 1);
    }
}
