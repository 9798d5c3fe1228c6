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
    Statistic("gap closed", Experiments(|of| over_free(of, closed))),
    Statistic(
        "time to look back",
        Experiments(|of| over_free(of, looks_back)),
    ),
    Statistic(
        "transition by dose",
        Experiments(|of| {
            let doses: &[f64] = match of.len() {
                5 => &[0.0, 0.25, 0.5, 0.75, 1.0],
                _ => &[0.0, 0.5, 1.0],
            };
            // A run without a transition counts as the slowest.
            trend(of, doses, |run| Some(transition(run).unwrap_or(f64::MAX)))
        }),
    ),
    Statistic("recovery", WithModel(recovery)),
    Statistic("gradient error", Experiments(|of| gradient_error(of[0]))),
    Statistic(
        "Gumbel against a normal law",
        Experiments(|of| gumbel_wins(of[0], true)),
    ),
    Statistic(
        "Gumbel against a lognormal law",
        Experiments(|of| gumbel_wins(of[0], false)),
    ),
    Statistic("head forms", Share(formed)),
    Statistic(
        "time of the transition",
        Experiments(|of| over_free(of, transition)),
    ),
    Statistic("remaining wait", Experiments(remaining_wait)),
    Statistic(
        EARLY_QUANTITIES[0].label,
        Experiments(|of| explained(of[0], EARLY_QUANTITIES[0].of)),
    ),
    Statistic(
        EARLY_QUANTITIES[1].label,
        Experiments(|of| explained(of[0], EARLY_QUANTITIES[1].of)),
    ),
    Statistic(
        EARLY_QUANTITIES[2].label,
        Experiments(|of| explained(of[0], EARLY_QUANTITIES[2].of)),
    ),
    Statistic(
        EARLY_QUANTITIES[3].label,
        Experiments(|of| explained(of[0], EARLY_QUANTITIES[3].of)),
    ),
    Statistic(
        EARLY_QUANTITIES[4].label,
        Experiments(|of| explained(of[0], EARLY_QUANTITIES[4].of)),
    ),
]];
