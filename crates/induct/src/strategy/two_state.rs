//! Exact Bayes for Markov chains on two states whose rows are Dirichlet draws.
//!
//! Call the first symbol *home* and the other *away*, p = P(home → away), q = P(away → home). The chain
//! starts from its stationary law, so the posterior is Beta(p) · Beta(q) times
//!
//! ```text
//! π_home = q / (p + q) = 1 / (1 + p/q),
//! ```
//!
//! which couples the two rows. Mellin's transform of 1/(1+x) separates them again:
//!
//! ```text
//! 1 / (1 + p/q) = 1/(2πi) ∫ π/sin(πs) · p^(−s) q^s ds      along Re s = c, 0 < c < 1.
//! ```
//!
//! For a fixed s, the factor p^(−s) q^s is conjugate to the Betas: it turns the concentration of *leaving
//! home* from α into α − s, and that of *coming home* from α into α + s. So every s on the line is an add-α
//! bigram with shifted concentrations. Exact Bayes is their mixture, with complex weights that start as
//! π/sin(πs) · B(α_away − s, α_home) · B(α_home + s, α_away) and are multiplied, as in any mixture, by the
//! probability that each s gave to the symbol that came. One integral over s replaces two over (p, q). Its
//! nodes need not follow the posterior as it narrows: they are the same for all lengths.

use std::f64::consts::PI;
use std::ops::Range;

use num_complex::Complex64 as Complex;

use super::complex::{exp, ln_gamma};

/// Spacing of the nodes in y, where s = c + i c sinh y. The integrand has no pole with |Im y| < π/2 for any
/// α, because the nearest ones on the real line are at s = 0 and s = 2c. Halving the step changes predictions
/// by less than 10⁻¹² (tested up to 4000 tokens).
const STEP: f64 = 1.0 / 20.0;

/// Where the contour ends: |1/sin(πs)| has fallen by e^(−π · 13) < 10⁻¹⁷.
const HEIGHT: f64 = 13.0;

/// One point of the contour.
#[derive(Clone, Copy, Debug)]
struct Node {
    s: Complex,
    weight: Complex,
}

/// The predictor; see the top of this file.
#[derive(Clone, Debug)]
pub(super) struct TwoState {
    alpha: [f64; 2],
    /// Nodes of the upper half of the contour (the lower half is its mirror image), by home.
    contours: [Contour; 2],
}

/// The nodes for one home.
#[derive(Clone, Debug)]
struct Contour {
    /// Their weights sum to about one.
    nodes: Vec<Node>,
    /// The mean of π_home before anything is seen: what the sum of weights stands for.
    start_mean: f64,
}

impl TwoState {
    pub fn new(alpha: [f64; 2]) -> Self {
        Self::with_step(alpha, STEP)
    }

    fn with_step(alpha: [f64; 2], step: f64) -> Self {
        Self {
            alpha,
            contours: [
                contour(alpha[0], alpha[1], step),
                contour(alpha[1], alpha[0], step),
            ],
        }
    }

    /// Writes the distributions at `positions` into `out` ([positions, 2]).
    pub fn predict(
        &self,
        tokens: &[u8],
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) {
        let home = tokens[0] as usize;
        let nodes = &mut scratch.nodes;
        nodes.clone_from(&self.contours[home].nodes);
        // α + count of every transition, [from, to].
        let mut totals = [self.alpha; 2];
        for position in 0..positions.end {
            let at = tokens[position] as usize;
            if position > 0 {
                let from = tokens[position - 1] as usize;
                let row = Row::new(&totals[from], from, home);
                row.observe(nodes, from != at);
                totals[from][at] += 1.0;
            }
            if position >= positions.start {
                let [stay, leave] = Row::new(&totals[at], at, home).predict(nodes);
                let out = &mut out[(position - positions.start) * 2..][..2];
                out[at] = stay / (stay + leave);
                out[1 - at] = leave / (stay + leave);
            }
        }
    }

