//! Claims about the effect of unigram signal on learning, and about other distributions.

use induct::measure::TEST_KL_TRUTH;
use induct::probe::median;

use super::{Claim, Limit, Part};
use crate::experiment::{INTERPOLATED, INTERPOLATED_NAMES, interpolated};
use crate::results::Results;
use crate::run::Run;
use crate::statistics::{Measured, rank_correlation};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "C7",
        title: "The weaker the unigram signal, the earlier the transition",
        statement: "When trained on chains whose symbol frequencies say less about the next symbol, the \
                    model reaches bigrams sooner, even when measured on the original chains.",
        place: "section 3.1; figure 4a; appendix B",
        figure: 4,
        needs: &INTERPOLATED_NAMES,
        remark: "The paper's caption says that the end without unigram signal is 0; by the definition in its \
                 appendix, it is 1.",
        check: earlier_without_unigrams,
    },
    Claim {
        id: "C9",
        title: "Other distributions tell the phases apart",
        statement: "In the unigram phase, the model is nearly optimal on independent symbols and no better \
                    than uniform on doubly stochastic chains.",
        place: "appendix C, figure on other distributions",
        figure: 11,
        needs: &["main", "minimal"],
        remark: "Before its second drop, the transformer is already slightly better than uniform on doubly \
                 stochastic chains.",
        check: elsewhere,
    },
];

fn earlier_without_unigrams(results: &Results) -> Vec<Part> {
    // By seed: the step of the transition for every p. A run without one counts as later than any other.
    let onset = |p: f64, seed: usize| -> Option<f64> {
        let run = results.of(&interpolated(p)).runs.get(seed)?;
        let never = f64::MAX;
        run.is_sound().then(|| run.onset("bigram").unwrap_or(never))
    };
    let seeds = results.of(&interpolated(0.0)).runs.len();
    let by_seed = |(low, high): (f64, f64)| -> Vec<f64> {
        let within = INTERPOLATED
            .into_iter()
            .filter(|p| (low..=high).contains(p));
        let ps: Vec<f64> = within.collect();
        let correlation = |seed: usize| {
            let steps: Option<Vec<f64>> = ps.iter().map(|&p| onset(p, seed)).collect();
            Some(rank_correlation(&ps, &steps?)).filter(|r| r.is_finite())
        };
        (0..seeds).filter_map(correlation).collect()
    };
    let measure = "rank correlation between p and the step at which bigrams become nearest on the original \
                   chains; at p = 0 rows are nearly equal and unigrams say everything, at p = 1 they say \
                   nothing";
    vec![
        Part::new(
            "all eleven values of p",
            measure,
            Measured::mean(&by_seed((0.0, 1.0))),
            Limit::AtMost(-0.5),
        ),
        Part::new(
            "p of at least 0.5, where chains differ most from independent symbols",
            measure,
            Measured::mean(&by_seed((0.5, 1.0))),
            Limit::AtMost(-0.5),
        ),
    ]
}

fn elsewhere(results: &Results) -> Vec<Part> {
    let mut parts = Vec::new();
    for (id, what) in [("main", "transformer"), ("minimal", "minimal model")] {
        let trained = results.of(id);
        let in_phase = |run: &Run, test: &str| {
            let phase = run.phase("unigram")?;
            Some(median(&run.between(
                TEST_KL_TRUTH.of_test(test),
                phase.onset as f64,
                phase.end as f64,
            )))
        };
        let independent = |run: &Run| {
            let (uniform, unigram) = (
                run.level_on("iid", "uniform"),
                run.level_on("iid", "unigram"),
            );
            Some((in_phase(run, "iid")? - unigram) / (uniform - unigram))
        };
        parts.push(Part::new(
            format!("{what}, independent symbols"),
            "loss in excess of the unigram strategy's, relative to the uniform strategy's excess, in the \
             unigram phase (median)",
            trained.mean(independent),
            Limit::AtMost(0.1),
        ));
        let doubly = |run: &Run| {
            let uniform = run.level_on("doubly_stochastic", "uniform");
            Some(1.0 - in_phase(run, "doubly_stochastic")? / uniform)
        };
        parts.push(Part::new(
            format!("{what}, doubly stochastic chains"),
            "improvement over the uniform strategy's loss, relative to that loss, in the unigram phase \
             (median)",
            trained.mean(doubly),
            Limit::AtMost(0.05),
        ));
    }
    parts
}
