//! What entries share: sums over all sequences, averages by two rules, and gradients by a second formula.

use std::collections::BTreeMap;

use induct::chain::prior::{Fixed, Symmetric};
use induct::chain::{PriorSpec, Purpose, Sampler, TaskPrior, address};
use induct::internal::{Degree, chains, gauss_legendre};
use induct::theory::{Coupling, Weights, enumerate, margin_needed};
use rayon::prelude::*;

use super::evidence::Point;
use super::printed::{CHAINS, Chain};

/// Σ over all sequences of `count` symbols (0 or 1) of their probability times `f`.
pub fn expect(chain: Chain, count: usize, f: impl Fn(&[usize]) -> f64) -> f64 {
    let start = [chain.pi(1), chain.pi(2)];
    let mut x = vec![0; count];
    (0..1_usize << count)
        .map(|bits| {
            (0..count).for_each(|place| x[place] = bits >> place & 1);
            let steps = x.windows(2).map(|pair| chain.p(pair[0] + 1, pair[1] + 1));
            start[x[0]] * steps.product::<f64>() * f(&x)
        })
        .sum()
}

/// A point for every chain of the grid and every case.
pub fn on_chains<T>(
    cases: impl IntoIterator<Item = T> + Clone,
    point: impl Fn(Chain, T) -> Point,
) -> Vec<Point> {
    let of_chain = |chain| cases.clone().into_iter().map(move |case| (chain, case));
    let all = CHAINS.into_iter().flat_map(of_chain);
    all.map(|(chain, case)| point(chain, case)).collect()
}

/// One if the condition holds, else zero.
pub fn one_if(holds: bool) -> f64 {
    f64::from(holds)
}

/// The prior that contains only one chain.
pub fn only(chain: Chain) -> TaskPrior {
    let table = chain.rows().chunks(2).map(<[f64]>::to_vec).collect();
    TaskPrior::new(&PriorSpec::from(Fixed { table }), 2, 2).expect("the grid holds proper chains")
}

/// a, b ~ U(0, 1).
pub fn dirichlet() -> TaskPrior {
    TaskPrior::new(&PriorSpec::default(), 2, 2).expect("the default is a prior")
}

/// a = b ~ U(½ − ε, ½ + ε).
pub fn symmetric(epsilon: f64) -> TaskPrior {
    TaskPrior::new(&PriorSpec::from(Symmetric { epsilon }), 2, 2).expect("ε is in range")
}

/// Sequences of t symbols from a prior, each with the probabilities of its next symbol.
pub fn drawn(prior: &TaskPrior, seed: u64, t: usize, count: usize) -> Vec<(Vec<u8>, [f64; 2])> {
    let mut sampler = Sampler::new(prior);
    let address = address(Purpose::Fresh, seed, 0);
    let draw = |index: u64| {
        let mut x = vec![0; t];
        let table = sampler.sequence(prior, address, index, &mut x);
        let row = table
            .expect("built-in priors draw chains")
            .row(x[t - 1] as usize);
        let next = [row[0], row[1]];
        (x, next)
    };
    (0..count as u64).map(draw).collect()
}

/// The gradient over all sequences, with a margin that keeps the loss linear.
pub fn by_enumeration(prior: &TaskPrior, weights: &Weights) -> Weights {
    let margin = 1.0 + margin_needed(weights).sufficient;
    let all = enumerate(prior, weights, margin).expect("short sequences and a known prior");
    all.gradient
}

/// The gradient for one chain, by recursion over t and over all sequences.
pub fn gradients(chain: Chain, weights: &Weights) -> [Weights; 2] {
    let prior = only(chain);
    let coupling = Coupling::of_prior(&prior, weights.length()).expect("one chain");
    [coupling.gradient(weights), by_enumeration(&prior, weights)]
}