    /// Posterior means of π_home after `rows` transitions from home and from away, of which up to `most` each
    /// went to the other symbol.
    pub fn starts(&self, home: usize, rows: [usize; 2], most: usize) -> Starts {
        let Contour { nodes, start_mean } = &self.contours[home];
        let sum = self.alpha[0] + self.alpha[1];
        let starts = nodes.iter().map(|node| {
            let minus = node.s.scale(-1.0);
            let [at_home, at_away] = [(minus, rows[0]), (node.s, rows[1])]
                .map(|(shift, count)| rising(sum, shift).nth(count).expect("it never ends"));
            NodeStarts {
                weight: node.weight.scale(*start_mean) / (at_home * at_away),
                leave: rising(self.alpha[1 - home], minus).take(most + 1).collect(),
                come: rising(self.alpha[home], node.s).take(most + 1).collect(),
            }
        });
        Starts(starts.collect())
    }
}

/// What a shift of a concentration by s multiplies the moment of n symbols by: Π (α + i + s) / (α + i) over
/// i < n, for n = 0, 1, ….
fn rising(alpha: f64, s: Complex) -> impl Iterator<Item = Complex> {
    let first = Complex::new(1.0, 0.0);
    let counts = std::iter::successors(Some(alpha), |concentration| Some(concentration + 1.0));
    counts.scan(first, move |product, concentration| {
        let now = *product;
        *product = now + (now * s).scale(1.0 / concentration);
        Some(now)
    })
}

/// Posterior means of π_home by how often the chain left home and came home.
#[derive(Clone, Debug)]
pub(super) struct Starts(Vec<NodeStarts>);

/// One node's share.
#[derive(Clone, Debug)]
struct NodeStarts {
    weight: Complex,
    /// Factors by number of transitions away from home, and back.
    leave: Vec<Complex>,
    come: Vec<Complex>,
}

impl Starts {
    /// The mean after `leaves` transitions away from home and `comes` back.
    pub fn mean(&self, leaves: usize, comes: usize) -> f64 {
        let shares = self.0.iter();
        shares
            .map(|node| (node.weight * (node.leave[leaves] * node.come[comes])).re)
            .sum()
    }
}

/// The nodes of a contour, with their weights before the first transition, scaled to a sum of about one.
fn contour(alpha_home: f64, alpha_away: f64, step: f64) -> Contour {
    // Halfway between the pole of 1/sin(πs) at 0 and that of B(α_away − s, ·) at α_away, or the one at 1.
    let c = 0.5 * alpha_away.min(1.0);
    let last = (libm::asinh(HEIGHT / c) / step) as usize;
    let real = |x: f64| Complex::new(x, 0.0);
    // ln of Γ(a − s) Γ(b + s) / (Γ(a + b − s) Γ(a + b + s)): everything in the two Betas that depends on s.
    let ln_betas = |s: Complex| {
        let sum = real(alpha_home + alpha_away);
        ln_gamma(real(alpha_away) - s) + ln_gamma(real(alpha_home) + s)
            - ln_gamma(sum - s)
            - ln_gamma(sum + s)
    };
    let largest = ln_betas(real(c));
    let mut nodes: Vec<Node> = (0..=last)
        .map(|index| {
            let y = index as f64 * step;
            let s = Complex::new(c, c * libm::sinh(y));
            // The endpoint of the half line has half the weight.
            let width = libm::cosh(y) * if index == 0 { 0.5 } else { 1.0 };
            let (sin, cos) = (libm::sin(PI * s.re), libm::cos(PI * s.re));
            let sin_pi_s = Complex::new(sin * libm::cosh(PI * s.im), cos * libm::sinh(PI * s.im));
            let weight = exp(ln_betas(s) - largest) / sin_pi_s;
            Node {
                s,
                weight: weight.scale(width),
            }
        })
        .collect();
    let total: f64 = nodes.iter().map(|node| node.weight.re).sum();
    for node in &mut nodes {
        node.weight = node.weight.scale(1.0 / total);
    }
    // ds = i c cosh y dy turns 1/(2πi) ∫ π/sin(πs) … ds into c/2 ∫ … dy, and both halves are alike.
    let scale = exp(largest - ln_betas(real(0.0))).re;
    Contour {
        nodes,
        start_mean: total * step * c * scale,
    }
}

