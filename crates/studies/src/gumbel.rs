//! The Gumbel law: that of the largest of many independent waiting times.

/// A Gumbel law: P(X ≤ x) = exp(−exp(−(x − location) / scale)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gumbel {
    pub location: f64,
    pub scale: f64,
}

impl Gumbel {
    /// The law of maximum likelihood; `None` for values that are not finite or all the same.
    ///
    /// The likelihood is largest where scale = mean − Σ x w / Σ w with w = exp(−x / scale), and then
    /// exp(−location / scale) = mean of w. The right-hand side falls from mean − smallest to 0 as the scale
    /// grows, so there is one solution, which bisection finds.
    pub fn fit(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        let least = values.iter().copied().reduce(f64::min)?;
        // Relative to the smallest, so that no weight overflows and the largest is 1.
        let above: Vec<f64> = values.iter().map(|x| x - least).collect();
        let mean = above.iter().sum::<f64>() / count;
        if !(mean > 0.0 && mean.is_finite()) {
            return None;
        }
        let weights = |scale: f64| above.iter().map(move |x| (-x / scale).exp());
        let excess = |scale: f64| {
            let weighted = above.iter().zip(weights(scale)).map(|(x, w)| x * w);
            scale - mean + weighted.sum::<f64>() / weights(scale).sum::<f64>()
        };
        let (mut low, mut high) = (0.0, mean);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            match excess(middle) < 0.0 {
                true => low = middle,
                false => high = middle,
            }
        }
        let scale = 0.5 * (low + high);
        let mean_weight = weights(scale).sum::<f64>() / count;
        Some(Self {
            location: least - scale * mean_weight.ln(),
            scale,
        })
    }

    /// The logarithm of the likelihood of some values.
    pub fn log_likelihood(&self, values: &[f64]) -> f64 {
        let density = |x: &f64| {
            let z = (x - self.location) / self.scale;
            -self.scale.ln() - z - (-z).exp()
        };
        values.iter().map(density).sum()
    }

    /// By how much its log likelihood exceeds those of the best normal and the best lognormal law.
    pub fn gains(&self, values: &[f64]) -> [f64; 2] {
        [normal_log_likelihood, lognormal_log_likelihood]
            .map(|other| self.log_likelihood(values) - other(values))
    }

    /// P(X ≤ x).
    pub fn below(&self, x: f64) -> f64 {
        (-(-(x - self.location) / self.scale).exp()).exp()
    }
}

/// The logarithm of the largest likelihood that a normal law gives some values.
pub(crate) fn normal_log_likelihood(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    -0.5 * count * ((std::f64::consts::TAU * variance).ln() + 1.0)
}

/// The same for a lognormal law of positive values.
pub(crate) fn lognormal_log_likelihood(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().map(|x| x.ln()).collect();
    normal_log_likelihood(&logs) - logs.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likelihoods_are_those_of_the_laws() {
        let values = [80.0, 91.0, 92.0, 99.5, 100.0];
        // Python 3.11, from the densities written out with the mean and variance of the values, or of their
        // logarithms.
        let normal = normal_log_likelihood(&values);
        assert!((normal + 17.0109706428039).abs() < 1e-9, "{normal}");
        let lognormal = lognormal_log_likelihood(&values);
        assert!((lognormal + 17.14187603791018).abs() < 1e-6, "{lognormal}");
    }

    #[test]
    fn the_fit_has_the_largest_likelihood() {
        let values = [
            80.0, 91.0, 92.0, 99.5, 100.0, 117.0, 140.0, 96.0, 104.0, 88.0,
        ];
        let fitted = Gumbel::fit(&values).unwrap();
        // SciPy 1.17.1: stats.gumbel_r.fit(values)
        assert!(
            (fitted.location - 93.76132001536928).abs() < 1e-5,
            "{fitted:?}"
        );
        assert!(
            (fitted.scale - 11.406597416584306).abs() < 1e-5,
            "{fitted:?}"
        );
        let likelihood = |law: Gumbel| law.log_likelihood(&values);
        let best = likelihood(fitted);
        for [along, across] in [[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]] {
            let other = Gumbel {
                location: fitted.location + along,
                scale: fitted.scale + across,
            };
            assert!(likelihood(other) < best, "{other:?}");
        }
    }

    #[test]
    fn quantiles_of_a_law_give_it_back() {
        let law = Gumbel {
            location: 100.0,
            scale: 7.0,
        };
        let quantile = |share: f64| law.location - law.scale * (-share.ln()).ln();
        let values: Vec<f64> = (0..2000)
            .map(|at| quantile((f64::from(at) + 0.5) / 2000.0))
            .collect();
        let fitted = Gumbel::fit(&values).unwrap();
        assert!((fitted.location - 100.0).abs() < 0.05, "{fitted:?}");
        assert!((fitted.scale - 7.0).abs() < 0.05, "{fitted:?}");
        assert!((fitted.below(quantile(0.9)) - 0.9).abs() < 0.01);
    }

    #[test]
    fn equal_or_missing_values_have_no_law() {
        for values in [
            &[][..],
            &[3.0],
            &[3.0, 3.0],
            &[1.0, f64::NAN],
            &[1.0, f64::INFINITY],
        ] {
            assert_eq!(Gumbel::fit(values), None, "{values:?}");
        }
    }
}
