//! What the claims about the plateau measure. The claims themselves are in `claims.toml`.

use std::sync::LazyLock;

use super::measures::{
    EARLY_QUANTITIES, closed, explained, formed, gradient_error, gumbel_wins, looks_back,
    over_free, recovery, remaining_wait, transition,
};
use crate::claim::Claim;
use crate::statistics::Method::{Experiments, Share, WithModel};
use crate::statistics::{Statistic, trend};

/// All claims.
pub static CLAIMS: LazyLock<Vec<Claim>> =
    LazyLock::new(|| Claim::all_in(include_str!("claims.toml"), &[]));

pub const STATISTICS: &[&[Statistic]] = &[&[
    Statistic::new(
        "gap closed",
        "fraction of the gap to bigrams closed at the end, over that of the same seed without \
         the clamp",
        Experiments(|of| over_free(of, closed)),
    ),
    Statistic::new(
        "time to look back",
        "step at which layer 1 gives a quarter of its attention to the previous token, with \
         layer 2 at its final weights from the start; over that of the same seed without",
        Experiments(|of| over_free(of, looks_back)),
    ),
    Statistic::new(
        "transition by dose",
        "rank correlation, by seed, of the fraction of layer 2's final weights at the start \
         (0, a half, 1; with two states of the text's model also a quarter and three quarters) \
         and the step of the transition",
        Experiments(|of| {
            let doses: &[f64] = match of.len() {
                5 => &[0.0, 0.25, 0.5, 0.75, 1.0],
                _ => &[0.0, 0.5, 1.0],
            };
            // A run without a transition counts as the slowest.
            trend(of, doses, |run| Some(transition(run).unwrap_or(f64::MAX)))
        }),
    ),
    Statistic::new(
        "recovery",
        "steps to come half way back to bigrams, over those from the start to the transition",
        WithModel(recovery),
    ),
    Statistic::new(
        "gradient error",
        "distance between the gradient that one step of 16,384 sequences took and the exact \
         one, over the size of the exact one",
        Experiments(|of| gradient_error(of[0])),
    ),
    Statistic::new(
        "Gumbel against a normal law",
        GUMBEL_WINS,
        Experiments(|of| gumbel_wins(of[0], true)),
    ),
    Statistic::new(
        "Gumbel against a lognormal law",
        GUMBEL_WINS,
        Experiments(|of| gumbel_wins(of[0], false)),
    ),
    Statistic::new(
        "head forms",
        "share of runs whose head forms: at the end, at least 0.75 of the gap to bigrams is \
         closed",
        Share(formed),
    ),
    Statistic::new(
        "time of the transition",
        "step of the transition (loss half way from the unigram to the bigram strategy's) over \
         that of the same seed without the intervention",
        Experiments(|of| over_free(of, transition)),
    ),
    Statistic::new(
        "remaining wait",
        "steps from the intervention, 200 after the onset of unigrams took effect, to the \
         transition; over those of the same seed without the intervention",
        Experiments(remaining_wait),
    ),
    explains::<0>(),
    explains::<1>(),
    explains::<2>(),
    explains::<3>(),
    explains::<4>(),
]];

const GUMBEL_WINS: &str =
    "share of groups of 50 runs to whose transition times a Gumbel law gives the larger likelihood";

/// What an early quantity tells of the transition.
const fn explains<const EARLY: usize>() -> Statistic {
    Statistic::new(
        EARLY_QUANTITIES[EARLY].label,
        "share of the variance of the ranks of transition times that it explains, in groups of 50 runs",
        Experiments(|of| explained(of[0], EARLY_QUANTITIES[EARLY].of)),
    )
}
