//! Two symbols: the transition counts have one free number, how often the chain left the current symbol.

use super::super::normalize;
use super::super::two_state::TwoState;
use super::Answer;

/// The predictor for two symbols.
#[derive(Clone, Debug)]
pub(super) struct Two {
    alpha: [f64; 2],
    /// What the stationary law of the first symbol adds; unset if the first symbol is uniform.
    start: Option<TwoState>,
}

impl Two {
    pub fn new(alpha: [f64; 2], stationary: bool) -> Self {
        Self {
            alpha,
            start: stationary.then(|| TwoState::new(alpha)),
        }
    }

    /// The distribution after `current`, where it and the other symbol occurred `counts` times.
    pub fn answer(&self, current: usize, counts: [usize; 2]) -> Answer {
        let alpha = [self.alpha[current], self.alpha[1 - current]];
        let [here, there] = counts;
        // It is at the current symbol `here` times, and goes on from there all but once.
        let stays_and_leaves = here - 1;
        let ln_ratios = alpha.map(|alpha| ln_ratios(alpha, here.max(there)));
        let most = stays_and_leaves.min(there);
        let mut terms = Vec::new();
        // Whether it starts at the other symbol: then it comes here once more than it leaves.
        for elsewhere in [0, 1] {
            let starts = self.start.as_ref().map(|start| {
                let rows = [here, there];
                let [home, away] = [elsewhere, 1 - elsewhere];
                start.starts(
                    [current, 1 - current][home],
                    [rows[home], rows[away]],
                    most + 1,
                )
            });
            for leaves in 0..=most {
                let comes = leaves + elsewhere;
                // The determinant is the share of the other symbol's transitions that come here.
                if comes > there || (comes == 0 && there > 0) {
                    continue;
                }
                let ln_weight = ln_ratios[0][stays_and_leaves - leaves]
                    + ln_ratios[1][leaves]
                    + ln_ratios[0][comes]
                    + ln_ratios[1][there - comes]
                    + libm::log(comes.max(1) as f64);
                // E[π · P(v → j) | F] = E[P(v → j) | F] · E[π | F and one more transition v → j].
                let start = |left: usize| match (&starts, elsewhere) {
                    (None, _) => 1.0,
                    (Some(starts), 0) => starts.mean(leaves + left, comes),
                    (Some(starts), _) => starts.mean(comes, leaves + left),
                };
                let stays = (stays_and_leaves - leaves) as f64 + alpha[0];
                let next = [stays * start(0), (leaves as f64 + alpha[1]) * start(1)];
                terms.push((ln_weight, next));
            }
        }
        let largest = (terms.iter()).fold(f64::NEG_INFINITY, |most, (ln, _)| most.max(*ln));
        let mut next = [0.0; 3];
        for (ln_weight, [stay, leave]) in terms {
            let weight = libm::exp(ln_weight - largest);
            next[0] += weight * stay;
            next[1] += weight * leave;
        }
        normalize(&mut next);
        Answer {
            next,
            effective: None,
        }
    }
}

/// ln of Γ(α + n) / (Γ(α) n!) for n up to `most`: what is left of Dirichlet's moments and the factorials.
fn ln_ratios(alpha: f64, most: usize) -> Vec<f64> {
    let mut ln = 0.0;
    let steps = (0..most).map(|n| libm::log((alpha + n as f64) / (n as f64 + 1.0)));
    let next = steps.map(|step| {
        ln += step;
        ln
    });
    std::iter::once(0.0).chain(next).collect()
}