/// The row of the symbol the chain is at: a node predicts (leave ± s) / (stay + leave ± s).
struct Row {
    stay: f64,
    leave: f64,
    /// −1 at home, where s is subtracted from the concentration of leaving; +1 away.
    sign: f64,
}

impl Row {
    fn new(totals: &[f64; 2], at: usize, home: usize) -> Self {
        Self {
            stay: totals[at],
            leave: totals[1 - at],
            sign: if at == home { -1.0 } else { 1.0 },
        }
    }

    /// A node's probabilities of staying and of leaving.
    fn node_predicts(&self, s: Complex) -> [Complex; 2] {
        let shift = s.scale(self.sign);
        let leave = Complex::new(self.leave, 0.0) + shift;
        let total = Complex::new(self.stay, 0.0) + leave;
        let stay = Complex::new(self.stay, 0.0) / total;
        [stay, leave / total]
    }

    /// The mixture's probabilities of staying and of leaving, up to a common factor.
    fn predict(&self, nodes: &[Node]) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for node in nodes {
            let [stay, leave] = self.node_predicts(node.s);
            sums[0] += (node.weight * stay).re;
            sums[1] += (node.weight * leave).re;
        }
        sums
    }

    /// Multiplies the weights by the probability that each node gave to the step taken. Dividing by the plain
    /// bigram's probability keeps their sum at π_home's posterior mean, so it neither vanishes nor grows.
    fn observe(&self, nodes: &mut [Node], left: bool) {
        let taken = if left { self.leave } else { self.stay };
        let plain = (self.stay + self.leave) / taken;
        for node in nodes {
            let given = self.node_predicts(node.s)[usize::from(left)];
            node.weight = (node.weight * given).scale(plain);
        }
    }
}

