//! Dirichlet rows: the distributions that the `dirichlet` and `iid` kinds draw.

use induct_kernels::settings::Value;
use rand_distr::{Distribution, Exp1, Gamma};
use serde::{Deserialize, Serialize};

use crate::chain::{Generator, open_unit};
use crate::{Invalid, require};

/// Concentration of a Dirichlet: one number for all symbols, or one per symbol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number, or a list with one per state")]
pub enum Alpha {
    /// The same concentration for every symbol.
    Scalar(f64),
    /// One concentration per symbol.
    Vector(Vec<f64>),
}

/// The allowed concentrations: distinguishable from their limits, and within reach of the Bayes computations.
const ALPHA: std::ops::RangeInclusive<f64> = 1e-4..=1e4;

/// Logarithm of the smallest share that a Dirichlet row is given (about 10⁻³⁵, far below what a sequence can
/// show). It keeps every drawn chain irreducible, so that its stationary law can be solved for.
const SMALLEST_LOG_SHARE: f64 = -80.0;

impl Default for Alpha {
    fn default() -> Self {
        Alpha::Scalar(1.0)
    }
}

impl Value for Alpha {
    fn text(&self) -> Option<String> {
        match self {
            Alpha::Scalar(alpha) => alpha.text(),
            Alpha::Vector(alphas) => Some(format!("{alphas:?}")),
        }
    }
}

impl Alpha {
    /// One concentration per symbol, if all are positive and there are `states` of them.
    pub fn resolve(&self, states: usize) -> Result<Vec<f64>, Invalid> {
        let alpha = match self {
            Alpha::Scalar(value) => vec![*value; states],
            Alpha::Vector(values) => values.clone(),
        };
        require(
            alpha.len() == states,
            "alpha",
            format!("{alpha:?}"),
            &format!("one number, or {states} of them, one for each state"),
        )?;
        for &value in &alpha {
            require(
                ALPHA.contains(&value),
                "alpha",
                value,
                "a number above 0 (from 0.0001 to 10000)",
            )?;
        }
        Ok(alpha)
    }
}

/// A Dirichlet distribution over rows of any length and concentration.
#[derive(Clone, Debug)]
pub struct Rows {
    alpha: Vec<f64>,
    /// Gamma(α + 1) for every symbol; empty when all α are one.
    boosted: Vec<Gamma<f64>>,
}

impl Rows {
    /// Rows of `states` symbols with concentration `alpha`.
    pub fn new(alpha: &Alpha, states: usize) -> Result<Self, Invalid> {
        let alpha = alpha.resolve(states)?;
        let boosted = if alpha.iter().all(|&a| a == 1.0) {
            Vec::new()
        } else {
            let gamma = |&a: &f64| Gamma::new(a + 1.0, 1.0).expect("α + 1 is positive and finite");
            alpha.iter().map(gamma).collect()
        };
        Ok(Self { alpha, boosted })
    }

    /// The concentration, one number per symbol.
    pub fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    /// Draws one row, `[k]`.
    pub fn draw(&self, rng: &mut Generator, row: &mut [f64]) {
        if self.boosted.is_empty() {
            for share in row.iter_mut() {
                *share = Exp1.sample(rng);
            }
        } else {
            // Gamma(α) = Gamma(α + 1) · U^(1/α), in logarithms: small α would underflow otherwise.
            for ((share, gamma), alpha) in row.iter_mut().zip(&self.boosted).zip(&self.alpha) {
                let boosted: f64 = gamma.sample(rng);
                *share = libm::log(boosted) + libm::log(open_unit(rng)) / alpha;
            }
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for share in row.iter_mut() {
                *share = libm::exp((*share - largest).max(SMALLEST_LOG_SHARE));
            }
        }
        let sum: f64 = row.iter().sum();
        for share in row {
            *share /= sum;
        }
    }
}
