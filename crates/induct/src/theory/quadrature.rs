//! Gauss–Legendre rules, and the chains at which a prior is evaluated to average over it.
//!
//! Write x = 1 − a and y = 1 − b for the probabilities of leaving each state. Everything averaged here is a
//! polynomial in x and y times the stationary distribution π = (y, x)/(x + y), which has no limit at
//! x = y = 0: the corner where chains hardly ever leave a state, and where the integrand varies on a scale of
//! 1/t. In the coordinates
//!
//! ```text
//! x = s w,  y = s (1 − w),  dx dy = s ds dw,      λ = a + b − 1 = 1 − s,  π = (1 − w, w)
//! ```
//!
//! the corner becomes the whole edge s = 0, and the integrand is a polynomial in s and w: nothing singular is
//! left, and a Gauss rule with enough nodes is exact. For s ≤ 1, w runs over [0, 1]. For 1 ≤ s ≤ 2 it runs
//! over [1 − 1/s, 1/s], so the sum over w leaves a polynomial in s times powers of 1/s. Their pole is three
//! half-widths from the middle of [1, 2]; a dozen extra nodes make them exact to rounding.

use crate::chain::{Law, Rows, TaskPrior, TransitionTable, weighted};
use crate::{Invalid, require};

/// Nodes and weights of the Gauss–Legendre rule on [low, high], exact for polynomials up to degree
/// 2·count − 1.
pub fn gauss_legendre(count: usize, low: f64, high: f64) -> Vec<(f64, f64)> {
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    let mut rule = vec![(middle, 0.0); count];
    for index in 0..count.div_ceil(2) {
        let (node, derivative) = legendre_root(index, count);
        let weight = half * 2.0 / ((1.0 - node * node) * derivative * derivative);
        rule[index] = (middle - half * node, weight);
        rule[count - 1 - index] = (middle + half * node, weight);
    }
    rule
}

/// The root of the Legendre polynomial P_n with number `index`, counted from the right, and P_n′ at that
/// root.
fn legendre_root(index: usize, count: usize) -> (f64, f64) {
    let n = count as f64;
    if 2 * index + 1 == count {
        return (0.0, legendre(count, 0.0).1);
    }
    let mut x = (std::f64::consts::PI * (index as f64 + 0.75) / (n + 0.5)).cos();
    // From this start Newton's method converges quadratically at once; five iterations are one or two more
    // than needed.
    for _ in 0..5 {
        let (value, derivative) = legendre(count, x);
        x -= value / derivative;
    }
    (x, legendre(count, x).1)
}

/// P_n(x) and P_n′(x) for |x| < 1, by the three-term recurrence.
fn legendre(count: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for m in 2..=count {
        let m = m as f64;
        let next = ((2.0 * m - 1.0) * x * value - (m - 1.0) * before) / m;
        before = value;
        value = next;
    }
    let derivative = count as f64 * (before - x * value) / (1.0 - x * x);
    (value, derivative)
}

/// One chain of a weighted average.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedChain {
    /// Its weight; the weights of a rule sum to one.
    pub weight: f64,
    /// P, [k, k]
    pub rows: Vec<f64>,
    /// π, `[k]`
    pub stationary: Vec<f64>,
}

impl WeightedChain {
    /// The two-state chain that stays in its states with probabilities `a` and `b` and has the given
    /// stationary distribution.
    fn two_state(a: f64, b: f64, stationary: [f64; 2], weight: f64) -> Self {
        Self {
            weight,
            rows: vec![a, 1.0 - a, 1.0 - b, b],
            stationary: stationary.to_vec(),
        }
    }
}

/// The degree up to which a rule is exact, for the integrands that the module's documentation describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degree {
    /// In the entries of P: the number of transitions in a product.
    pub transitions: usize,
    /// In w alone: the stationary distribution counts as one, and so does every power of P, however high.
    pub shares: usize,
}

/// Extra nodes that make the powers of 1/s exact to rounding: each one reduces their error 34-fold.
const SPARE: usize = 12;

/// Chains whose weighted sum is the average over `prior`, exact up to `degree` except for rounding.
///
/// Known for Markov chains under the priors `dirichlet` with two states and α = 1, `symmetric`, `iid` with
/// α = 1, `doubly-stochastic` with two states, `fixed` and `pool`, and mixtures of these.
pub fn chains(prior: &TaskPrior, degree: Degree) -> Result<Vec<WeightedChain>, Invalid> {
    require(
        prior.ngram() == 2,
        "ngram",
        prior.ngram(),
        "2: exact averages are known for Markov chains only",
    )?;
    require(
        prior.start().is_stationary(),
        "start",
        "\"uniform\"",
        "\"stationary\": exact averages are known for sequences that start from the stationary law only",
    )?;
    let uniform = |rows: &Rows| rows.alpha().iter().all(|&alpha| alpha == 1.0);
    let two = prior.states() == 2;
    match prior.law() {
        Law::Dirichlet(rows) if two && uniform(rows) => Ok(unit_square(degree)),
        Law::Symmetric { epsilon } => Ok(diagonal(epsilon, degree)),
        Law::DoublyStochastic if two => Ok(diagonal(0.5, degree)),
        Law::Iid(rows) if two && uniform(rows) => Ok(independent(degree)),
        Law::Pool(tables, weights) => {
            let share = |index: usize| weights.map_or(1.0 / tables.len() as f64, |w| w[index]);
            let tables = tables.iter().enumerate();
            Ok(tables
                .map(|(index, table)| of_table(table, share(index)))
                .collect())
        }
        Law::Mixture(parts) => {
            let mut all = Vec::new();
            for (share, part) in weighted(parts) {
                for mut chain in chains(part, degree)? {
                    chain.weight *= share;
                    all.push(chain);
                }
            }
            Ok(all)
        }
        _ => Err(Invalid::new(
            "prior",
            format!("a prior over {} states", prior.states()),
            "exact averages are known for two states under dirichlet (alpha = 1), symmetric, iid (alpha = \
             1) and \
             doubly-stochastic, and for fixed and pool with any number of states",
        )),
    }
}