/// Reused from sequence to sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    nodes: Vec<Node>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::prior::checks::prior;
    use crate::chain::{Purpose, Sampler, address};

    /// Runs of growing length, so that all four counts and both ends of a row occur.
    fn runs(count: usize) -> Vec<u8> {
        let mut tokens = Vec::new();
        for run in 0.. {
            tokens.extend(vec![run as u8 % 2; 1 + run * run % 17]);
            if tokens.len() >= count {
                tokens.truncate(count);
                return tokens;
            }
        }
        unreachable!("runs are never empty")
    }

    fn all_positions(predictor: &TwoState, tokens: &[u8]) -> Vec<f64> {
        let mut out = vec![0.0; 2 * tokens.len()];
        predictor.predict(tokens, 0..tokens.len(), &mut Scratch::default(), &mut out);
        out
    }

    #[test]
    fn a_finer_contour_changes_nothing() {
        let constant = vec![0; 4000];
        let mut once_away = constant.clone();
        once_away[0] = 1;
        let alternating: Vec<u8> = (0..4000).map(|i| i as u8 % 2).collect();
        for alpha in [
            [1.0, 1.0],
            [0.1, 0.1],
            [10.0, 10.0],
            [0.1, 10.0],
            [3.0, 0.7],
            [0.01, 0.01],
        ] {
            let (used, finer) = (TwoState::new(alpha), TwoState::with_step(alpha, STEP / 2.0));
            for tokens in [&constant, &once_away, &alternating, &runs(4000)] {
                let rough = all_positions(&used, tokens);
                let fine = all_positions(&finer, tokens);
                for (index, (a, b)) in rough.iter().zip(&fine).enumerate() {
                    assert!((a - b).abs() < 1e-12, "α = {alpha:?}, {index}: {a} {b}");
                }
            }
        }
    }

    /// The last position by brute force: prior × likelihood × stationary start on a grid over both rows.
    fn by_grid(alpha: [f64; 2], tokens: &[u8]) -> Vec<f64> {
        let mut totals = [alpha; 2];
        for pair in tokens.windows(2) {
            totals[pair[0] as usize][pair[1] as usize] += 1.0;
        }
        let count = tokens.len() as f64 + alpha[0] + alpha[1];
        let step = f64::min(0.5, 1.2 / count.sqrt());
        let reach = 20.0 + 50.0 / alpha[0].min(alpha[1]);
        let half = (reach / step) as i64;
        // (probability of leaving, weight) on a grid even in the logit, where dp = p (1−p) d logit p.
        let row = |from: usize| {
            let (leave, stay) = (totals[from][1 - from], totals[from][from]);
            let ln_weight = |logit: f64| {
                let shared = (-logit.abs()).exp().ln_1p();
                leave * (logit.min(0.0) - shared) + stay * (-logit.max(0.0) - shared)
            };
            let logits = || (-half..=half).map(|index| index as f64 * step);
            let largest = logits().map(ln_weight).fold(f64::MIN, f64::max);
            let weigh = |logit: f64| {
                (
                    1.0 / (1.0 + (-logit).exp()),
                    (ln_weight(logit) - largest).exp(),
                )
            };
            let kept = logits().map(weigh).filter(|(_, weight)| *weight > 1e-20);
            kept.collect::<Vec<(f64, f64)>>()
        };
        let (leaving_0, leaving_1) = (row(0), row(1));
        let at = tokens[tokens.len() - 1] as usize;
        let (mut stay, mut leave) = (0.0, 0.0);
        for &(p, p_weight) in &leaving_0 {
            for &(q, q_weight) in &leaving_1 {
                let start = [q, p][tokens[0] as usize] / (p + q);
                let weight = p_weight * q_weight * start;
                let leaving = [p, q][at];
                leave += weight * leaving;
                stay += weight * (1.0 - leaving);
            }
        }
        let mut out = vec![0.0; 2];
        out[at] = stay / (stay + leave);
        out[1 - at] = leave / (stay + leave);
        out
    }

    #[test]
    fn it_matches_a_grid_over_both_rows() {
        let mut tokens = vec![0; 2000];
        for alpha in [[1.0, 1.0], [0.1, 0.1], [10.0, 10.0], [0.1, 2.0], [3.0, 0.4]] {
            let prior = prior(&format!("'dirichlet', alpha = {alpha:?}"), 2, 2);
            let address = address(Purpose::Test, 2, 0);
            for index in 0..2 {
                Sampler::new(&prior)
                    .sequence(&prior, address, index, &mut tokens)
                    .unwrap();
                let rows = all_positions(&TwoState::new(alpha), &tokens);
                for length in [1, 2, 3, 8, 40, 300, 2000] {
                    let ours = &rows[2 * length - 2..][..2];
                    let grid = by_grid(alpha, &tokens[..length]);
                    for (a, b) in ours.iter().zip(&grid) {
                        assert!((a - b).abs() < 1e-11, "α = {alpha:?}, {length}: {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_means_of_both_symbols_add_up_to_one() {
        for alpha in [[1.0, 1.0], [0.1, 0.1], [10.0, 10.0], [0.1, 2.0], [3.0, 0.4]] {
            let exact = TwoState::new(alpha);
            for [[stay_0, leave_0], [stay_1, leave_1]] in [
                [[0, 0], [0, 0]],
                [[0, 1], [0, 0]],
                [[5, 2], [1, 2]],
                [[70, 0], [0, 1]],
                [[300, 40], [1500, 39]],
            ] {
                let rows = [stay_0 + leave_0, stay_1 + leave_1];
                let zero = exact.starts(0, rows, 40).mean(leave_0, leave_1);
                let one = exact
                    .starts(1, [rows[1], rows[0]], 40)
                    .mean(leave_1, leave_0);
                assert!(
                    (zero + one - 1.0).abs() < 1e-11,
                    "α = {alpha:?}: {zero} {one}"
                );
            }
        }
        // With p, q uniform, the mean of q/(p+q) once p was seen is 2 ∫ pq/(p+q) = 4/3 (1 − ln 2).
        let seen_once = TwoState::new([1.0, 1.0]).starts(0, [1, 0], 1).mean(1, 0);
        let expected = 4.0 / 3.0 * (1.0 - std::f64::consts::LN_2);
        assert!((seen_once - expected).abs() < 1e-13, "{seen_once}");
    }
}