/// The average of f(a, b) over the unit square, by two rules: the exact one in s and w, for which f must be a
/// polynomial of degree `degree` times homogeneous fractions in 1 − a and 1 − b; and tensor rules in a and b
/// on panels.
pub fn average(degree: usize, f: impl Fn(Chain) -> f64) -> [f64; 2] {
    let degree = Degree {
        transitions: degree,
        shares: 8,
    };
    let nodes = chains(&dirichlet(), degree).expect("known for this prior");
    let exact = nodes
        .iter()
        .map(|node| {
            let [a, b] = [node.rows[0], node.rows[3]];
            node.weight * f(Chain { a, b })
        })
        .sum();
    let panels = square_panels()
        .map(|(chain, weight)| weight * f(chain))
        .sum();
    [exact, panels]
}

/// Tensor rules for the unit square, on panels that shrink geometrically towards both ends of each side.
pub fn square_panels() -> impl Iterator<Item = (Chain, f64)> {
    let side = side_panels();
    let other = side.clone();
    side.into_iter().flat_map(move |(a, width)| {
        let other = other.clone();
        other
            .into_iter()
            .map(move |(b, height)| (Chain { a, b }, width * height))
    })
}

/// The rule for one side, with panels down to 2⁻¹⁶ towards 1 and down to 2⁻⁸ towards 0.
fn side_panels() -> Vec<(f64, f64)> {
    let up = (1..=16).map(|level| 1.0 - 0.5_f64.powi(level));
    let down = (2..=8).rev().map(|level| 0.5_f64.powi(level));
    let cuts: Vec<f64> = std::iter::once(0.0)
        .chain(down)
        .chain(up)
        .chain(std::iter::once(1.0))
        .collect();
    cuts.windows(2)
        .flat_map(|pair| gauss_legendre(8, pair[0], pair[1]))
        .collect()
}

/// −∂L/∂W_k\[m,l\] at v = 1 (the paper's indices), from the eigenvalue, P^n = 1π + λ^n (I − 1π), and the
/// number of times that each distance occurs.
pub fn w_by_distances(chain: Chain, t: usize, m: usize, l: usize) -> f64 {
    let lam = chain.lambda();
    let (mut far, mut near, mut power) = (0.0, 0.0, 1.0);
    for n in 0..t {
        let left = (t - n) as f64;
        // Σ λ^(p−s): t′ has n + 1 positions. Σ λ^(p−t′) and Σ λ^(t′−s): the third index has 1 … t − n.
        far += left * (n as f64 + 1.0) * power;
        near += left * (left + 1.0) / 2.0 * power;
        power *= lam;
    }
    let count = t as f64;
    let all = count * (count + 1.0) * (count + 2.0) / 6.0;
    let mut sum = 0.0;
    for i in [1, 2] {
        let (stay_l, stay_m) = (one_if(l == i) - chain.pi(i), one_if(i == m) - chain.pi(m));
        sum += (chain.p(m, i) - 0.5)
            * (stay_l * stay_m * far
                + (stay_l * chain.pi(m) + chain.pi(i) * stay_m) * near
                + chain.pi(i) * chain.pi(m) * all);
    }
    chain.pi(l) * sum / count
}

/// −∂L/∂v_j (the paper's index) for W_k = 11ᵀ and for W_k = I, from the eigenvalue and the distances.
pub fn v_by_distances(chain: Chain, t: usize, j: usize) -> [f64; 2] {
    let (lam, count) = (chain.lambda(), t + 1 - j);
    let (mut pairs, mut curved, mut power) = (0.0, 0.0, 1.0);
    for n in 0..count {
        let left = (count - n) as f64;
        pairs += left;
        curved += left * power;
        power *= lam;
    }
    let back = lam.powi(j as i32 - 1);
    let mut sums = [-0.5 * pairs, 0.0];
    for i in [1, 2] {
        let pi = chain.pi(i);
        // Pr[x_{p+1} = x_q = i]: one step more than the distance between p and q.
        sums[0] += pi * (pi * pairs + (1.0 - pi) * lam * curved);
        for l in [1, 2] {
            let there = pi + back * (one_if(l == i) - pi);
            let home = chain.pi(l) * pairs + (one_if(i == l) - chain.pi(l)) * curved;
            sums[1] += chain.pi(l) * (chain.p(l, i) - 0.5) * there * home;
        }
    }
    sums.map(|sum| sum / t as f64)
}

