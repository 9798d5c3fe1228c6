//! The population loss of the minimal model as one tensor.
//!
//! f_{p,i} = Σ_{q≤p} 1{x_q = i} Σ_{s≤q} v_{q−s} W_k[x_p, x_s] is linear in W_k and in v, and so is the margin
//! loss as long as none of its terms is clamped at zero. The population loss is then
//!
//! ```text
//! L(W_k, v) = Δ (k−1)/k − Σ_{m,l,δ} W_k[m,l] v_δ C[δ,m,l]
//! C[δ,m,l] = (1/t) Σ_{q≤p} Σ_i (P_mi − 1/k) Pr[x_{q−δ} = l, x_q = i, x_p = m]
//! ```
//!
//! and C contains everything: the gradient at any W_k and v is two contractions, and any number of steps
//! takes two per step. For a chain started from its stationary distribution, the probability is π_l (P^δ)_li
//! (P^{p−q})_im; with N = t − δ, the distance p − q = n occurs N − n times, so
//!
//! ```text
//! C[δ,m,l] = (π_l / t) Σ_i (P_mi − 1/k) (P^δ)_li (U_N)_im,      U_N = Σ_{n<N} (N − n) P^n
//! U_N = U_{N−1} + S_N,   S_N = S_{N−1} + P^{N−1}
//! ```
//!
//! These are sums and products of non-negative numbers: nothing is divided by 1 − λ or λ, and nothing cancels
//! before the last factor. The cost is t k⁴ multiplications.

use super::quadrature::{Degree, chains};
use crate::chain::TaskPrior;
use crate::{Invalid, require};

/// The weights of a minimal model, or a gradient with respect to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// W_k, [k, k]: the row is the current symbol, the column the symbol that it is matched with.
    pub w_k: Vec<f64>,
    /// v by lag, `[t]`; entry 0 is the paper's v_1.
    pub v: Vec<f64>,
}

impl Weights {
    /// Weights with every entry of W_k equal to `w` and every positional weight equal to `v`.
    pub fn constant(states: usize, length: usize, w: f64, v: f64) -> Self {
        Self {
            w_k: vec![w; states * states],
            v: vec![v; length],
        }
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        self.w_k.len().isqrt()
    }

    /// Sequence length, t.
    pub fn length(&self) -> usize {
        self.v.len()
    }

    /// self + factor · other
    pub fn plus(&self, factor: f64, other: &Self) -> Self {
        let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + factor * b).collect();
        Self {
            w_k: add(&self.w_k, &other.w_k),
            v: add(&self.v, &other.v),
        }
    }

    /// Checks that W_k is square, k is at least 2, t is at least 1, and every number is finite.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let states = self.states();
        require(
            states >= 2 && states * states == self.w_k.len(),
            "w_k",
            format!("{} numbers", self.w_k.len()),
            "k rows of k numbers, with k at least 2",
        )?;
        require(!self.v.is_empty(), "length", 0, "at least 1")?;
        let all = self.w_k.iter().map(|w| ("w_k", w));
        for (field, value) in all.chain(self.v.iter().map(|v| ("v", v))) {
            require(value.is_finite(), field, value, "finite numbers")?;
        }
        Ok(())
    }
}

/// C\[δ,m,l\] = −∂²L / ∂W_k\[m,l\] ∂v_δ: how strongly the two layers drive each other. The module's
/// documentation derives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    states: usize,
    length: usize,
    /// [t, k, k]
    values: Vec<f64>,
}

/// The largest allowed difference between an entry of π P and one of π.
const STATIONARY_TOLERANCE: f64 = 1e-9;

impl Coupling {
    /// The coupling of the chain with the given rows ([k, k]) and stationary distribution (`[k]`).
    ///
    /// If the stationary distribution is not unique, as with a = b = 1, any of them will do.
    pub fn of_chain(rows: &[f64], stationary: &[f64], length: usize) -> Result<Self, Invalid> {
        check_length(length)?;
        let k = stationary.len();
        require(
            rows.len() == k * k && k >= 2,
            "rows",
            format!("{} numbers", rows.len()),
            &format!("{k} rows of {k} probabilities"),
        )?;
        for &p in rows.iter().chain(stationary) {
            require(
                (0.0..=1.0).contains(&p),
                "rows",
                p,
                "probabilities, from 0 to 1",
            )?;
        }
        for i in 0..k {
            let after: f64 = (0..k).map(|l| stationary[l] * rows[l * k + i]).sum();
            require(
                (after - stationary[i]).abs() <= STATIONARY_TOLERANCE,
                "stationary",
                format!("{stationary:?}"),
                "a stationary distribution: one that a step of the chain leaves unchanged",
            )?;
        }
        let mut coupling = Self::zero(k, length);
        coupling.add(rows, stationary, 1.0);
        Ok(coupling)
    }