/// A Markov chain with a weight.
fn of_table(table: &TransitionTable, weight: f64) -> WeightedChain {
    WeightedChain {
        weight,
        rows: table.rows().flatten().copied().collect(),
        stationary: table.stationary().to_vec(),
    }
}

/// a, b ~ U(0, 1), independent.
fn unit_square(degree: Degree) -> Vec<WeightedChain> {
    // The area element s ds dw adds one degree.
    let along = degree.transitions.div_ceil(2) + 1;
    let across = degree.shares / 2 + 1;
    let mut chains = Vec::with_capacity(across * (2 * along + SPARE));
    let mut row = |s: f64, share: f64, low: f64, high: f64| {
        for (w, width) in gauss_legendre(across, low, high) {
            let weight = share * width * s;
            chains.push(WeightedChain::two_state(
                1.0 - s * w,
                1.0 - s * (1.0 - w),
                [1.0 - w, w],
                weight,
            ));
        }
    };
    for (s, share) in gauss_legendre(along, 0.0, 1.0) {
        row(s, share, 0.0, 1.0);
    }
    for (s, share) in gauss_legendre(along + SPARE, 1.0, 2.0) {
        row(s, share, 1.0 - 1.0 / s, 1.0 / s);
    }
    chains
}

/// a = b ~ U(½ − ε, ½ + ε).
fn diagonal(epsilon: f64, degree: Degree) -> Vec<WeightedChain> {
    gauss_legendre(degree.transitions / 2 + 1, 0.5 - epsilon, 0.5 + epsilon)
        .into_iter()
        .map(|(a, width)| WeightedChain::two_state(a, a, [0.5, 0.5], width / (2.0 * epsilon)))
        .collect()
}

/// a = 1 − b ~ U(0, 1): independent symbols.
fn independent(degree: Degree) -> Vec<WeightedChain> {
    // π = (a, 1 − a) and every power of P is linear in a.
    gauss_legendre(degree.transitions.div_ceil(2) + 1, 0.0, 1.0)
        .into_iter()
        .map(|(a, width)| WeightedChain::two_state(a, 1.0 - a, [a, 1.0 - a], width))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::PriorSpec;
    use crate::chain::prior::Symmetric;

    #[test]
    fn gauss_rules_integrate_their_degree_exactly() {
        for count in [1, 2, 3, 4, 7, 32, 129, 1000] {
            let rule = gauss_legendre(count, 0.0, 2.0);
            assert!(rule.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for degree in [0, 1, count, 2 * count - 2, 2 * count - 1] {
                // ∫₀² (x/2)^d dx = 2/(d+1)
                let sum: f64 = rule
                    .iter()
                    .map(|&(x, w)| w * (x / 2.0).powi(degree as i32))
                    .sum();
                let exact = 2.0 / (degree as f64 + 1.0);
                assert!(
                    (sum / exact - 1.0).abs() < 2e-13,
                    "{count} nodes, degree {degree}: {sum}"
                );
            }
        }
    }

    #[test]
    fn averages_know_their_moments() {
        let prior = |text: &str| {
            let spec = match text {
                "dirichlet" => PriorSpec::default(),
                _ => PriorSpec::from(Symmetric { epsilon: 0.25 }),
            };
            TaskPrior::new(&spec, 2, 2).unwrap()
        };
        let degree = Degree {
            transitions: 6,
            shares: 5,
        };
        let mean = |text: &str, f: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
            let sum = |chain: &WeightedChain| {
                chain.weight * f(chain.rows[0], chain.rows[3], chain.stationary[0])
            };
            chains(&prior(text), degree).unwrap().iter().map(sum).sum()
        };
        // Uniform on the unit square: E[a³ b²] = 1/4 · 1/3; E[π₀] = 1/2; E[x y/(x+y)] = ⅔ (1 − ln 2).
        for (found, exact) in [
            (mean("dirichlet", &|_, _, _| 1.0), 1.0),
            (mean("dirichlet", &|a, b, _| a * a * a * b * b), 1.0 / 12.0),
            (mean("dirichlet", &|_, _, pi| pi), 0.5),
            (
                mean("dirichlet", &|a, _, pi| pi * (1.0 - a)),
                2.0 / 3.0 * (1.0 - std::f64::consts::LN_2),
            ),
            // E (2a − 1)² = (2ε)²/3
            (
                mean("symmetric", &|a, b, _| (a + b - 1.0).powi(2)),
                0.25 / 3.0,
            ),
        ] {
            assert!((found - exact).abs() < 1e-14, "{found} {exact}");
        }
    }
}