/// Averages over a, b ~ U(0, 1) of the two functions above at v = 1: W₁₁ and W₁₂, then for each of `js` v_j
/// at 11ᵀ and v_j at I.
pub fn averages_by_distances(t: usize, js: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; 2 + 2 * js.len()];
    for (chain, weight) in square_panels() {
        sums[0] += weight * w_by_distances(chain, t, 1, 1);
        sums[1] += weight * w_by_distances(chain, t, 1, 2);
        for (pair, &j) in sums[2..].chunks_exact_mut(2).zip(js) {
            let [plain, diagonal] = v_by_distances(chain, t, j);
            pair[0] += weight * plain;
            pair[1] += weight * diagonal;
        }
    }
    sums
}

/// Lengths at which asymptotic orders are measured.
pub const LENGTHS: [usize; 4] = [64, 128, 256, 512];

/// Averaged couplings, each computed once.
pub struct Couplings {
    dirichlet: BTreeMap<usize, Coupling>,
    diagonal: BTreeMap<usize, Coupling>,
    by_distances: BTreeMap<usize, Vec<f64>>,
}

impl Couplings {
    pub fn new() -> Self {
        // Longest first, since these take the most time.
        let powers = (1..=10).rev().map(|power| 1 << power);
        let lengths: Vec<usize> = powers.chain([3, 5, 6, 7, 12, 100]).collect();
        let of = |prior: &TaskPrior| {
            let each = lengths.par_iter().map(|&t| {
                let coupling = Coupling::of_prior(prior, t).expect("known for this prior");
                (t, coupling)
            });
            each.collect()
        };
        Self {
            dirichlet: of(&dirichlet()),
            diagonal: of(&symmetric(0.5)),
            by_distances: [512, 256, 128, 64, 32, 16, 8, 4]
                .into_par_iter()
                .map(|t| (t, averages_by_distances(t, &[1, 2, 3])))
                .collect(),
        }
    }

    /// The second route to averages over a, b ~ U(0, 1) at v = 1: [W₁₁, W₁₂], for 4, 8, 16, 32 and
    /// [`LENGTHS`].
    pub fn w_by_distances(&self, t: usize) -> [f64; 2] {
        let values = &self.by_distances[&t];
        [values[0], values[1]]
    }

    /// The second route to v_j, j = 1, 2, 3: at W_k = 11ᵀ and at W_k = I.
    pub fn v_by_distances(&self, t: usize, j: usize) -> [f64; 2] {
        let values = &self.by_distances[&t];
        [values[2 * j], values[2 * j + 1]]
    }

    /// a, b ~ U(0, 1), for powers of two up to 1024 and a few other lengths.
    pub fn dirichlet(&self, t: usize) -> &Coupling {
        &self.dirichlet[&t]
    }

    /// a = b ~ U(0, 1), for the same lengths.
    pub fn diagonal(&self, t: usize) -> &Coupling {
        &self.diagonal[&t]
    }
}

/// −∇L at W_k = 11ᵀ, v = 1: everything that the first step from a constant start needs.
pub fn first_drive(coupling: &Coupling) -> Weights {
    let ones = Weights::constant(2, coupling.length(), 1.0, 1.0);
    let zero = Weights::constant(2, coupling.length(), 0.0, 0.0);
    zero.plus(-1.0, &coupling.gradient(&ones))
}

/// −∂L/∂v at W_k = I.
pub fn diagonal_drive(coupling: &Coupling) -> Vec<f64> {
    let weights = Weights {
        w_k: vec![1.0, 0.0, 0.0, 1.0],
        v: vec![0.0; coupling.length()],
    };
    coupling.gradient(&weights).v.iter().map(|g| -g).collect()
}