    /// The average over a prior. [`chains`] lists the priors for which it is known.
    ///
    /// The average is a sum over the nodes of a rule that is exact for the integrand, so the only error is
    /// rounding. It stays below 10⁻¹³ of the largest entry (tested against exact rational integrals and another
    /// quadrature with 50 digits).
    pub fn of_prior(prior: &TaskPrior, length: usize) -> Result<Self, Invalid> {
        check_length(length)?;
        // t transitions: δ, n and one more. In w: the stationary distribution, two powers of P and an entry of P.
        let degree = Degree {
            transitions: length,
            shares: 4,
        };
        let mut coupling = Self::zero(prior.states(), length);
        for chain in chains(prior, degree)? {
            coupling.add(&chain.rows, &chain.stationary, chain.weight);
        }
        Ok(coupling)
    }

    fn zero(states: usize, length: usize) -> Self {
        Self {
            states,
            length,
            values: vec![0.0; length * states * states],
        }
    }

    /// Adds `weight` times the coupling of one chain.
    fn add(&mut self, rows: &[f64], stationary: &[f64], weight: f64) {
        let (t, k) = (self.length, self.states);
        let returns = weighted_powers(rows, k, t);
        let bias: Vec<f64> = rows.iter().map(|p| p - 1.0 / k as f64).collect();
        let mut power = Power::new(k);
        let scale = weight / t as f64;
        for delta in 0..t {
            let u = &returns[(t - delta - 1) * k * k..][..k * k];
            let out = &mut self.values[delta * k * k..][..k * k];
            for m in 0..k {
                for l in 0..k {
                    let sum: f64 = (0..k)
                        .map(|i| bias[m * k + i] * power.now[l * k + i] * u[i * k + m])
                        .sum();
                    out[m * k + l] += scale * stationary[l] * sum;
                }
            }
            power.advance(rows, k);
        }
    }

    /// Number of symbols, k.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Sequence length, t.
    pub fn length(&self) -> usize {
        self.length
    }

    /// C\[δ,m,l\].
    pub fn at(&self, delta: usize, m: usize, l: usize) -> f64 {
        self.values[(delta * self.states + m) * self.states + l]
    }

    /// The population loss with margin Δ. It is exact if the margin is large enough that no term is clamped;
    /// see [`margin_needed`](super::margin_needed).
    pub fn loss(&self, weights: &Weights, margin: f64) -> f64 {
        let k = self.states as f64;
        let gradient = self.gradient(weights);
        let through_v: f64 = gradient.v.iter().zip(&weights.v).map(|(g, v)| g * v).sum();
        margin * (k - 1.0) / k + through_v
    }

    /// The gradient of the population loss in its linear region.
    pub fn gradient(&self, weights: &Weights) -> Weights {
        assert_eq!(
            (weights.states(), weights.length()),
            (self.states, self.length),
            "weights and coupling must have the same k and t"
        );
        let mut gradient = Weights::constant(self.states, self.length, 0.0, 0.0);
        let lags = self.values.chunks_exact(self.states * self.states);
        for ((matrix, v), gradient_v) in lags.zip(&weights.v).zip(&mut gradient.v) {
            for ((c, w), gradient_w) in matrix.iter().zip(&weights.w_k).zip(&mut gradient.w_k) {
                *gradient_w -= c * v;
                *gradient_v -= c * w;
            }
        }
        gradient
    }
}

/// Beyond this length an average takes minutes: it has about t chains with about t steps each.
const MAX_LENGTH: usize = 8192;

/// Checks a sequence length before anything is computed for it.
pub fn check_length(length: usize) -> Result<(), Invalid> {
    require(
        (1..=MAX_LENGTH).contains(&length),
        "length",
        length,
        &format!("a sequence length from 1 to {MAX_LENGTH}"),
    )
}

/// U_1 … U_t, [t, k, k].
fn weighted_powers(rows: &[f64], k: usize, t: usize) -> Vec<f64> {
    let mut all = Vec::with_capacity(t * k * k);
    let mut power = Power::new(k);
    let (mut sum, mut total) = (vec![0.0; k * k], vec![0.0; k * k]);
    for _ in 0..t {
        for e in 0..k * k {
            sum[e] += power.now[e];
            total[e] += sum[e];
        }
        all.extend_from_slice(&total);
        power.advance(rows, k);
    }
    all
}

/// Iterates over P⁰, P¹, P², ….
struct Power {
    /// [k, k]
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Power {
    fn new(k: usize) -> Self {
        Self {
            now: (0..k * k).map(|e| f64::from(e / k == e % k)).collect(),
            next: vec![0.0; k * k],
        }
    }

    fn advance(&mut self, rows: &[f64], k: usize) {
        for (e, next) in self.next.iter_mut().enumerate() {
            let row = &self.now[e / k * k..][..k];
            *next = (0..k).map(|j| row[j] * rows[j * k + e % k]).sum();
        }
        std::mem::swap(&mut self.now, &mut self.next);
    }
}
