//! What the claims about the plateau measure. The claims themselves are in `claims.toml`.

use std::sync::LazyLock;

use super::measures::{
    EARLY_QUANTITIES, closed, explained, formed, gradient_error, gumbel_wins, looks_back,
    over_free, recovery, remaining_wait, transition,
};
use crate::claim::Claim;
use crate::statistics::{Statistic, experiments, share, trend, with_model};

/// All claims.
pub static CLAIMS: LazyLock<Vec<Claim>> =
    LazyLock::new(|| Claim::all_in(include_str!("claims.toml"), &[]));

pub const STATISTICS: &[&[Statistic]] = &[&[
    experiments("gap closed", |of| over_free(of, closed)),
    experiments("time to look back", |of| over_free(of, looks_back)),
    experiments("transition by dose", |of| {
        let doses: &[f64] = match of.len() {
            5 => &[0.0, 0.25, 0.5, 0.75, 1.0],
            _ => &[0.0, 0.5, 1.0],
        };
        // A run without a transition counts as the slowest.
        trend(of, doses, |run| Some(transition(run).unwrap_or(f64::MAX)))
    }),
    with_model("recovery", recovery),
    experiments("gradient error", |of| gradient_error(of[0])),
    experiments("Gumbel against a normal law", |of| gumbel_wins(of[0], true)),
    experiments("Gumbel against a lognormal law", |of| {
        gumbel_wins(of[0], false)
    }),
    share("head forms", formed),
    experiments("time of the transition", |of| over_free(of, transition)),
    experiments("remaining wait", remaining_wait),
    early::<0>(),
    early::<1>(),
    early::<2>(),
    early::<3>(),
    early::<4>(),
]];

/// What an early quantity explains, by its number.
const fn early<const N: usize>() -> Statistic {
    experiments(EARLY_QUANTITIES[N].label, |of| {
        explained(of[0], EARLY_QUANTITIES[N].of)
    })
}
